# SPDX-License-Identifier: Apache-2.0
"""Emulated networks, traffic, experiments and their reports."""
