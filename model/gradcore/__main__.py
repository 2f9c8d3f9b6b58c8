# SPDX-License-Identifier: Apache-2.0
"""`python -m gradcore` and the command `gradcore`."""

import sys


def main():
    """Run the command line; typer and rich are needed only here."""
    try:
        from gradcore.cli import run
    except ModuleNotFoundError as error:
        print(f"error: {error.name} is not installed: pip install {error.name}", file=sys.stderr)
        return 3
    return run()


if __name__ == "__main__":
    sys.exit(main())
