# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime server of the embedded target (P4Runtime specification 1.5, v1model).

One asyncio loop serves every request, so nothing here needs a lock: a batch of updates is applied without a
pause, and what a controller is told of arbitration is in the order in which it happened.
"""
