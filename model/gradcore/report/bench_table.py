# SPDX-License-Identifier: Apache-2.0
"""The table of published benchmarks: which runs it has, where the figures are kept, how they are shown."""

import json
from pathlib import Path
from typing import Any

from gradcore.files.atomic import write_json, write_text
from gradcore.files.places import ROOT
from gradcore.isa.config import PRESETS
from gradcore.report import large_layers, layer_by_layer

FIGURES, PAGE = ROOT / "doc" / "benchmarks.json", ROOT / "doc" / "benchmarks.md"

# network, columns, minibatch, bytes per cycle, latency
Case = tuple[str, int, int | None, int, int]
CASES: list[Case] = [
    *((f"cifar10-{n}x", 16 * n, minibatch, 64, 60) for minibatch in (40, 10, 1) for n in (1, 2, 4)),
    *((f"cifar10-{n}x", 16 * n, 40, *memory) for memory in ((32, 60), (64, 200)) for n in (1, 2, 4)),
    ("fcte-mnist", 16, 256, 64, 60),
    ("fcte-cifar10", 16, 256, 64, 60),
    ("fcte-cifar10", 32, 256, 64, 60),
    ("resnet8", 16, 64, 64, 60),
    ("vgg16", 16, 1, 64, 60),
    ("alexnet", 64, 128, 64, 60),
    ("lenet5", 16, 384, 64, 60),
    ("digits", 16, 32, 64, 60),
]
ITERATIONS = 2  # of a run; the last one is its row
ONCE = ("vgg16", "alexnet")  # networks that run one iteration: each takes about an hour
KEPT = (
    "cycles_per_image",
    "ideal_cycles_per_image",
    "mac_utilisation",
    "expected_deviation_percent",
    "dram_bytes_per_image",
    "dram_bound_cycles_per_image",
    "stall_cycles",
    "mac_busy_cycles",
    "cycles",
    "differing_words",
    "words_compared",
    "iterations",
    "simulated_cycles_per_second",
    "engine",
)


def name_of(case: Case) -> str:
    """Name of a case, as --only takes it."""
    network, cols, minibatch, *memory = case
    return f"{network}/64x{cols}/{minibatch}" + ("" if memory == [64, 60] else "/{}B/{}".format(*memory))


def iterations(case: Case) -> int:
    """How many iterations a case runs."""
    return 1 if case[0] in ONCE else ITERATIONS


def command(case: Case) -> list[str]:
    """Arguments of `gradcore bench` that measure a case."""
    network, cols, minibatch, bandwidth, latency = case
    memory = ["--dram-bytes-per-cycle", str(bandwidth), "--dram-latency", str(latency)]
    return [
        network,
        "--cols",
        str(cols),
        "--minibatch",
        str(minibatch),
        *(memory if (bandwidth, latency) != (64, 60) else []),
        *(["--iterations", str(iterations(case))] if case[0] in ONCE else []),
    ]


def engine(grid: int, cols: int, option: str = "") -> str:
    """The engine of a benchmark, as --engine takes it: the preset of the array, if there is one; `option` names another
    or changes it."""
    name = f"{grid * grid}x{cols}"
    own = name if name in PRESETS else f"grid={grid},cols={cols}"
    return option if option.partition(",")[0] in PRESETS else ",".join(filter(None, [own, option]))


def store(case: Case, found: dict[str, Any], figures: Path = FIGURES, page: Path = PAGE) -> None:
    """Keep the figures of one case and write the page anew."""
    known = json.loads(figures.read_text()) if figures.exists() else {}
    known[name_of(case)] = {key: found[key] for key in KEPT}
    known = {name_of(c): known[name_of(c)] for c in CASES if name_of(c) in known}
    write_json(figures, known)
    write_text(page, page_text(known))


def store_layer(name: str, found: dict[str, Any]) -> None:
    """Keep the figures of a large layer and write the page anew."""
    large_layers.store(name, found)
    write_page()


def write_page() -> None:
    """Write the page anew from all figures that are kept."""
    write_text(PAGE, page_text(json.loads(FIGURES.read_text())))


def page_text(known: dict) -> str:
    """The page with the table, and those of single layers as they are kept."""
    rows = [
        "# Benchmarks",
        "",
        "Complete training iterations (FP, loss, BP, WU, weight update) of the compiled RTL in the steady state, "
        "every weight and momentum word",
        "compared with the reference trainer. The name gives network, lanes x columns, minibatch and, where they are "
        "not 64 bytes per cycle shared by",
        "reads and writes and 60 cycles, the memory's bandwidth and latency. The engine is the preset of the array "
        "([integration.md](integration.md)). Ideal: the",
        "multiply-accumulates divided by the array's size. Written by",
        f"`python -m gradcore bench --all`; one row: `python -m gradcore bench {' '.join(command(CASES[-2]))}`, with",
        "`--dram-bytes-per-cycle` and `--dram-latency` for another memory. The last of "
        f"`iterations` in benchmarks.json counts. {' and '.join(ONCE)} run one, which takes about an hour.",
        "",
        "| run | cycles per image | ideal | MAC utilisation | compiler's estimate | DRAM kB per image "
        "| DRAM-bound cycles | largest stalls, cycles per image | differing words |",
        "|---|--:|--:|--:|--:|--:|--:|---|--:|",
    ]
    for name, f in known.items():
        images = f["cycles"] / f["cycles_per_image"]
        stalls = sorted(f["stall_cycles"].items(), key=lambda item: -item[1])[:3]
        text = ", ".join(f"{cause} {count / images:.0f}" for cause, count in stalls)
        rows.append(
            f"| {name} | {f['cycles_per_image']:,.0f} | {f['ideal_cycles_per_image']:,.0f} "
            f"| {100 * f['mac_utilisation']:.1f} % | {f['expected_deviation_percent']:+.1f} % "
            f"| {f['dram_bytes_per_image'] / 1000:,.0f} | {f['dram_bound_cycles_per_image']:,.0f} | "
            f"{text} | {f['differing_words']} of {f['words_compared']:,} |"
        )
    rows += large_layers.page_lines(json.loads(large_layers.FIGURES.read_text()))
    return "\n".join([*rows, *layer_by_layer.page_lines(layer_by_layer.stored())]) + "\n"
