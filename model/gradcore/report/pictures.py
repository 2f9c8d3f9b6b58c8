# SPDX-License-Identifier: Apache-2.0
"""The pictures of a run and of a benchmark: loss, timeline, roofline."""

import io
from types import ModuleType
from typing import Any

import numpy as np

from gradcore.files.atomic import StrPath, write_bytes
from gradcore.isa.instruction import ENGINES

COLOURS = {"load": "#4477aa", "wload": "#66ccee", "compute": "#228833", "store": "#ccbb44", "update": "#ee6677"}


def loss_picture(path: StrPath, history: list[dict[str, Any]]) -> None:
    """Loss per image and test accuracy over the epochs, fixed point beside float32."""
    plt = _pyplot()
    epochs = [entry["epoch"] for entry in history]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, key, name in ((left, "loss", "training loss per image"), (right, "test_accuracy", "test accuracy")):
        for prefix, label, style in (("", "fixed point", "o-"), ("float32_", "float32", "s--")):
            values = [entry.get(prefix + key) for entry in history]
            if None not in values:
                axis.plot(epochs, values, style, label=label, markersize=4)
        axis.set_xlabel("epoch")
        axis.set_title(name)
        axis.grid(alpha=0.3)
        axis.legend()
    _write_picture(path, plt, figure)


def timeline_picture(path: StrPath, events: np.ndarray, title: str = "one minibatch") -> None:
    """What each engine did, as bars over the cycles."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(11, 2.8), layout="constrained")
    origin = int(events["start"].min()) if len(events) else 0
    for row, engine in enumerate(ENGINES):
        mine = events[events["engine"] == row]
        spans = [(int(e["start"]) - origin, max(1, int(e["end"] - e["start"]))) for e in mine]
        shades = [COLOURS[engine], COLOURS[engine] + "99"]
        axis.broken_barh(spans, (row - 0.4, 0.8), facecolors=[shades[i % 2] for i in range(len(spans))])
    axis.set_yticks(range(len(ENGINES)), ENGINES)
    axis.set_ylim(len(ENGINES) - 0.5, -0.5)
    axis.set_xlabel("cycle")
    axis.set_title(title)
    _write_picture(path, plt, figure)


def roofline_picture(path: StrPath, found: dict[str, Any]) -> None:
    """Multiply-accumulates per cycle over multiply-accumulates per DRAM byte, under the array's and the memory's
    limit."""
    plt = _pyplot()
    peak, rate = found["engine"]["grid"] ** 2 * found["engine"]["cols"], found["memory"]["bytes_per_cycle"]
    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    intensity = found["macs_per_image"] / found["dram_bytes_per_image"]
    x = np.geomspace(peak / rate / 30, max(intensity, peak / rate) * 10, 200)
    axis.loglog(x, np.minimum(peak, rate * x), color="black", label=f"{peak} MACs, {rate} bytes per cycle")
    axis.loglog(
        [intensity],
        [found["macs_per_image"] / found["cycles_per_image"]],
        "o",
        color=COLOURS["compute"],
        label=found["network"],
    )
    axis.set_xlabel("multiply-accumulates per DRAM byte")
    axis.set_ylabel("multiply-accumulates per cycle")
    axis.legend()
    _write_picture(path, plt, figure)


def _pyplot() -> ModuleType:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    return pyplot


def _write_picture(path: StrPath, plt: ModuleType, figure: Any) -> None:
    """Write a figure as PNG and forget it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=120, format="png")
    plt.close(figure)
    write_bytes(path, buffer.getvalue())
