# SPDX-License-Identifier: Apache-2.0
"""Energy sources, generation models, forecasts, the site agent and metrics."""
