# SPDX-License-Identifier: Apache-2.0
"""The agent that runs beside a site's server: registers the site, reports its forecasts, sends heartbeats."""
