# SPDX-License-Identifier: Apache-2.0
"""A reader of .npz archives that trusts nothing: before it takes memory it checks the sizes in the directory and in the
header of each array."""

import io
import math
import zipfile
from pathlib import Path
from typing import Protocol

import numpy as np

from gradcore.files.atomic import StrPath

BYTES_MAX = 8 << 30  # of all arrays that are read from one file, or of one set of image files
DIRECTORY_MAX = 1 << 20  # bytes of the archive's directory
MEMBERS_MAX = 20_000
HEADER_MAX = 4096  # bytes of an array's header
RATIO_MAX = 100  # bytes from one compressed byte, beyond ROOM; images take 1 to 20
ROOM = 64 << 20
_CHUNK = 1 << 20


class Reader(Protocol):
    """An opened file."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes."""


class NpzError(ValueError):
    """An archive that cannot be read. Attributes: key (array or ""), problem."""

    def __init__(self, key: str, problem: str) -> None:
        self.key, self.problem = key, problem
        super().__init__(": ".join(part for part in (key, problem) if part))


def check_size(key: str, size: int, packed: int) -> None:
    """Raise NpzError where `size` bytes are beyond the limit, or cannot come honestly from `packed` compressed ones."""
    if size > BYTES_MAX:
        raise NpzError(key, f"has {size} bytes, more than {BYTES_MAX}")
    if size > ROOM and size > RATIO_MAX * packed:
        raise NpzError(key, f"would grow from {packed} to {size} bytes, more than {RATIO_MAX} times")


def read(source: StrPath | bytes, *choices: tuple[str, ...], kinds: str = "biuf") -> dict[str, np.ndarray]:
    """Arrays by name of a .npz file (path or bytes): those of the first of the `choices` of names that it has all of,
    without choices all.

    kinds: letters of the NumPy types that are taken. Raises NpzError for everything else, before it takes memory for an
    array.
    """
    try:
        with _File(source) as file, zipfile.ZipFile(file) as archive:
            return _arrays(archive, file.size, choices, kinds)
    except NpzError:
        raise
    except OSError as error:
        raise NpzError("", f"cannot be read: {error.strerror or error}") from error
    except zipfile.BadZipFile as error:
        raise NpzError(
            "", "is not a .npz archive" if "not a zip" in str(error) else f"cannot be read: {error}"
        ) from error
    except Exception as error:  # what zipfile makes of broken bytes
        raise NpzError("", f"cannot be read: {error!r:.100}") from error


def _arrays(
    archive: zipfile.ZipFile, packed: int, choices: tuple[tuple[str, ...], ...], kinds: str
) -> dict[str, np.ndarray]:
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if len(archive.infolist()) > MEMBERS_MAX or len(members) < len(archive.infolist()):
        raise NpzError("", f"has {len(archive.infolist())} arrays, more than {MEMBERS_MAX}, or two of one name")
    wanted = next((keys for keys in choices if set(keys) <= set(members)), choices[0]) if choices else tuple(members)
    for key in wanted:
        if key not in members:
            found = ", ".join(name for name in list(members)[:10] if name.isprintable()) or "nothing"
            raise NpzError(key, f"is missing; the file has {found:.200}")
    total = 0
    for key in wanted:
        total += members[key].file_size
        check_size(key, members[key].file_size, min(members[key].compress_size, packed))
        if total > BYTES_MAX:
            raise NpzError(key, f"all arrays have {total} bytes up to here, more than {BYTES_MAX}")
    result = {}
    for key in wanted:
        try:
            result[key] = _array(archive, members[key], kinds)
        except NpzError as error:
            raise NpzError(key, error.problem) from error
        except MemoryError as error:
            raise NpzError(key, f"needs {members[key].file_size} bytes of memory, which are not there") from error
        except Exception as error:  # zip and header errors alike
            raise NpzError(key, f"cannot be read: {error!s:.100}") from error
    return result


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, kinds: str) -> np.ndarray:
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise NpzError("", f"is compressed by method {info.compress_type}, not stored or deflated")
    with archive.open(info) as file:
        shape, fortran, dtype, length = _header(file)
        if dtype.hasobject or dtype.kind not in kinds:
            raise NpzError("", f"cannot be read: it has the type {dtype}")
        size = math.prod(shape) * dtype.itemsize
        if size != info.file_size - length:
            raise NpzError("", f"has {info.file_size - length} bytes of data, its header says {size}")
        data = np.empty(size, np.uint8)
        fill(data, file, "")
    return data.view(dtype).reshape(shape[::-1]).T if fortran else data.view(dtype).reshape(shape)


def fill(data: np.ndarray, file: Reader, key: str) -> None:
    """Fill the bytes `data` from a file, which must end with them, a piece at a time. Raises NpzError."""
    at = 0
    while part := file.read(min(_CHUNK, data.size - at) or 1):
        if at + len(part) > data.size:
            raise NpzError(key, f"has more than {data.size} bytes")
        data[at : at + len(part)] = np.frombuffer(part, np.uint8)
        at += len(part)
    if at != data.size:
        raise NpzError(key, f"ends after {at} of {data.size} bytes")


def _header(file: Reader) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    """(shape, fortran order, dtype, bytes of the header) of an array; np.lib.format would take memory for any length
    that the file claims."""
    head = file.read(8)
    version = tuple(head[6:8])
    if head[:6] != np.lib.format.MAGIC_PREFIX or version not in ((1, 0), (2, 0), (3, 0)):
        raise NpzError("", "cannot be read: it is not an array of NumPy")
    count = file.read(2 if version == (1, 0) else 4)
    length = int.from_bytes(count, "little")
    if length > HEADER_MAX:
        raise NpzError("", f"cannot be read: its header has {length} bytes, more than {HEADER_MAX}")
    text = io.BytesIO(count + file.read(length))
    # The versions differ in the field that has the length and in the characters of field names.
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read_header(text, max_header_size=HEADER_MAX)
    if any(type(n) is not int or n < 0 for n in shape):
        raise NpzError("", f"cannot be read: its shape is {shape!s:.60}")
    return shape, fortran, dtype, 8 + len(count) + length


class _File(io.BufferedReader):
    """A file, or bytes, that refuses to read the directory of an archive when it is too large."""

    def __init__(self, source: StrPath | bytes) -> None:
        super().__init__(io.BytesIO(source) if isinstance(source, bytes) else io.FileIO(Path(source)))
        self.size = self.seek(0, io.SEEK_END)

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(DIRECTORY_MAX + 1 if size is None or not 0 <= size <= DIRECTORY_MAX else size)
        if len(data) > DIRECTORY_MAX:
            raise NpzError("", f"cannot be read: its directory has more than {DIRECTORY_MAX} bytes")
        return data
