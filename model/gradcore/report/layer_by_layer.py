# SPDX-License-Identifier: Apache-2.0
"""A network layer by layer: each alone, in the folds of the whole one, with as many images as fill the lanes there; the
sum beside the estimate of the whole one."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradcore.compiler.compile import compile_network
from gradcore.compiler.compiled import CompiledNetwork
from gradcore.files.atomic import write_json
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.network.layer_alone import layer_alone, nameless
from gradcore.ops.checks import NetworkError
from gradcore.report import bench
from gradcore.report.shares import SHARES, shares
from gradcore.sim.backend import Memory
from gradcore.sim.sources import ROOT

FIGURES = ROOT / "doc" / "layer_by_layer.json"


@dataclass(frozen=True)
class Alone:
    """A layer in a network of its own. names: its own first, then those of layers that are equal; folds: of its sums
    and of the local gradient that it hands on, in the whole network."""

    names: tuple[str, ...]
    network: Network
    folds: tuple[int, int]

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def plan(self) -> dict[str, Any]:
        """What is known of it before it is measured."""
        p = next(p for p in self.network.parameters if p.name == self.name)
        has = {"FP": True, "BP": p.shift_bp is not None, "WU": p.trainable}
        passes = [step for step in bench.PASSES if has[step]]
        return {"names": [*self.names], "images": self.network.minibatch, "folds": [*self.folds], "passes": passes}


def key_of(network: str, preset: str, minibatch: int) -> str:
    """Name of a table."""
    return f"{network}/{preset}/{minibatch}"


def take_apart(whole: CompiledNetwork) -> list[Alone]:
    """The layers of a network, those that are equal once. Raises NetworkError where it is no chain."""
    found: dict[tuple[Network, tuple[int, int]], Alone] = {}
    for p, own in zip(whole.network.parameters, whole.memory.folds):
        alone = layer_alone(whole.network, p.index, min(whole.setting.fold_images(own.fp), whole.images))
        folds = own.fp, own.bp
        kind = nameless(alone), folds
        if kind in found:
            found[kind] = Alone((*found[kind].names, p.name), found[kind].network, folds)
        else:
            found[kind] = Alone((p.name,), alone, folds)
    return [*found.values()]


def compile_alone(alone: Alone, config: EngineConfig) -> CompiledNetwork:
    """The network of a layer alone. Raises NetworkError where it has other folds there than in the whole one."""
    compiled = compile_network(alone.network, config)
    (p,) = (p for p in compiled.network.parameters if p.name == alone.name)
    own = compiled.memory.folds[p.index]
    if (own.fp, own.bp) != alone.folds:
        folds = "folds {} and {}, in the whole network {} and {}".format(own.fp, own.bp, *alone.folds)
        raise NetworkError("layer", f"alone it has {folds}", "another minibatch", p.layer, p.name)
    return compiled


def measure(
    alone: Alone, config: EngineConfig, iterations: int, seed: int, say: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(report of the whole run as `bench.measure` gives it, what is kept of it) of a layer alone."""
    train = compile_alone(alone, config).train
    expected = shares(train.ops, dict(enumerate(train.timeline)), train.cycles)[alone.name]
    found, events, ops = bench.measure(alone.network, config, Memory(), None, iterations, seed, say)
    own = shares(ops, bench.spans_of(events, ops), found["cycles"])[alone.name]
    kept = {key: found[key] for key in ("differing_words", "words_compared", "iterations")}
    return found, {"shares": own, "expected": expected, "run_cycles": found["cycles"]} | kept


def stored(figures: Path = FIGURES) -> dict[str, Any]:
    """The figures by table."""
    known: dict[str, Any] = json.loads(figures.read_text()) if figures.exists() else {}
    return known


