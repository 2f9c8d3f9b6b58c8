# SPDX-License-Identifier: Apache-2.0
"""checkpoint.npz: a model in training, and all that is needed to continue it bit by bit."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gradcore.files import archive
from gradcore.files.archive import Damaged
from gradcore.files.atomic import FileError, StrPath, write_bytes
from gradcore.host.model_file import CHECKPOINT, VERSION, Model, header, model_of, state_of, tensors
from gradcore.host.progress import Progress
from gradcore.reference.trainer import State

BESIDE: dict[str, type[np.generic]] = {"reference": np.int16, "float32": np.float32, "best": np.int16}


@dataclass(frozen=True)
class Checkpoint:
    """A model, the run's configuration (the content of run.json) and how far it is."""

    model: Model
    configuration: dict[str, Any]
    progress: Progress

    def at(self, progress: Progress) -> "Checkpoint":
        """The same run at another moment."""
        assert progress.state is not None
        return replace(self, model=replace(self.model, state=progress.state), progress=progress)


def write(path: StrPath, checkpoint: Checkpoint, previous: StrPath | None = None) -> None:
    """Write a checkpoint; the file that was there becomes `previous`. Raises FileError."""
    model, progress = checkpoint.model, checkpoint.progress
    extra = {"configuration": checkpoint.configuration, "progress": progress.plain()}
    arrays = tensors(model.network, model.state)
    for name, dtype in BESIDE.items():
        state: State | None = getattr(progress, name)
        if state is not None:
            arrays |= tensors(model.network, state, f"{name}:", dtype)
    if progress.events is not None:
        arrays["events"] = progress.events
    write_bytes(path, archive.pack(header(CHECKPOINT, model) | extra, arrays), previous)


def read(path: StrPath) -> Checkpoint:
    """The checkpoint in a file. Raises FileError, `Damaged` for changed bytes."""
    head, arrays = archive.unpack(path, (CHECKPOINT,), VERSION)
    model = model_of(path, head, arrays)
    beside = {
        name: state_of(path, model.network, arrays, f"{name}:", dtype)
        for name, dtype in BESIDE.items()
        if any(key.startswith(f"{name}:") for key in arrays)
    }
    try:
        progress = Progress.from_plain(head["progress"], state=model.state, events=arrays.get("events"), **beside)
        return Checkpoint(model, head["configuration"], progress)
    except (KeyError, TypeError) as error:
        raise FileError(path, f"header: {error!r}") from error


def read_latest(path: Path, previous: Path) -> tuple[Checkpoint | None, str]:
    """(checkpoint, why the newer one was not taken or "") of two files; the older one counts where the newer is damaged
    or missing.

    (None, "") when there is neither. Raises FileError when no file can be used.
    """
    if not path.exists() and not previous.exists():
        return None, ""
    try:
        return read(path), ""
    except FileError as error:
        if path.exists() and not isinstance(error, Damaged):
            raise
        if not previous.exists():
            raise
        problem = str(error)
    try:
        return read(previous), problem
    except Damaged as error:
        raise FileError(path.parent, f"{problem}; {error}") from error
