# SPDX-License-Identifier: Apache-2.0
"""Files are the old ones or the new ones, whole, whatever stops the writing."""

import errno
import os

import pytest

from gradcore.files import atomic as files
from gradcore.files.atomic import FileError


def fail(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def write_a_part(file, data):
    """A disk that is full after one byte."""
    return os.pwrite(file, bytes(data[:1]), 0) if os.fstat(file).st_size == 0 else fail()


def test_contents_and_rights(tmp_path):
    path = tmp_path / "a b ü.txt"
    for text in ("one", "", "x" * 100_000):
        files.write_text(path, text)
        assert path.read_text() == text and os.listdir(tmp_path) == [path.name]
    mask = os.umask(0o027)
    try:
        files.write_json(path, {"a": path})
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o640 and files.read_bytes(path).startswith(b'{\n "a": ')


FAILURES = [("write", fail), ("write", write_a_part), ("fsync", fail), ("replace", fail), ("open", fail)]


@pytest.mark.parametrize("call, replacement", FAILURES)
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, call, replacement):
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(files.os, call, replacement)
    with pytest.raises(FileError, match="file: cannot be written: No space left on device"):
        files.write_text(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["file"]


def test_an_interrupt_leaves_the_old_file(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    (tmp_path / "file").write_text("old")
    monkeypatch.setattr(files.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write_text(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "old" and os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("links", [True, False])
def test_the_file_before_is_kept(tmp_path, monkeypatch, links):
    path, previous = tmp_path / "new", tmp_path / "previous"
    real, seen = os.replace, []

    def replace(source, target):
        real(source, target)
        seen.append((path.exists() and path.read_text(), previous.exists() and previous.read_text()))

    monkeypatch.setattr(files.os, "replace", replace)
    if not links:
        monkeypatch.setattr(files.os, "link", fail)
    for text in ("1", "2", "3"):
        files.write_bytes(path, text.encode(), previous)
    assert seen == [
        ("1", False),
        ("1" if links else False, "1"),
        ("2", "1"),
        ("2" if links else False, "2"),
        ("3", "2"),
    ]
    assert sorted(os.listdir(tmp_path)) == ["new", "previous"]


def test_a_stop_between_the_two_steps_does_no_harm(tmp_path):
    path, previous = tmp_path / "new", tmp_path / "previous"
    path.write_text("1")
    os.link(path, previous)  # what is left by a process killed there
    files.write_bytes(path, b"2", previous)
    assert (
        path.read_text() == "2" and previous.read_text() == "1" and sorted(os.listdir(tmp_path)) == ["new", "previous"]
    )


def test_the_disk_has_the_contents_before_the_name(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(files.os, name, lambda *a, name=name, real=real: (calls.append(name), real(*a)))
    files.write_text(tmp_path / "file", "text")
    assert calls == ["fsync", "replace", "fsync"]


def test_links_are_followed_and_pipes_stay(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    files.write_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "text"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    files.write_text(tmp_path / "pipe", "text")
    assert os.read(reader, 100) == b"text" and (tmp_path / "pipe").is_fifo()
    os.close(reader)


def test_what_cannot_be_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="file/below: cannot be made: Not a directory"):
        files.make_folder(tmp_path / "file" / "below")
    with pytest.raises(FileError, match="none/file: cannot be written: No such file"):
        files.write_text(tmp_path / "none" / "file", "")
    (tmp_path / "folder").mkdir()
    for call, what in ((files.read_bytes, "read"), (lambda path: files.write_text(path, ""), "written")):
        with pytest.raises(FileError, match=f"folder: cannot be {what}: Is a directory"):
            call(tmp_path / "folder")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_leftovers_are_removed_and_nothing_else(tmp_path):
    for name in (".a.json.0123abcd.tmp", ".hidden", "a.tmp", ".lock"):
        (tmp_path / name).write_text("")
    files.remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".hidden", ".lock", "a.tmp"]
