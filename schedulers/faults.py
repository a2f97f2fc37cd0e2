# SPDX-License-Identifier: Apache-2.0
"""What a simulation says when it contradicts itself."""


class SimulationError(AssertionError):
    """A simulation broke a law that no policy can break: the program is wrong, not what it simulates."""
