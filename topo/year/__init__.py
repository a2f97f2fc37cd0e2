# SPDX-License-Identifier: Apache-2.0
"""Studies that need no network: sweeps over a year of energy, the paper's figures, benchmarks."""
