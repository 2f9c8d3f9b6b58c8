# SPDX-License-Identifier: Apache-2.0
"""A network layer by layer: each alone, in the folds of the whole one, with as many images as fill the lanes there; the
sum beside the estimate of the whole one."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gradcore.compiler.compile import compile_network
from gradcore.compiler.compiled import CompiledNetwork
from gradcore.files.atomic import write_json
from gradcore.files.places import ROOT
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.network.layer_alone import layer_alone, nameless
from gradcore.ops.checks import NetworkError
from gradcore.report import bench
from gradcore.report.shares import SHARES, shares
from gradcore.sim.backend import Memory

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

    def equals(self, other: "Alone") -> bool:
        """Is it the same but for the names?"""
        return self.folds == other.folds and nameless(self.network) == nameless(other.network)


def key_of(network: str, preset: str, minibatch: int) -> str:
    """Name of a table."""
    return f"{network}/{preset}/{minibatch}"


def take_apart(whole: CompiledNetwork) -> list[Alone]:
    """The layers of a network, those that are equal once. Raises NetworkError where it is no chain."""
    found: list[Alone] = []
    for p, own in zip(whole.network.parameters, whole.memory.folds):
        images = min(whole.setting.fold_images(own.fp), whole.images)
        one = Alone((p.name,), layer_alone(whole.network, p.index, images), (own.fp, own.bp))
        equal = (k for k, other in enumerate(found) if other.equals(one))
        if (place := next(equal, None)) is None:
            found.append(one)
        else:
            found[place] = replace(found[place], names=(*found[place].names, p.name))
    return found


def compile_alone(alone: Alone, config: EngineConfig) -> CompiledNetwork:
    """The network of a layer alone. Raises NetworkError where it has other folds there than in the whole one."""
    compiled = compile_network(alone.network, config)
    (p,) = (p for p in compiled.network.parameters if p.name == alone.name)
    own = compiled.memory.folds[p.index]
    if (own.fp, own.bp) != alone.folds:
        folds = "folds {} and {}, in the whole network {} and {}".format(own.fp, own.bp, *alone.folds)
        raise NetworkError("layer", f"alone it has {folds}", "another minibatch", p.layer, p.name)
    return compiled


def expected_shares(compiled: CompiledNetwork) -> dict[str, dict[str, int]]:
    """`shares` of a training iteration by the estimate."""
    train = compiled.train
    return shares(train.ops, dict(enumerate(train.timeline)), train.cycles)


def plan(alone: Alone, config: EngineConfig) -> dict[str, Any]:
    """What is known of a layer alone before it is measured."""
    compiled = compile_alone(alone, config)
    (p,) = (p for p in compiled.network.parameters if p.name == alone.name)
    has = {"FP": True, "BP": p.shift_bp is not None, "WU": p.trainable}
    return {
        "names": [*alone.names],
        "images": compiled.images,
        "folds": [*alone.folds],
        "passes": [step for step in bench.PASSES if has[step]],
        "expected": expected_shares(compiled)[alone.name],
    }


def measure(
    alone: Alone, config: EngineConfig, iterations: int, seed: int, say: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(report of the whole run as `bench.measure` gives it, what is kept of it) of a layer alone."""
    found, events, ops = bench.measure(alone.network, config, Memory(), None, iterations, seed, say)
    own = shares(ops, bench.spans_of(events, ops), found["cycles"])[alone.name]
    kept = {key: found[key] for key in ("differing_words", "words_compared", "iterations")}
    return found, {"shares": own, "run_cycles": found["cycles"]} | kept


def stored() -> dict[str, Any]:
    """The figures by table."""
    known: dict[str, Any] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    return known


def store_plans(key: str, whole: CompiledNetwork, plans: list[dict[str, Any]]) -> dict[str, Any]:
    """Keep the plans of a table and what the whole network is expected to take; what was measured of layers whose plan
    is what it was stays. Returns the table."""
    known = stored()
    old = known.get(key, {"layers": {}})["layers"]
    expected = expected_shares(whole).values()
    rows = {}
    for own in plans:
        name = own["names"][0]
        before = dict(old.get(name, {}))
        run = before.pop("run", None)
        rows[name] = own | {"run": run if own == before else None}
    known[key] = {
        "minibatch": whole.images,
        "expected": {share: sum(layer[share] for layer in expected) for share in SHARES},
        "layers": rows,
    }
    write_json(FIGURES, dict(sorted(known.items())))
    table: dict[str, Any] = known[key]
    return table


