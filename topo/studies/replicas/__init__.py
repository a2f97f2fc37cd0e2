# SPDX-License-Identifier: Apache-2.0
"""Replicas that cancel each other, measured: ``grasp study replicas``."""
