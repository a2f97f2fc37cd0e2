# SPDX-License-Identifier: Apache-2.0
"""Green energy of the sites, hour by hour, from weather files or made up."""
