# SPDX-License-Identifier: Apache-2.0
"""Price-aware routing, studied: ``grasp study price``."""
