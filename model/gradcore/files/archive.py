# SPDX-License-Identifier: Apache-2.0
"""A .npz archive with a CRC-32 of the whole file in its last 8 characters, so that a single changed bit is seen when it
is read."""

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from gradcore.files import npz, strict_json
from gradcore.files.atomic import FileError, StrPath, read_bytes

MARK = b"gradcore crc32 "
HEADER = "header"


def pack(header: dict, arrays: dict[str, np.ndarray]) -> bytes:
    """Bytes of an archive of `header` (as JSON) and named arrays; the same content gives the same bytes."""
    buffer = io.BytesIO()
    named: dict[str, Any] = {HEADER: np.array(strict_json.dumps(header)), **arrays}
    np.savez(buffer, **named)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = MARK + b"0" * 8
    body = buffer.getvalue()[:-8]
    return body + b"%08x" % zlib.crc32(body)


def unpack(path: StrPath, kinds: tuple[str, ...], version: int) -> tuple[dict, dict[str, np.ndarray]]:
    """(header, arrays) of an archive whose header has one of these kinds and this version. Raises Damaged, or FileError
    where it is something else."""
    data = read_bytes(path)
    if len(data) < 8 or data[-8 - len(MARK) : -8] != MARK or data[-8:] != b"%08x" % zlib.crc32(data[:-8]):
        if _is_plain(data):
            raise FileError(path, "has no checksum: gradcore did not write it, or an older version")
        raise Damaged(path, _damage(data))
    try:
        arrays = npz.read(data, kinds="iufUV")
    except npz.NpzError as error:
        raise FileError(path, str(error)) from error
    header = json.loads(str(arrays.pop(HEADER, "{}")))
    if header.get("kind") not in kinds:
        raise FileError(path, f"header: is {header.get('kind')!r}, not {' or '.join(kinds)}")
    if header.get("version") != version:
        raise FileError(path, f"header: is of version {header.get('version')}, this program reads {version}")
    return header, arrays


class Damaged(FileError):
    """An archive whose bytes have changed since it was written."""


def _is_plain(data: bytes) -> bool:
    """Is it a sound archive without a comment?"""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return not archive.comment and archive.testzip() is None
    except Exception:  # whatever broken bytes make the reader do
        return False


def _damage(data: bytes) -> str:
    """What of a damaged archive is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            wrong = archive.testzip()
    except Exception:
        return "is damaged: no readable archive"
    return f"{Path(wrong).stem}: is damaged" if wrong else "is damaged: its checksum is wrong"