def store_plan(key: str, expected: float, layers: list[Alone], figures: Path = FIGURES) -> dict[str, Any]:
    """Keep the layers of a table and the expected cycles per image of the whole network; what was measured of layers
    that are as they were stays. Returns the table."""
    known = stored(figures)
    old = known.get(key, {"layers": {}})["layers"]
    rows = {}
    for alone in layers:
        before = old.get(alone.name, {})
        same = alone.plan == {name: before.get(name) for name in alone.plan}
        rows[alone.name] = alone.plan | {"run": before.get("run") if same else None}
    known[key] = {"expected_cycles_per_image": expected, "layers": rows}
    write_json(figures, dict(sorted(known.items())))
    table: dict[str, Any] = known[key]
    return table


def store_run(key: str, name: str, run: dict[str, Any], figures: Path = FIGURES) -> dict[str, Any]:
    """Keep what was measured of a layer. Returns the table."""
    known = stored(figures)
    known[key]["layers"][name]["run"] = run
    write_json(figures, known)
    table: dict[str, Any] = known[key]
    return table


def total(table: Mapping[str, Any]) -> float | None:
    """Cycles per image of all layers of a table; None where some are not measured."""
    rows = table["layers"].values()
    if any(row["run"] is None for row in rows):
        return None
    return float(sum(len(row["names"]) * sum(row["run"]["shares"].values()) / row["images"] for row in rows))


def table_lines(key: str, table: Mapping[str, Any]) -> list[str]:
    """A table in Markdown."""
    lines = [
        f"| {key} | {' | '.join(SHARES)} | cycles per image | estimate | deviation | differing words |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in table["layers"].values():
        name = f"{', '.join(row['names'])}: {row['images']} images"
        run, nothing = row["run"], " | " * (len(SHARES) + 3)
        if run is None:
            lines.append(f"| {name} | not measured{nothing}|")
            continue
        cycles, expected = (sum(run[kind].values()) / row["images"] for kind in ("shares", "expected"))
        own = [f"{n / row['images']:,.0f}" if n or s in row["passes"] else "" for s, n in run["shares"].items()]
        lines.append(
            f"| {name} | {' | '.join(own)} | {cycles:,.0f} | {expected:,.0f} "
            f"| {100 * (expected - cycles) / cycles:+.1f} % | {run['differing_words']} of {run['words_compared']:,} |"
        )
    cycles, expected = total(table), table["expected_cycles_per_image"]
    result = f"not given: layers are not measured | {expected:,.0f} | | |"
    if cycles is not None:
        result = f"{cycles:,.0f} | {expected:,.0f} | {100 * (expected - cycles) / cycles:+.1f} % | |"
    return [*lines, f"| **sum; estimate of the whole network** {'| ' * len(SHARES)}| {result}"]


def page_lines(known: Mapping[str, Any]) -> list[str]:
    """The section of the page with the tables."""
    lines = [
        "",
        "## Layer by layer",
        "",
        "Each layer of a network alone on the RTL, in the folds that it has in the whole one with that minibatch, with "
        "as many images as fill the lanes in",
        "its fold, at most the minibatch. It stands in the smallest network that gives it its passes: before it the "
        "layer that is there in the whole one, 1x1 of 16",
        "input maps, behind it those that make the maps smaller, of 16 maps; poolings and dropouts stay. Each cycle of "
        "the run belongs to one layer. The table",
        "counts those of the layer: FP, BP, WU from the end of the COMPUTE before to the end of its own, waits "
        "included; VECTOR (poolings by windows, indices) and UPDATE the",
        "cycles in which the array, whichever layer's, waited for one of this layer. The other layers of the run are "
        "shorter than in the whole",
        "network and cover less, so the sum rather has too many cycles. The estimate of a layer is the compiler's of "
        "the same run, that beside the sum the",
        "one of the whole network with that minibatch. Layers that are equal are measured once and counted as often as "
        "they occur. Weights are",
        "loaded and updated once per run: with fewer images than the minibatch they cost more per image. Memory as "
        "above. Written by",
        "`python -m gradcore bench alexnet --by-layers --cols 64`, which measures what is missing; with `--only fc8` "
        "that layer, again too.",
    ]
    for key, table in known.items():
        lines += ["", *table_lines(key, table)]
    return lines
