# SPDX-License-Identifier: Apache-2.0
"""Generation models: the energy in Wh that a site's solar plant yields in each hour of its weather."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd
import pvlib

from grasp import UserError
from grasp.telemetry.energy.stations import Station
from grasp.telemetry.energy.weather import YEAR_HOURS, FloatArray, Weather, typical_hours

Model = Callable[[Station, Weather], FloatArray]
"""Takes a place and its weather; returns Wh per hour of shape (8760,), negative where the model strays."""


def grasp2018(place: Station, weather: Weather) -> FloatArray:
    """Return the GRASP paper's own curve, a fit to a plant whose yield falls with the temperature.

    Wh = GHI (18.91332140625 - 0.0712077345 T - 3.344247e-5 T^2), GHI in W/m2, T the dry-bulb temperature
    in C: about 17 kWh in an hour at 1000 W/m2 and 25 C. Where the plant stands enters through its weather
    alone.

    Source: Grigoryan et al., "GRASP: a GReen energy Aware SDN Platform", arXiv:1804.09542.
    """
    t = weather.temperature
    return weather.ghi * (18.91332140625 - 0.0712077345 * t - 3.344247e-5 * t**2)


PVWATTS_DC_W = 20_000.0  # nameplate; of the size of the paper's plant
PVWATTS_DC_TO_AC = 1.1
PVWATTS_TILT = 20.0
PVWATTS_AZIMUTH = 180.0  # south
PVWATTS_GAMMA = -0.0047  # per C, standard modules
PVWATTS_INVERTER_EFFICIENCY = 0.96


def pvwatts(place: Station, weather: Weather) -> FloatArray:
    """Return the AC energy of a 20 kW (DC) plant by NREL's PVWatts, version 5, through pvlib.

    Fixed open rack, 20 degrees towards south, standard modules (-0.47 %/C), ground albedo 0.2, system losses
    of 14 % (the defaults of `pvlib.pvsystem.pvwatts_losses`), inverter of 96 % and a DC to AC ratio of 1.1.
    The sun is taken in the middle of the hour; transposition after Hay and Davies, cell temperature after
    Sandia's model (open rack, glass and polymer), reflection after the physical model.

    Source: Dobos, "PVWatts Version 5 Manual", NREL/TP-6A20-62641, 2014.
    """
    middle = pd.DatetimeIndex(typical_hours()).tz_localize("UTC") + pd.Timedelta(minutes=30)
    sun = pvlib.solarposition.get_solarposition(middle, place.latitude, place.longitude, place.altitude)
    zenith = sun["apparent_zenith"].to_numpy()
    azimuth = sun["azimuth"].to_numpy()
    plane = pvlib.irradiance.get_total_irradiance(
        PVWATTS_TILT,
        PVWATTS_AZIMUTH,
        zenith,
        azimuth,
        weather.dni,
        weather.ghi,
        weather.dhi,
        dni_extra=pvlib.irradiance.get_extra_radiation(middle).to_numpy(),
        model="haydavies",
    )
    incidence = pvlib.irradiance.aoi(PVWATTS_TILT, PVWATTS_AZIMUTH, zenith, azimuth)
    effective = plane["poa_direct"] * pvlib.iam.physical(incidence) + plane["poa_diffuse"]
    rack = pvlib.temperature.TEMPERATURE_MODEL_PARAMETERS["sapm"]["open_rack_glass_polymer"]
    cell = pvlib.temperature.sapm_cell(plane["poa_global"], weather.temperature, weather.wind, **rack)
    dc = pvlib.pvsystem.pvwatts_dc(effective, cell, PVWATTS_DC_W, PVWATTS_GAMMA)
    dc *= 1 - pvlib.pvsystem.pvwatts_losses() / 100
    inverter_dc = PVWATTS_DC_W / PVWATTS_DC_TO_AC / PVWATTS_INVERTER_EFFICIENCY
    return np.asarray(pvlib.inverter.pvwatts(dc, inverter_dc, PVWATTS_INVERTER_EFFICIENCY), dtype=np.float64)


WIND_W = 20_000.0  # nameplate, so that wind and sun are of one size
WIND_TURBINE = "E-82/3000"
WIND_HUB_M = 85.0
WIND_MEASURED_M = 10.0


def wind(place: Station, weather: Weather) -> FloatArray:
    """Return the energy of a 20 kW share of a wind turbine, by windpowerlib.

    The power curve is that of an Enercon E-82 of 3 MW, 85 m high. Wind speeds, measured 10 m above the
    ground, are carried up by Hellman's power law with an exponent of 1/7; the density of the air is taken as
    standard.

    Source: Krien et al., windpowerlib, doi:10.5281/zenodo.824267; its turbines are those of the Open Energy
    Database.
    """
    try:
        from windpowerlib import ModelChain, WindTurbine
    except ImportError:
        raise UserError("model 'wind' needs the package windpowerlib: pip install 'grasp-p4[wind]'") from None
    turbine = WindTurbine(hub_height=WIND_HUB_M, turbine_type=WIND_TURBINE)
    chain = ModelChain(turbine, wind_speed_model="hellman", hellman_exp=1 / 7, density_correction=False)
    chain.run_model(
        pd.DataFrame(
            {
                ("wind_speed", WIND_MEASURED_M): weather.wind,
                ("roughness_length", 0): np.full(YEAR_HOURS, 0.1),
            },
            index=pd.DatetimeIndex(typical_hours()),
        )
    )
    output: FloatArray = np.asarray(chain.power_output, dtype=np.float64)
    return output * (WIND_W / float(turbine.nominal_power))


MODELS: Mapping[str, Model] = MappingProxyType({"grasp2018": grasp2018, "pvwatts": pvwatts, "wind": wind})


def model(name: str) -> Model:
    """Return the generation model of that name, or raise a UserError that lists the known ones."""
    try:
        return MODELS[name]
    except KeyError:
        raise UserError(f"--model {name}: must be one of {', '.join(MODELS)}") from None
