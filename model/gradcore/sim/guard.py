# SPDX-License-Identifier: Apache-2.0
"""Run a command that does not outlive its caller: `python guard.py COMMAND..` with a pipe as standard input, in a
session of its own.

Nobody writes to the pipe. When it closes, because the caller has ended in whatever way (the kernel closes it even after
kill -9), the whole process group is killed: the command, what it has started, and this process. Else the exit code is
the command's.
"""

import os
import signal
import subprocess
import sys
import threading
from typing import Any


def _watch() -> None:
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def main() -> int:
    """Run the command of the command line under guard."""
    threading.Thread(target=_watch, daemon=True).start()
    sys.exit(subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL) & 0xFF)


def call(command: list[str], **options: Any) -> int:
    """Run `command` (strings) under a guard of this process; its exit code. `options`: as for subprocess.Popen. After
    an exception, also Ctrl-C, nothing of it runs on."""
    guard = [sys.executable, "-I", "-S", __file__, *command]
    with subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True, **options) as process:
        return process.wait()


if __name__ == "__main__":
    main()
