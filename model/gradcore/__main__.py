# SPDX-License-Identifier: Apache-2.0
"""`python -m gradcore` and the command `gradcore`."""

import io
import os
import sys

from gradcore.host import interrupt


def main() -> int:
    """Run the command line; typer and rich are needed only here."""
    interrupt.install()
    # One thread for the float trainer: its sums then have one order, and the simulation keeps a core of its own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a caller may have put another object in its place
            stream.reconfigure(errors="backslashreplace")  # names that the terminal cannot show
    try:
        from gradcore.cli.main import run
    except ModuleNotFoundError as error:
        print(f"error: {error.name} is not installed: pip install {error.name}", file=sys.stderr)
        return 3
    try:
        interrupt.begin()
        code = _flushed(run())
    except interrupt.Interrupted as error:
        code = error.code
    if code > 128:
        os._exit(code)  # a thread may still be at work
    return code


def _flushed(code: int) -> int:
    """The exit code, when the rest of the output can be written; else the program ends here: the interpreter would
    try to write it once more."""
    try:
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os._exit(141)
    except OSError as error:
        print(f"error: standard output: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(2)


if __name__ == "__main__":
    sys.exit(main())
