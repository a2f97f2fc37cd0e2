# SPDX-License-Identifier: Apache-2.0
"""Programs that run a P4 pipeline behind P4Runtime: the embedded v1model target and BMv2."""
