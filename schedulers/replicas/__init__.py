# SPDX-License-Identifier: Apache-2.0
"""Replicas of a job in several servers' queues, of which the first to start cancels the others.

Source: A. Nahir, A. Orda, D. Raz, "Schedule First, Manage Later: Network-Aware Load Balancing", INFOCOM 2013.
Times are in mean service times, loads in parts of the servers' capacity, unless a docstring says otherwise.
"""
