# SPDX-License-Identifier: Apache-2.0
"""The run folder: a damaged checkpoint gives way, no two processes, no two runs in one."""

import json
import os
from dataclasses import replace

import pytest

from gradcore.files.atomic import FileError
from gradcore.host import checkpoint, run_folder
from gradcore.host.checkpoint import Checkpoint
from gradcore.host.progress import Progress
from gradcore.host.run_folder import CHECKPOINT, PREVIOUS, RunFolder
from tb.model.host.small_training import FIRST, MODEL, NET, train


def moments_of(count, epochs=2):
    moments = []
    train("reference", save=moments.append, epochs=epochs)
    return moments[:count]


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path):
    with RunFolder(tmp_path) as folder:
        for moment in moments_of(4):
            folder.save(FIRST.at(moment))
        for broken in (lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-1] + b"x")):
            broken(tmp_path / CHECKPOINT)
            found, problem = folder.latest()
            assert found.progress.iteration == 2 and "checkpoint.npz: " in problem
            folder.resume(found, problem=problem)
            assert checkpoint.read(tmp_path / CHECKPOINT).progress.iteration == 2 and not (tmp_path / PREVIOUS).exists()
            for moment in moments_of(4)[2:]:
                folder.save(FIRST.at(moment))
        for name in (CHECKPOINT, PREVIOUS):
            (tmp_path / name).write_bytes(b"")
        with pytest.raises(FileError, match="checkpoint.npz.*checkpoint.previous.npz"):
            folder.latest()


def test_two_processes_do_not_share_a_folder(tmp_path):
    with RunFolder(tmp_path), pytest.raises(run_folder.InUse, match="in use"):
        RunFolder(tmp_path)
    RunFolder(tmp_path).close()


def runs_in(folder):
    """Numbers of the runs whose files are in a folder."""
    numbers = set()
    for path in folder.iterdir():
        if path.suffix == ".json":
            numbers.add(json.loads(path.read_bytes())["run"])
        elif path.name.startswith("checkpoint"):
            numbers.add(checkpoint.read(path).configuration["run"])
        elif path.name == "net.toml":
            numbers |= {"old" if path.read_text() == NET else "new"}
    return numbers


class Killed(BaseException):
    pass


def test_a_new_run_never_mixes_with_the_old_one(tmp_path, monkeypatch):
    """Killed before each call that changes the folder: what is left is of one run, and can be resumed or replaced."""
    old, new = (
        Checkpoint(replace(MODEL, text=text), {"run": name}, Progress()).at(moments_of(1)[0])
        for name, text in (("old", NET), ("new", NET + "\n"))
    )
    real, seen = {name: getattr(os, name) for name in ("replace", "unlink", "link")}, set()
    for stop in range(100):
        folder = tmp_path / str(stop)
        with RunFolder(folder) as opened:
            for _ in range(3):
                opened.save(old)
        for name in ("report.json", "trace.json"):
            (folder / name).write_text('{"run": "old"}')
        (folder / "notes.txt").write_text("mine")
        calls = iter(range(100))

        def killed(name, *arguments, **options):
            if next(calls) == stop:
                raise Killed
            return real[name](*arguments, **options)

        for name in real:
            monkeypatch.setattr(os, name, lambda *a, name=name, **k: killed(name, *a, **k))
        try:
            with RunFolder(folder) as opened:
                opened.check_free(new.model.text)
                opened.begin(new)
        except Killed:
            pass
        else:
            stop = None
        monkeypatch.undo()
        numbers = runs_in(folder)
        assert len(numbers) == 1 and (folder / "notes.txt").exists()
        seen |= numbers
        if stop is None:
            break
        with RunFolder(folder) as opened:
            found, problem = opened.latest()
            assert not problem and found.configuration["run"] in numbers
            opened.resume(found)
        assert runs_in(folder) == numbers
    assert seen == {"old", "new"} and stop is None


def test_an_unfinished_run_and_foreign_networks_are_not_overwritten(tmp_path):
    (tmp_path / "net.toml").write_text("mine")
    with RunFolder(tmp_path) as folder:
        folder.check_free("mine")
        with pytest.raises(FileError, match="net.toml: .*belongs to no run"):
            folder.check_free(NET)
        folder.save(FIRST.at(moments_of(1)[0]))
        with pytest.raises(FileError, match="not finished; --resume"):
            folder.check_free(NET)
        (tmp_path / "report.json").write_text("{}")
        folder.check_free("other")
