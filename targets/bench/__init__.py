# SPDX-License-Identifier: Apache-2.0
"""How many packets a second the switch moves, beside a plain copy loop and BMv2."""
