# SPDX-License-Identifier: Apache-2.0
"""Layers of large networks: each in the smallest network that gives it all three passes, on the preset 64x16; what it
takes beside the least that its multiply-accumulates and the memory allow."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gradcore.files.atomic import write_json
from gradcore.files.places import ROOT
from gradcore.isa.config import PRESETS
from gradcore.network.description import Network
from gradcore.network.weighted_layer import LayerParameters
from gradcore.ops.convolution import Conv, Dense

FIGURES, PRESET = ROOT / "doc" / "large_layers.json", "64x16"
KEPT = ("cycles", "expected_deviation_percent", "differing_words", "words_compared", "minibatch")


def convolution(maps: int, side: int, images: int) -> Network:
    """3x3, `maps` to `maps`, of `side` x `side` pixels: behind a 1x1 convolution, in front of what makes one pixel."""
    layers = [Conv(maps, (1, 1)), Conv(maps, (3, 3), (1, 1), pool=2)]
    side_now = side // 2
    while side_now > 7 and side_now % 2 == 0:
        layers.append(Conv(16, (1, 1), pool=2))
        side_now //= 2
    return Network(f"conv{maps}x{side}", (16, side, side), (*layers, Dense(10)), minibatch=images)


def odd_convolution(maps: int, kernel: int, side: int, inputs: int, images: int) -> Network:
    """Square kernel, `inputs` to `maps`, of an odd `side`: as `convolution`, then a convolution without padding to a
    side that can be pooled, and 2x2 pooling down to 6."""
    even = side // 4 * 4
    layers = [
        Conv(inputs, (1, 1)),
        Conv(maps, (kernel, kernel), (kernel // 2, kernel // 2)),
        Conv(16, (side - even + 1, side - even + 1), pool=2),
    ]
    while (even := even // 2) > 6:
        layers.append(Conv(16, (1, 1), pool=2))
    name = f"conv{inputs}-{maps}x{side}"
    return Network(name, (16, side, side), (*layers, Dense(10)), minibatch=images)


def dense(maps: int, side: int, outputs: int, images: int) -> Network:
    """Fully connected, `maps` maps of `side` x `side` pixels to `outputs`, behind a 1x1 convolution."""
    before = Conv(maps, (1, 1), pool=2 if side > 1 else None)
    size = 2 * side if side > 1 else 1
    layers = (before, Dense(outputs, relu=True), Dense(10))
    return Network(f"fc{maps * side * side}-{outputs}", (16, size, size), layers, minibatch=images)


def strided_convolution(maps: int, images: int) -> Network:
    """The first convolution of AlexNet: 11x11, stride 4, 3 to `maps`, of 227x227 pixels; then 2x2 pooling down to 6."""
    rest = (Conv(16, (2, 2), pool=2), Conv(16, (4, 4), pool=2), Conv(16, (1, 1), pool=2), Dense(10))
    return Network(f"conv3-{maps}x227", (3, 227, 227), (Conv(maps, (11, 11), stride=(4, 4)), *rest), minibatch=images)


LAYERS: dict[str, Callable[[], Network]] = {
    "fc-4096-1000": lambda: dense(4096, 1, 1000, 64),
    "fc-9216-4096": lambda: dense(256, 6, 4096, 64),
    "fc-25088-4096": lambda: dense(512, 7, 4096, 64),
    "conv-64-224": lambda: convolution(64, 224, 1),
    "conv-256-56": lambda: convolution(256, 56, 1),
    "conv-512-28": lambda: convolution(512, 28, 4),
    "conv-512-14": lambda: convolution(512, 14, 16),
    "conv-256-27": lambda: odd_convolution(256, 5, 27, 96, 64),
    "conv-384-13": lambda: odd_convolution(384, 3, 13, 256, 64),
    "conv-96-227-s4": lambda: strided_convolution(96, 1),
}


def measured(network: Network) -> LayerParameters:
    """The layer that a network is there for: the second, or the first where that has a stride."""
    first, second, *_ = network.parameters
    return second if first.stride == (1, 1) else first


def least(network: Network) -> tuple[int, dict[str, int]]:
    """(multiply-accumulates of a pass, least cycles of each pass it has) of the layer for a minibatch:
    multiply-accumulates by the array's size, or the beats of its weights if those are more, in WU of weights and
    momentum both ways."""
    config, p = PRESETS[PRESET], measured(network)
    macs = int(np.prod(p.weight_shape)) * p.conv_shape[1] * p.conv_shape[2] * network.minibatch
    steps = -(-macs // (config.lanes * config.cols))
    beats = int(np.prod(p.weight_shape)) * config.word_bytes // config.mem_bytes
    once = dict.fromkeys(("FP",) if p.shift_bp is None else ("FP", "BP"), max(steps, beats))
    return macs, once | {"WU": max(steps, 4 * beats)}


def kept(network: Network, found: dict[str, Any]) -> dict[str, Any]:
    """Of a report of `gradcore.report.bench.measure` what the table shows."""
    name = measured(network).name
    rows = [row for row in found["per_phase"] if row["layer"] == name and not row.get("beside")]
    return {key: found[key] for key in KEPT} | {"passes": {row["pass"]: row for row in rows}}


def store(name: str, found: dict[str, Any], figures: Path = FIGURES) -> None:
    """Keep the figures of one layer."""
    known = json.loads(figures.read_text()) if figures.exists() else {}
    known[name] = kept(LAYERS[name](), found)
    write_json(figures, {key: known[key] for key in LAYERS if key in known})


def page_lines(known: dict[str, Any]) -> list[str]:
    """The section of the page with the table."""
    array = PRESETS[PRESET].lanes * PRESETS[PRESET].cols
    rows = [
        "",
        "## Large layers",
        "",
        f"Single layers of large networks on the preset {PRESET}, each in a network of a 1x1 convolution before it and "
        "what makes one pixel of classes",
        "behind it, so that it has all three passes; one with a stride is the first layer and has no BP. 64 bytes per "
        "cycle, latency 60. `least` is",
        "the larger of its multiply-accumulates by the array's size "
        "and the beats of its weights (WU: of weights and momentum, read and written); useful: part of the busy lane "
        "steps that are",
        "multiply-accumulates of the layer; above 100 % a pass leaves out taps that reach padding only. Estimate and "
        "words are those of the whole network. One row:",
        "`python -m gradcore bench --layer fc-4096-1000 --iterations 1`; `--layer all` writes the table.",
        "",
        "| layer, images | pass | cycles | busy | useful | least | part of it | stalls | estimate | differing words |",
        "|---|---|--:|--:|--:|--:|--:|---|--:|--:|",
    ]
    for name, f in known.items():
        macs, ideal = least(LAYERS[name]())
        for step, row in sorted(f["passes"].items(), key=lambda item: tuple(ideal).index(item[0])):
            stalls = sorted(row["stalls"].items(), key=lambda item: -item[1])[:2]
            text = ", ".join(f"{cause} {cycles:,}" for cause, cycles in stalls)
            whole = f"{f['expected_deviation_percent']:+.1f} % | {f['differing_words']} of {f['words_compared']:,}"
            rows.append(
                f"| {name}, {f['minibatch']} | {step} | {row['cycles']:,} | {row['busy']:,} "
                f"| {100 * macs / array / row['busy']:.1f} % | {ideal[step]:,} "
                f"| {100 * ideal[step] / row['cycles']:.1f} % | {text} | {whole if step == 'FP' else ' | '} |"
            )
    return rows
