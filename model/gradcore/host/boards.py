# SPDX-License-Identifier: Apache-2.0
"""Back ends of boards by name."""

import re

from gradcore.host.linux import DeviceError, LinuxBackend, UioBackend, XdmaBackend
from gradcore.host.uart import UartBackend

NAMES = "uio:N, xdma:N, uart:PORT"


def is_board(name: str) -> bool:
    """Is it one of `NAMES`?"""
    return re.fullmatch(r"(uio|xdma):\d+|uart:.+", name) is not None


def open_device(name: str) -> LinuxBackend | UartBackend:
    """Back end of a name like uio:0, xdma:1 or uart:/dev/ttyUSB0. Raises DeviceError."""
    kind, _, place = name.partition(":")
    if not is_board(name):
        raise DeviceError(f"{name!r} is none of {NAMES}")
    if kind == "uart":
        return UartBackend(place)
    return UioBackend(int(place)) if kind == "uio" else XdmaBackend(int(place))
