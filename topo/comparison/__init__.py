# SPDX-License-Identifier: Apache-2.0
"""Control planes side by side: the same network, energy and jobs, and what each makes of them."""