def store_run(key: str, name: str, run: dict[str, Any]) -> dict[str, Any]:
    """Keep what was measured of a layer. Returns the table."""
    known = stored()
    known[key]["layers"][name]["run"] = run
    write_json(FIGURES, known)
    table: dict[str, Any] = known[key]
    return table


def per_image(cycles: Mapping[str, int], images: int, minibatch: int) -> dict[str, float]:
    """Shares per image of a run of `images`. A minibatch has one UPDATE, however many images a run has."""
    return {share: n / (minibatch if share == "UPDATE" else images) for share, n in cycles.items()}


def sums(table: Mapping[str, Any]) -> dict[str, float] | None:
    """Shares per image of all layers of a table together; None where some are not measured."""
    found = dict.fromkeys(SHARES, 0.0)
    for row in table["layers"].values():
        if row["run"] is None:
            return None
        for share, cycles in per_image(row["run"]["shares"], row["images"], table["minibatch"]).items():
            found[share] += len(row["names"]) * cycles
    return found


def table_lines(key: str, table: Mapping[str, Any]) -> list[str]:
    """A table in Markdown, with its heading."""
    minibatch, empty = table["minibatch"], " |" * len(SHARES)
    lines = [
        f"### {key}",
        "",
        f"| layers: images | {' | '.join(SHARES)} | cycles per image | estimate | deviation | differing words |",
        "|---|" + "--:|" * (len(SHARES) + 4),
    ]
    for row in table["layers"].values():
        run, name = row["run"], f"{', '.join(row['names'])}: {row['images']}"
        expected = per_image(row["expected"], row["images"], minibatch).values()
        if run is None:
            lines.append(f"| {name} |{empty} not measured | {sum(expected):,.0f} | | |")
            continue
        own = per_image(run["shares"], row["images"], minibatch)
        words = f"{run['differing_words']} of {run['words_compared']:,}"
        lines.append(f"| {name} | {_cells(own)} | {_against(own.values(), expected)} | {words} |")
    whole, total = per_image(table["expected"], minibatch, minibatch), sums(table)
    lines.append(f"| **the whole network, by estimate** | {_cells(whole)} | | {sum(whole.values()):,.0f} | | |")
    if total is None:
        return [*lines, f"| **sum of the layers** |{empty} not given: some are not measured | | | |"]
    lines.append(f"| **sum of the layers** | {_cells(total)} | {_against(total.values(), whole.values())} | |")
    covered = ([n for share, n in kind.items() if share != "UPDATE"] for kind in (total, whole))
    return [*lines, f"| **the same without UPDATE** |{empty} {_against(*covered)} | |"]


def _cells(cycles: Mapping[str, float]) -> str:
    return " | ".join(f"{n:,.0f}" if n else "" for n in cycles.values())


def _against(measured: Iterable[float], expected: Iterable[float]) -> str:
    """Cells of cycles per image, of what was expected, and of the deviation."""
    found, other = sum(measured), sum(expected)
    return f"{found:,.0f} | {other:,.0f} | {100 * (other - found) / found:+.1f} %"


def page_lines(known: Mapping[str, Any]) -> list[str]:
    """The section of the page with the tables."""
    lines = [
        "",
        "## Layer by layer",
        "",
        "The layers of a network, each alone on the RTL: in the folds that it has in the whole one with the table's "
        "minibatch, with as many images as fill the lanes",
        "in its fold, at most that minibatch. It stands in the smallest network that gives it its passes: before it "
        "the layer that is there in the whole one, 1x1 of 16",
        "input maps, behind it those that make the maps smaller, of 16 maps, all with their poolings and dropouts. "
        "Layers that are equal are measured once and",
        "counted as often as they occur. Memory as above. Written by "
        "`python -m gradcore bench vgg16 --by-layers --cols 16`, which measures",
        "what is missing, also where the compiler now gives another program, and keeps each figure at once; with "
        "`--only fc17` that layer, again if need be.",
        "",
        "Every cycle of a run belongs to one layer, those of the named one count. FP, BP, WU: from the end of the "
        "COMPUTE before to the end of its own, with all waits",
        "but those for a VECTOR or an UPDATE, which belong to the layer of that one, whichever layer's COMPUTE waited. "
        "VECTOR (pooling by windows) and UPDATE are so",
        "what nothing covers. All is per image of the run, but UPDATE per image of the minibatch, which has one. "
        "Alone, a layer has little beside it that covers",
        "its UPDATE; in the whole network that runs beside the passes of the layers before. The sum has what that "
        "would hide, and the one without UPDATE",
        "shows how much it is. A layer's estimate is the compiler's of the same run, counted alike; the whole "
        "network's is that with the table's minibatch.",
    ]
    for key, table in known.items():
        lines += ["", *table_lines(key, table)]
    return lines
