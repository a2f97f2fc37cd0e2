# SPDX-License-Identifier: Apache-2.0
"""Consolidation: services packed onto the most efficient servers, the others put to sleep.

Source: W. Binder, N. Suri, "Green Computing: Energy Consumption Optimized Service Hosting", SOFSEM 2009.
Times are in seconds, powers in W, energies in Wh; work is in units, of which a server does `speed` a second.
"""
