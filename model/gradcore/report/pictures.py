# SPDX-License-Identifier: Apache-2.0
"""The pictures of a run and of a benchmark: loss, timeline, roofline, saturations. The file's suffix says whether it
becomes PNG, SVG or PDF."""

import io
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from gradcore.files.atomic import StrPath, write_bytes
from gradcore.host import interrupt
from gradcore.isa.instruction import ENGINES

KINDS = (".png", ".svg", ".pdf")
COLOURS = {"load": "#4477aa", "wload": "#66ccee", "compute": "#228833", "store": "#ccbb44", "update": "#ee6677"}


def loss_picture(path: StrPath, history: list[dict[str, Any]]) -> None:
    """Loss per image and test accuracy over the epochs, fixed point beside float32."""
    plt = pyplot()
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
    write_picture(path, plt, figure)


def timeline_picture(path: StrPath, events: np.ndarray, title: str = "one minibatch") -> None:
    """What each engine did, as bars over the cycles."""
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(11, 2.8), layout="constrained")
    origin = int(events["start"].min()) if len(events) else 0
    for row, engine in enumerate(ENGINES):
        mine = events[events["engine"] == row]
        spans = [(int(e["start"]) - origin, max(1, int(e["end"] - e["start"]))) for e in mine]
        shades = [COLOURS[engine], COLOURS[engine] + "99"]
        colours = [shades[i % 2] for i in range(len(spans))]
        axis.broken_barh(spans, (row - 0.4, 0.8), facecolors=colours, label=f"{engine}: {len(spans)} instructions")
    axis.set_yticks(range(len(ENGINES)), ENGINES)
    axis.set_ylim(len(ENGINES) - 0.5, -0.5)
    axis.set_xlabel("cycle")
    axis.set_title(f"{title}; shades alternate from instruction to instruction")
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    write_picture(path, plt, figure)


def saturation_picture(path: StrPath, rows: list[dict[str, Any]]) -> None:
    """How many of its words each tensor of the last epoch has saturated: rows as in a report's `saturations`."""
    plt = pyplot()
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    layers = list(dict.fromkeys(row["layer"] for row in rows))
    share = {(row["layer"], row["kind"]): row["last_clipped"] / max(1, row["last_words"]) for row in rows}
    shown = np.array([[share.get((layer, kind), np.nan) for kind in kinds] for layer in layers])
    size = (2.5 + 0.9 * len(kinds), 1.2 + 0.35 * len(layers))
    figure, axis = plt.subplots(figsize=size, layout="constrained")
    axis.imshow(np.sqrt(shown), vmin=0, vmax=1, cmap="Reds", aspect="auto")
    for (y, x), value in np.ndenumerate(shown):
        if np.isfinite(value):
            axis.text(x, y, f"{100 * value:.2g} %", ha="center", va="center", fontsize=8)
    axis.set_xticks(range(len(kinds)), kinds)
    axis.set_yticks(range(len(layers)), layers)
    axis.set_title("saturated words, last epoch")
    write_picture(path, plt, figure)


def roofline_picture(path: StrPath, found: dict[str, Any]) -> None:
    """Multiply-accumulates per cycle over multiply-accumulates per DRAM byte, under the array's and the memory's
    limit."""
    plt = pyplot()
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
    write_picture(path, plt, figure)


def pyplot() -> ModuleType:
    """matplotlib.pyplot without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


def write_picture(path: StrPath, plt: ModuleType, figure: Any) -> None:
    """Write a figure and forget it. Raises FileError."""
    buffer, kind = io.BytesIO(), Path(path).suffix[1:]
    # The same figure makes the same bytes.
    try:
        with plt.rc_context({"svg.hashsalt": "gradcore"}):
            figure.savefig(buffer, dpi=120, format=kind, metadata={"Date": None} if kind == "svg" else None)
    finally:
        interrupt.check()  # of an exception inside its C++ matplotlib makes a ValueError
    plt.close(figure)
    write_bytes(path, buffer.getvalue())
