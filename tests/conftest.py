# SPDX-License-Identifier: Apache-2.0
import signal

from hypothesis import settings

# How long an example takes says more of the machine than of the code.
settings.register_profile("grasp", deadline=None)
settings.load_profile("grasp")

# A shell lets what it starts in the background ignore Ctrl-C, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
