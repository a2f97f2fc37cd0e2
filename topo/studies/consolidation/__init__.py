# SPDX-License-Identifier: Apache-2.0
"""Services packed onto few servers, measured: ``grasp study consolidation``."""
