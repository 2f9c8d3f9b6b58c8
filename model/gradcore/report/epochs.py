# SPDX-License-Identifier: Apache-2.0
"""What a run writes after every epoch: its history as CSV and JSON lines, and as scalars for TensorBoard."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradcore.files import strict_json
from gradcore.files.atomic import FileError, write_text
from gradcore.host.run_folder import SCALARS


def write_epochs(folder: Path, history: Sequence[dict[str, Any]]) -> None:
    """Write epochs.csv and epochs.jsonl anew. Raises FileError."""
    write_text(folder / "epochs.csv", csv_text(history))
    write_text(folder / "epochs.jsonl", "".join(f"{strict_json.dumps(entry)}\n" for entry in history))


def numbers(entry: dict[str, Any]) -> dict[str, Any]:
    """The numbers and truth values of an entry of the history."""
    return {key: value for key, value in entry.items() if isinstance(value, (bool, int, float))}


def csv_text(history: Sequence[dict[str, Any]]) -> str:
    """The history of a run as comma-separated values: a row for each epoch, a column for each number or truth value."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [*numbers(history[-1])], extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    return text.getvalue()


class Scalars:
    """Event files of TensorBoard in the run folder `folder`: the numbers of every epoch by name. Raises ImportError
    without tensorboardX."""

    def __init__(self, folder: Path) -> None:
        from tensorboardX import SummaryWriter

        self.folder, self._open = folder / SCALARS, SummaryWriter
        self._writer: Any = None

    def add(self, entry: dict[str, Any]) -> None:
        """The numbers of one epoch. The first one begins a file: what former ones say of it and later ones counts no
        more. Raises FileError."""
        epoch = entry["epoch"]
        try:
            # Files are called after the second in which they begin; a run may go on in the same one.
            self._writer = self._writer or self._open(str(self.folder), purge_step=epoch, filename_suffix=f".{epoch}")
            for key, value in numbers(entry).items():
                if key != "epoch":
                    self._writer.add_scalar(key, value, epoch)
            self._writer.flush()
        except OSError as error:
            raise FileError(self.folder, f"cannot be written: {error.strerror}") from error

    def close(self) -> None:
        """The file is complete."""
        if self._writer:
            self._writer.close()
