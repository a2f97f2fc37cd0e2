# SPDX-License-Identifier: Apache-2.0
"""Where the values of a report come from: a forecast file, an energy source, and the kernel's counters.

The energy source needs pvlib, which takes a second to import; it is imported where it is asked for, so that
an agent that reads a file starts at once.
"""

import csv
import json
import logging
import math
from collections.abc import Callable, Mapping
from pathlib import Path

from grasp import UserError
from grasp.telemetry.metrics import Load

log = logging.getLogger(__name__)

Forecast = Callable[[str, int], float | None]
"""Takes a parameter's name and an epoch; returns the value, None if there is none."""


class ForecastFile:
    """Values by parameter and epoch from a file, which a forecaster may replace while the agent runs.

    JSON: ``{"green_energy": {"275928": 1200.5, ...}, ...}``. CSV: a header ``epoch,green_energy,...`` and one
    row for each epoch. Epochs are whole numbers (in real time: hours since 1970-01-01 UTC), values finite.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp = self._now()
        self._table = read_forecast(path)

    def __call__(self, parameter: str, epoch: int) -> float | None:
        """Return the value, None where the file has none."""
        stamp = self._now()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._table = read_forecast(self.path)
            except UserError as error:  # half written, or gone: what was known is better than nothing
                log.error("%s; going on with the values read before", error)
        return self._table.get(parameter, {}).get(epoch)

    def _now(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino


def read_forecast(path: Path) -> Mapping[str, Mapping[int, float]]:
    """Return the table of a forecast file: parameter, epoch, value; UserError names file, place and fault."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"forecast {path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError:
        raise UserError(f"forecast {path}: not a text file") from None
    kind = path.suffix.lower()
    if kind == ".json":
        return _from_json(path, text)
    if kind == ".csv":
        return _from_csv(path, text)
    raise UserError(f"forecast {path}: must be a .json or .csv file")


def _from_json(path: Path, text: str) -> Mapping[str, Mapping[int, float]]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise UserError(f"forecast {path}: not JSON ({error})") from None
    if not isinstance(data, dict) or not all(isinstance(column, dict) for column in data.values()):
        raise UserError(f"forecast {path}: must map parameters to objects that map epochs to values")
    return {
        name: {
            _epoch(f"{path}, {name}", epoch): _value(f"{path}, {name}, {epoch}", value)
            for epoch, value in column.items()
        }
        for name, column in data.items()
    }


def _from_csv(path: Path, text: str) -> Mapping[str, Mapping[int, float]]:
    rows = csv.reader(text.splitlines())
    header = next(rows, [])
    if len(header) < 2 or header[0] != "epoch" or len(set(header)) != len(header):
        raise UserError(f"forecast {path}, line 1: must be epoch and the names of the parameters")
    table: dict[str, dict[int, float]] = {name: {} for name in header[1:]}
    for row in rows:
        where = f"{path}, line {rows.line_num}"
        if len(row) != len(header):
            raise UserError(f"forecast {where}: {len(row)} columns, where the header has {len(header)}")
        epoch = _epoch(where, row[0])
        for name, value in zip(header[1:], row[1:], strict=True):
            if epoch in table[name]:
                raise UserError(f"forecast {where}: epoch {epoch} is given twice")
            table[name][epoch] = _value(where, value)
    return table


def _epoch(where: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**32):
        raise UserError(f"forecast {where}: epoch {text!r} is not a whole number below 2^32")
    return int(text)


def _value(where: str, value: object) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"forecast {where}: {value!r} is not a number")
    return number


def typical_year(
    source: str, station: str, model: str, alignment: str, seed: int, method: str, error: float
) -> Forecast:
    """Return the green energy of one station's typical year, matched by the calendar hour of the epoch.

    The arguments are those of `grasp.telemetry.energy.sources.parse_energy` and
    `grasp.telemetry.forecast.forecast`. 29 February, which typical years have not, is taken as the 28th.
    """
    from grasp.telemetry.energy.sources import parse_energy, typical_row
    from grasp.telemetry.energy.stations import station as find
    from grasp.telemetry.forecast import forecast

    energy = parse_energy(source, model, alignment, seed, stations=[find(station)])
    year = forecast(energy.wh, method, error, seed)[:, 0].tolist()
    return lambda parameter, epoch: year[typical_row(epoch)] if parameter == "green_energy" else None


class Measurements:
    """Everything that the agent can report: the forecast's values, and the load as it is measured."""

    def __init__(self, forecast: Forecast, load: Load) -> None:
        self._forecast = forecast
        self._load = load

    def __call__(self, parameter: str, epoch: int, now: int) -> float | None:
        """Return a parameter's value for a report, None where there is none."""
        if parameter == "load":
            return self._load.per_second(now)
        return self._forecast(parameter, epoch)
