# SPDX-License-Identifier: Apache-2.0
"""Files that are whole or not there: written under another name, flushed to the disk, renamed."""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from gradcore.files import strict_json

StrPath = str | os.PathLike[str]
_unfinished: set[Path] = set()  # temporary files of this process


class FileError(ValueError):
    """A file or folder that cannot be used. Attributes: file, problem."""

    def __init__(self, file: StrPath, problem: str) -> None:
        self.file, self.problem = str(file), problem
        super().__init__(f"{file}: {problem}")


def read_bytes(path: StrPath) -> bytes:
    """Contents of a file. Raises FileError."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}") from error


def make_folder(path: StrPath) -> Path:
    """The folder `path`, made with its parents where it is missing. Raises FileError."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(path, f"cannot be made: {error.strerror}") from error
    return Path(path)


def write_bytes(path: StrPath, data: bytes, previous: StrPath | None = None) -> None:
    """Make `path` a file of `data`, in one step: at any moment there is the old file or the new one, whole and on the
    disk.

    `previous`: what the old file becomes, in one step, too. Links are followed, and what is no regular file (a pipe,
    /dev/null) is written to as it is. Raises FileError and leaves the old file.
    """
    path = Path(path)
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with target.open("wb", buffering=0) as file:
                _write(file.fileno(), data)
            return
        temporary = _beside(target)
        _unfinished.add(temporary)
        try:
            _store(temporary, data)
            if previous and target.exists():
                _keep(target, previous)
            os.replace(temporary, target)
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()
            _unfinished.discard(temporary)
        _sync_folder(target.parent)
    except OSError as error:
        raise FileError(path, f"cannot be written: {error.strerror}") from error


def write_text(path: StrPath, text: str) -> None:
    """`write_bytes` of a text."""
    write_bytes(path, text.encode())


def write_json(path: StrPath, content: Any) -> None:
    """`write_bytes` of `content` as JSON; what JSON does not know becomes text."""
    write_text(path, strict_json.dumps(content, 1) + "\n")


def remove(path: StrPath) -> None:
    """Remove a file, if it is there. Raises FileError."""
    try:
        Path(path).unlink(missing_ok=True)
    except OSError as error:
        raise FileError(path, f"cannot be removed: {error.strerror}") from error


def remove_leftovers(folder: StrPath) -> None:
    """Remove the temporary files that killed processes have left in `folder`; nobody else may be writing there."""
    for path in Path(folder).glob(".*.????????.tmp"):
        remove(path)


def abandon() -> None:
    """Remove the temporary files of this process, when it has to end at once."""
    for path in list(_unfinished):
        with suppress(OSError):
            path.unlink()


def _store(path: Path, data: bytes) -> None:
    """A new file of `data`, on the disk."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        _write(file, data)
        os.fsync(file)
    finally:
        os.close(file)


def _keep(target: Path, previous: StrPath) -> None:
    """Let `previous` be what `target` is; it stays in its place, too, where the file system has links."""
    link = _beside(target)
    _unfinished.add(link)
    try:
        os.link(target, link)
        os.replace(link, previous)  # nothing happens when they are the same file already
    except OSError:
        os.replace(target, previous)
    finally:
        with suppress(FileNotFoundError):
            link.unlink()
        _unfinished.discard(link)


def _beside(path: Path) -> Path:
    """A name for a temporary file in the folder of `path`."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while len(left):
        left = left[os.write(file, left) :]


def _sync_folder(folder: Path) -> None:
    """Bring a rename to the disk; some file systems cannot and need not."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(file)
