# SPDX-License-Identifier: Apache-2.0
"""Decision algorithms: which site takes the next job. NumPy only, no I/O."""
