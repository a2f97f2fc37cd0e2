# SPDX-License-Identifier: Apache-2.0
"""Hourly electricity prices and carbon intensities of market hubs: files, and made-up years."""
