# SPDX-License-Identifier: Apache-2.0
"""Other published systems, studied in simulation: ``grasp study NAME``."""
