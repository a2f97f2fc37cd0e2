# SPDX-License-Identifier: Apache-2.0
"""From what the user names to prices and carbon intensities of hubs."""

from collections.abc import Callable, Mapping, Sequence

from grasp import UserError
from grasp.telemetry.energy import table
from grasp.telemetry.energy.names import readable, to_path
from grasp.telemetry.energy.weather import FloatArray, typical_hours
from grasp.telemetry.prices import gridstatus, synthetic
from grasp.telemetry.prices.hubs import HUBS, Hub
from grasp.telemetry.prices.series import Series

PRICE_KINDS = "synthetic, gridstatus:FILE[,FILE...], csv:FILE or parquet:FILE"
CARBON_KINDS = "synthetic, csv:FILE or parquet:FILE"


def prices(
    text: str,
    hubs: Sequence[Hub],
    seed: int = 0,
    locations: Mapping[str, str] | None = None,
    market: str | None = None,
    time_zone: str | None = None,
    fill: str = "none",
) -> Series:
    """Return prices in $/MWh of the hubs.

    `text` is one of `PRICE_KINDS`; `locations` and `market` are for gridstatus's files; `time_zone` is that
    of own columns' stamps that have no offset, and `fill` says how their missing values are filled. Raises
    UserError for what is not known or cannot be read.
    """
    kind, _, rest = text.partition(":")
    if kind == "gridstatus" and rest:
        paths = [to_path(name) for name in rest.split(",")]
        return gridstatus.read(paths, hubs, locations, market)
    if locations or market is not None:
        raise UserError("--locations and --market are for gridstatus's files")
    if text == "synthetic":
        return _made_up(synthetic.prices, hubs, seed)
    if kind in ("csv", "parquet") and rest:
        return _own(kind, rest, hubs, ("price",), time_zone, fill)
    raise UserError(f"--prices {text}: must be {PRICE_KINDS}")


def carbon(
    text: str, hubs: Sequence[Hub], seed: int = 0, time_zone: str | None = None, fill: str = "none"
) -> Series:
    """Return carbon intensities in gCO2/kWh of the hubs; `text` is one of `CARBON_KINDS`.

    Of own columns the marginal intensity is taken where there is one, since load that moves is marginal; the
    description says which it is.
    """
    kind, _, rest = text.partition(":")
    if text == "synthetic":
        return _made_up(synthetic.carbon, hubs, seed)
    if kind in ("csv", "parquet") and rest:
        return _own(kind, rest, hubs, ("carbon_marginal", "carbon_average"), time_zone, fill)
    raise UserError(f"--carbon {text}: must be {CARBON_KINDS}")


def green(
    text: str,
    hubs: Sequence[Hub],
    plant_mw: FloatArray,
    seed: int = 0,
    time_zone: str | None = None,
    fill: str = "none",
) -> Series:
    """Return the green energy of the hubs' plants in MWh; `text` is one of `CARBON_KINDS`.

    `plant_mw`, of shape (hubs,), is the power of the made-up plants.
    """
    kind, _, rest = text.partition(":")
    if text == "synthetic":
        return _made_up(synthetic.sun, hubs, seed).scaled(plant_mw)
    if kind in ("csv", "parquet") and rest:
        return _own(kind, rest, hubs, ("green_energy",), time_zone, fill).scaled(1e-6)
    raise UserError(f"--green {text}: must be {CARBON_KINDS}")


def _made_up(make: Callable[[Sequence[Hub], int], Series], hubs: Sequence[Hub], seed: int) -> Series:
    """Return a made-up year in which a hub's values do not depend on which others are there, or where."""
    return make(HUBS, seed).select([hub.name for hub in hubs])


def _own(
    kind: str, rest: str, hubs: Sequence[Hub], parameters: Sequence[str], time_zone: str | None, fill: str
) -> Series:
    """Return the first of the parameters that a file of one's own has."""
    path = to_path(rest)
    columns = table.read(path, kind, time_zone, fill)
    for parameter in parameters:
        if parameter in columns.parameters:
            description = f"{parameter.replace('_', ' ')} from {readable(path.name)}"
            year = Series(columns.parameters[parameter], typical_hours(), columns.sites, True, description)
            return year.select([hub.name for hub in hubs])
    units = [name for name, (parameter, _, _) in table.COLUMNS.items() if parameter in parameters]
    raise UserError(f"{path}: has no column {' or '.join(units)}")
