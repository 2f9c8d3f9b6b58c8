# SPDX-License-Identifier: Apache-2.0
"""`python -m gradcore` and the command `gradcore`."""

import os
import sys


def main():
    """Run the command line; typer and rich are needed only here."""
    # One thread for the float trainer: its sums then have one order, and the simulation keeps a core of its own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from gradcore.cli import run
    except ModuleNotFoundError as error:
        print(f"error: {error.name} is not installed: pip install {error.name}", file=sys.stderr)
        return 3
    return run()


if __name__ == "__main__":
    sys.exit(main())
