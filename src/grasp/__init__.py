# SPDX-License-Identifier: Apache-2.0
"""GRASP: the switch sends each connection to the data centre with the most unused green energy."""

__version__ = "0.1.0"


class UserError(Exception):
    """A mistake of the user or a lack of the machine; its one-line text names the thing and the way out.

    The command line prints the text after ``grasp: `` and ends with status 2; no traceback is shown.
    """
