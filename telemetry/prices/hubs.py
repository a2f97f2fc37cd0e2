# SPDX-License-Identifier: Apache-2.0
"""The market hubs where clusters are: the places of the study of Qureshi et al. (SIGCOMM 2009)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grasp import UserError
from grasp.telemetry.energy.weather import FloatArray


@dataclass(frozen=True, slots=True)
class Hub:
    """A place with a wholesale price.

    `name` is the cluster's, `market` its operator, `location` what gridstatus calls the pricing location;
    degrees north and east. The rest makes the synthetic years and is round figures: `price` in $/MWh, the
    yearly mean, and `spread`, its standard deviation over the mean; `carbon`, mean gCO2/kWh, and `solar`, the
    share by which it falls at a sunny noon.
    """

    name: str
    title: str
    market: str
    location: str
    latitude: float
    longitude: float
    price: float
    spread: float
    carbon: float
    solar: float


HUBS = (
    Hub("CA1", "Palo Alto", "CAISO", "TH_NP15_GEN-APND", 37.44, -122.14, 54, 0.63, 240, 0.45),
    Hub("CA2", "Los Angeles", "CAISO", "TH_SP15_GEN-APND", 34.05, -118.24, 55, 0.63, 250, 0.50),
    Hub("MA", "Boston", "ISO-NE", ".Z.NEMASSBOST", 42.36, -71.06, 67, 0.39, 290, 0.12),
    Hub("NY", "New York", "NYISO", "N.Y.C.", 40.71, -74.01, 78, 0.52, 320, 0.05),
    Hub("IL", "Chicago", "PJM", "CHICAGO HUB", 41.88, -87.63, 41, 0.66, 330, 0.05),
    Hub("VA", "Richmond", "PJM", "DOMINION HUB", 37.54, -77.44, 58, 0.68, 310, 0.15),
    Hub("NJ", "Newark", "PJM", "NEW JERSEY HUB", 40.74, -74.17, 66, 0.62, 260, 0.08),
    Hub("TX1", "Austin", "ERCOT", "LZ_AEN", 30.27, -97.74, 57, 0.75, 390, 0.20),
    Hub("TX2", "Dallas", "ERCOT", "HB_NORTH", 32.78, -96.80, 56, 0.75, 400, 0.20),
)
"""The nine hubs, and round figures of what the source found in their markets in 2006 to 2009."""


def positions(hubs: Sequence[Hub]) -> FloatArray:
    """Return degrees north and east, of shape (hubs, 2)."""
    return np.array([(hub.latitude, hub.longitude) for hub in hubs])


def choose(text: str, hubs: Sequence[Hub] = HUBS) -> tuple[Hub, ...]:
    """Return the hubs of a list of names such as ``CA1,NY,IL``; raises UserError for others."""
    names = [name.strip() for name in text.split(",")]
    known = {hub.name: hub for hub in hubs}
    for name in names:
        if name not in known:
            raise UserError(f"--hubs {text}: {name!r} is not known; choose from {', '.join(known)}")
    if len(set(names)) < len(names):
        raise UserError(f"--hubs {text}: one is named twice")
    return tuple(known[name] for name in names)
