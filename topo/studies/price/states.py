# SPDX-License-Identifier: Apache-2.0
"""The client groups: one for each state of the US and the District of Columbia.

Population and the place where it is centred, from the census of 2010 (U.S. Census Bureau, Centers of
Population by State).
"""

from typing import NamedTuple


class State(NamedTuple):
    """A state's postal code, its population, and degrees north and east of the population's centre."""

    code: str
    population: int
    latitude: float
    longitude: float


STATES = (
    State("AK", 710_231, 61.400, -148.874),
    State("AL", 4_779_736, 33.008, -86.757),
    State("AR", 2_915_918, 35.143, -92.655),
    State("AZ", 6_392_017, 33.368, -111.864),
    State("CA", 37_253_956, 35.464, -119.325),
    State("CO", 5_029_196, 39.513, -105.208),
    State("CT", 3_574_097, 41.497, -72.870),
    State("DC", 601_723, 38.910, -77.014),
    State("DE", 897_934, 39.359, -75.557),
    State("FL", 18_801_310, 27.823, -81.635),
    State("GA", 9_687_653, 33.377, -83.883),
    State("HI", 1_360_301, 21.115, -157.484),
    State("IA", 3_046_355, 41.946, -93.037),
    State("ID", 1_567_582, 44.219, -115.179),
    State("IL", 12_830_632, 41.287, -88.390),
    State("IN", 6_483_802, 40.149, -86.260),
    State("KS", 2_853_118, 38.465, -96.463),
    State("KY", 4_339_367, 37.824, -85.248),
    State("LA", 4_533_372, 30.723, -91.509),
    State("MA", 6_547_629, 42.272, -71.363),
    State("MD", 5_773_552, 39.141, -76.798),
    State("ME", 1_328_361, 44.300, -69.736),
    State("MI", 9_883_640, 42.873, -84.203),
    State("MN", 5_303_925, 45.204, -93.572),
    State("MO", 5_988_927, 38.424, -92.198),
    State("MS", 2_967_297, 32.591, -89.580),
    State("MT", 989_415, 46.787, -111.296),
    State("NC", 9_535_483, 35.543, -79.658),
    State("ND", 672_591, 47.348, -99.310),
    State("NE", 1_826_341, 41.174, -97.316),
    State("NH", 1_316_470, 43.155, -71.462),
    State("NJ", 8_791_894, 40.432, -74.432),
    State("NM", 2_059_179, 34.633, -106.354),
    State("NV", 2_700_551, 37.043, -116.192),
    State("NY", 19_378_102, 41.501, -74.621),
    State("OH", 11_536_504, 40.455, -82.773),
    State("OK", 3_751_351, 35.598, -96.837),
    State("OR", 3_831_074, 44.743, -122.585),
    State("PA", 12_702_379, 40.457, -77.010),
    State("RI", 1_052_567, 41.754, -71.451),
    State("SC", 4_625_364, 34.025, -81.011),
    State("SD", 814_180, 44.014, -99.002),
    State("TN", 6_346_105, 35.808, -86.359),
    State("TX", 25_145_561, 30.905, -97.366),
    State("UT", 2_763_885, 40.401, -111.927),
    State("VA", 8_001_024, 37.810, -77.811),
    State("VT", 625_741, 44.095, -72.816),
    State("WA", 6_724_540, 47.331, -121.620),
    State("WI", 5_686_986, 43.722, -89.019),
    State("WV", 1_852_994, 38.796, -80.731),
    State("WY", 563_626, 42.697, -107.019),
)
