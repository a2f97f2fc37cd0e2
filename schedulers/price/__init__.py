# SPDX-License-Identifier: Apache-2.0
"""Price-aware routing between clusters, in simulation.

After Qureshi, Weber, Balakrishnan, Guttag, Maggs: Cutting the Electric Bill for Internet-Scale Systems,
SIGCOMM 2009.
"""
