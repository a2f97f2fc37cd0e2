# SPDX-License-Identifier: Apache-2.0
"""From what the user names to prices and carbon intensities of hubs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from grasp import UserError
from grasp.telemetry.energy import table
from grasp.telemetry.energy.weather import FloatArray, typical_hours
from grasp.telemetry.prices import gridstatus, synthetic
from grasp.telemetry.prices.hubs import Hub
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
) -> Series:
    """Return prices in $/MWh of the hubs.

    `text` is one of `PRICE_KINDS`; `locations` and `market` are for gridstatus's files, `time_zone` is that
    of own columns' stamps that have no offset. Raises UserError for what is not known or cannot be read.
    """
    kind, _, rest = text.partition(":")
    if kind == "gridstatus" and rest:
        paths = [Path(name).expanduser() for name in rest.split(",")]
        return gridstatus.read(paths, hubs, locations, market)
    if locations or market:
        raise UserError("--locations and --market are for gridstatus's files")
    if text == "synthetic":
        return synthetic.prices(hubs, seed)
    if kind in ("csv", "parquet") and rest:
        return _own(kind, rest, hubs, ("price",), time_zone)
    raise UserError(f"price source {text!r} is not known; give {PRICE_KINDS}")


def carbon(text: str, hubs: Sequence[Hub], seed: int = 0, time_zone: str | None = None) -> Series:
    """Return carbon intensities in gCO2/kWh of the hubs; `text` is one of `CARBON_KINDS`.

    Of own columns the marginal intensity is taken where there is one, since load that moves is marginal; the
    description says which it is.
    """
    kind, _, rest = text.partition(":")
    if text == "synthetic":
        return synthetic.carbon(hubs, seed)
    if kind in ("csv", "parquet") and rest:
        return _own(kind, rest, hubs, ("carbon_marginal", "carbon_average"), time_zone)
    raise UserError(f"carbon source {text!r} is not known; give {CARBON_KINDS}")


def green(
    text: str, hubs: Sequence[Hub], plant_mw: FloatArray, seed: int = 0, time_zone: str | None = None
) -> Series:
    """Return the green energy of the hubs' plants in MWh; `text` is one of `CARBON_KINDS`.

    `plant_mw`, of shape (hubs,), is the power of the made-up plants.
    """
    kind, _, rest = text.partition(":")
    if text == "synthetic":
        return synthetic.sun(hubs, seed).scaled(plant_mw)
    if kind in ("csv", "parquet") and rest:
        return _own(kind, rest, hubs, ("green_energy",), time_zone).scaled(1e-6)
    raise UserError(f"green energy source {text!r} is not known; give {CARBON_KINDS}")


def _own(
    kind: str, rest: str, hubs: Sequence[Hub], parameters: Sequence[str], time_zone: str | None
) -> Series:
    """Return the first of the parameters that a file of one's own has."""
    path = Path(rest).expanduser()
    columns = table.read(path, kind, time_zone)
    for parameter in parameters:
        if parameter in columns.parameters:
            description = f"{parameter.replace('_', ' ')} from {path.name}"
            year = Series(columns.parameters[parameter], typical_hours(), columns.sites, True, description)
            return year.select([hub.name for hub in hubs])
    units = [name for name, (parameter, _, _) in table.COLUMNS.items() if parameter in parameters]
    raise UserError(f"{path}: has no column {' or '.join(units)}")
