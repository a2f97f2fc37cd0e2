# SPDX-License-Identifier: Apache-2.0
"""The embedded target: BMv2 JSON translated to C, compiled, and run behind a P4Runtime server."""
