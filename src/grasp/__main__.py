# SPDX-License-Identifier: Apache-2.0
"""The program ``grasp``, also as ``python -m grasp``."""

import sys


def main() -> int:
    """Run the command line; return the exit status. Ctrl-C is heard in silence from the first import on."""
    try:
        from grasp.control import cli

        return cli.main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
