# SPDX-License-Identifier: Apache-2.0
"""The folder of a run. One process at a time works in it; whatever ends that process, the run can be continued."""

import os
from pathlib import Path
from typing import Self

from gradcore.files import atomic as files
from gradcore.files.atomic import FileError, StrPath
from gradcore.host import checkpoint as checkpoints
from gradcore.host.checkpoint import Checkpoint

CHECKPOINT, PREVIOUS, REPORT = "checkpoint.npz", "checkpoint.previous.npz", "report.json"
# of a training or a benchmark
PICTURES = ("loss.png", "saturations.png", "timeline.png", "roofline.png")
RESULTS = (REPORT, "weights.npz", "best.npz", "epochs.csv", "epochs.jsonl", "trace.json", *PICTURES)
SCALARS = "tensorboard"  # a folder of event files
LOCK = ".lock"


class InUse(FileError):
    """Another process trains in the folder."""


class RunFolder:
    """The run folder `path`, made and locked until `close`. Raises FileError."""

    def __init__(self, path: StrPath) -> None:
        from filelock import FileLock, Timeout

        self.path = files.make_folder(path)
        self.begun = False  # is the run in the folder the one of this process?
        self._lock = FileLock(self.path / LOCK)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise InUse(path, "is in use by another run") from error
        except OSError as error:
            raise FileError(self.path / LOCK, f"cannot be written: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others in."""
        self._lock.release()

    @property
    def finished(self) -> bool:
        """Are the results of a run or a benchmark there?"""
        return (self.path / REPORT).exists()

    def latest(self) -> tuple[Checkpoint | None, str]:
        """As `checkpoint.read_latest`."""
        return latest(self.path)

    def check_free(self, text: str) -> None:
        """Raise FileError unless a new run of the network `text` may take the place of what is there."""
        ours = any((self.path / name).exists() for name in (CHECKPOINT, PREVIOUS, REPORT, "run.json"))
        if not self.finished and any((self.path / name).exists() for name in (CHECKPOINT, PREVIOUS)):
            raise FileError(self.path, "holds a run that is not finished; --resume continues it, --force drops it")
        if not ours and (self.path / "net.toml").exists() and not self._has_net(text):
            raise FileError(self.path / "net.toml", "is another network and belongs to no run; choose another folder")

    def begin(self, checkpoint: Checkpoint) -> None:
        """Replace what is there by a new run. Even if this is interrupted, all files in the folder belong to one
        run."""
        files.remove_leftovers(self.path)
        self._remove_results()
        self._remove_scalars()
        if not self._has_net(checkpoint.model.text):
            files.remove(self.path / "net.toml")
        files.remove(self.path / "run.json")
        files.remove(self.path / PREVIOUS)
        checkpoints.write(self.path / CHECKPOINT, checkpoint)
        self.begun = True
        self._describe(checkpoint)

    def resume(self, checkpoint: Checkpoint, changed: bool = False, problem: str = "") -> None:
        """Prepare the folder to continue from what `latest` has given, perhaps with changed options."""
        files.remove_leftovers(self.path)
        self._remove_results()
        self.begun = True
        if problem:
            # The next checkpoint must not push the damaged one into the place of the good one.
            os.replace(self.path / PREVIOUS, self.path / CHECKPOINT)
        if changed:
            self.save(checkpoint)
        self._describe(checkpoint)

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint and keep the one before; the first one of a new run begins it."""
        if self.begun:
            checkpoints.write(self.path / CHECKPOINT, checkpoint, self.path / PREVIOUS)
        else:
            self.begin(checkpoint)

    def _remove_results(self) -> None:
        for name in RESULTS:
            files.remove(self.path / name)

    def _remove_scalars(self) -> None:
        for file in (self.path / SCALARS).glob("events.*"):
            files.remove(file)

    def _has_net(self, text: str) -> bool:
        path = self.path / "net.toml"
        return path.exists() and files.read_bytes(path) == text.encode()

    def _describe(self, checkpoint: Checkpoint) -> None:
        if not self._has_net(checkpoint.model.text):
            files.write_text(self.path / "net.toml", checkpoint.model.text)
        files.write_json(self.path / "run.json", checkpoint.configuration)


def latest(path: Path) -> tuple[Checkpoint | None, str]:
    """(checkpoint, why the newer one was not taken or "") of a run folder, (None, "") without one. Raises FileError."""
    return checkpoints.read_latest(path / CHECKPOINT, path / PREVIOUS)
