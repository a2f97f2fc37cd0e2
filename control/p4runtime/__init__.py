# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime southbound driver: the core's decisions go to switches, their packets to the core."""
