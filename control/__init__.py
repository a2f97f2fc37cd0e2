# SPDX-License-Identifier: Apache-2.0
"""The controllers: a pure core, thin southbound drivers, configuration and the command line."""
