# SPDX-License-Identifier: Apache-2.0
"""The files that a run and a benchmark leave behind."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradcore.files.atomic import write_json
from gradcore.host import model_file
from gradcore.host.model_file import Model
from gradcore.report.epochs import write_epochs
from gradcore.report.pictures import loss_picture, roofline_picture, saturation_picture, timeline_picture
from gradcore.report.trace import Operation, event_names, write_trace


def write_run(
    folder: Path,
    found: dict[str, Any],
    model: Model,
    recorded: tuple[np.ndarray, int, Sequence[Operation]] | None = None,
) -> None:
    """Write the results of a run: weights.npz of the `Model`, the epochs, loss.png, saturations.png where words were
    counted, of a simulated run timeline.png and trace.json, and report.json, which says that the others are complete.
    Raises FileError."""
    model_file.write(folder / "weights.npz", model)
    write_epochs(folder, found["history"])
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


def write_bench(folder: Path, found: dict[str, Any], events: np.ndarray, ops: Sequence[Operation]) -> None:
    """Write the results of a benchmark: trace.json, timeline.png, roofline.png and, last, report.json. Raises
    FileError."""
    write_trace(folder / "trace.json", events, event_names(events, ops))
    timeline_picture(folder / "timeline.png", events, f"{found['network']}, one minibatch of {found['minibatch']}")
    roofline_picture(folder / "roofline.png", found)
    write_json(folder / "report.json", found)
