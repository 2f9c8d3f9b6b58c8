# SPDX-License-Identifier: Apache-2.0
"""Reads TOML from anybody: its size, depth and time are bounded."""

import tomllib
from pathlib import Path

from gradcore.files.atomic import StrPath

TEXT_MAX = 1 << 19  # bytes of a file
LINE_MAX = 500  # characters of a line: the parser's time grows with the square of a dotted key


def read(path: StrPath) -> str:
    """Text of a file. Raises ValueError when it is too long or not UTF-8, OSError when it cannot be read."""
    with Path(path).open("rb") as file:
        data = file.read(TEXT_MAX + 1)
    if len(data) > TEXT_MAX:
        raise ValueError(f"has more than {TEXT_MAX} bytes")
    return data.decode("utf-8")


def parse(text: str) -> dict:
    """Tables of a TOML text. Raises ValueError for anything that is wrong, too long or too deep."""
    if len(text) > TEXT_MAX:
        raise ValueError(f"more than {TEXT_MAX} characters")
    longest = max(enumerate(text.split("\n"), 1), key=lambda line: len(line[1]))
    if len(longest[1]) > LINE_MAX:
        raise ValueError(f"line {longest[0]} has {len(longest[1])} characters, more than {LINE_MAX}")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("tables or lists are nested too deeply") from None


def printable(text: str, most: int = 200) -> str:
    """`text` in one line of at most `most` characters, whatever is in it."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: most + 1])
    return text if len(text) <= most else text[: most - 2] + ".."
