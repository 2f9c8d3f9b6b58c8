# SPDX-License-Identifier: Apache-2.0
"""The files that a run and a benchmark leave behind."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradcore.files.atomic import write_json, write_text
from gradcore.host import model_file
from gradcore.host.model_file import Model
from gradcore.report.pictures import loss_picture, roofline_picture, saturation_picture, timeline_picture
from gradcore.report.trace import Operation, event_names, write_trace


def write_run(
    folder: Path,
    found: dict[str, Any],
    model: Model,
    recorded: tuple[np.ndarray, int, Sequence[Operation]] | None = None,
) -> None:
    """Write the results of a run: weights.npz of the `Model`, epochs.csv, loss.png, saturations.png where words were
    counted, of a simulated run timeline.png and trace.json, and report.json, which says that the others are complete.
    Raises FileError."""
    model_file.write(folder / "weights.npz", model)
    write_text(folder / "epochs.csv", epochs_text(found["history"]))
    loss_picture(folder / "loss.png", found["history"])
    if found["saturations"]:
        saturation_picture(folder / "saturations.png", found["saturations"])
    if recorded:
        events, lost, ops = recorded
        write_trace(folder / "trace.json", events, event_names(events, ops), found.get("run"))
        timeline_picture(
            folder / "timeline.png",
            events,
            "one minibatch" + (f", the first {lost} instructions missing" if lost else ""),
        )
    write_json(folder / "report.json", found)


def epochs_text(history: Sequence[dict[str, Any]]) -> str:
    """The history of a run as comma-separated values: a row for each epoch, a column for each number or truth value."""
    columns = [key for key, value in history[-1].items() if isinstance(value, (bool, int, float))]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    return text.getvalue()


def write_bench(folder: Path, found: dict[str, Any], events: np.ndarray, ops: Sequence[Operation]) -> None:
    """Write the results of a benchmark: trace.json, timeline.png, roofline.png and, last, report.json. Raises
    FileError."""
    write_trace(folder / "trace.json", events, event_names(events, ops))
    timeline_picture(folder / "timeline.png", events, f"{found['network']}, one minibatch of {found['minibatch']}")
    roofline_picture(folder / "roofline.png", found)
    write_json(folder / "report.json", found)
