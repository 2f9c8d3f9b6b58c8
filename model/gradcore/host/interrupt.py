# SPDX-License-Identifier: Apache-2.0
"""SIGINT, SIGTERM and SIGHUP: the first one raises `Interrupted` in the main thread, the second one ends the program at
once."""

import os
import signal
from contextlib import suppress
from types import FrameType

from gradcore.files import atomic as files

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_received = None  # the first signal
_gentle = False  # raise an exception? Not before all modules are loaded: an import may swallow it.


class Interrupted(BaseException):
    """A signal asks the program to end. Attribute: code, the exit code."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = 128 + number


def install() -> None:
    """Catch the signals from now on, except those that the caller has switched off (nohup). Until `begin` the first one
    ends the program."""
    for number in CAUGHT:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)


def begin() -> None:
    """From now on the first signal raises `Interrupted`."""
    global _gentle
    _gentle = True


def check() -> None:
    """Raise `Interrupted` again, in case a finaliser has swallowed it."""
    if _received is not None:
        raise Interrupted(_received)


def _handle(number: int, _frame: FrameType | None) -> None:
    global _received
    if _gentle and _received is None:
        _received = number
        raise Interrupted(number)
    files.abandon()
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(128 + number)
