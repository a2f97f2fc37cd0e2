# SPDX-License-Identifier: Apache-2.0
from hypothesis import settings

# How long an example takes says more of the machine than of the code.
settings.register_profile("grasp", deadline=None)
settings.load_profile("grasp")
