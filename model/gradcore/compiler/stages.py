# SPDX-License-Identifier: Apache-2.0
"""Stages behind a layer, from tensor to tensor in DRAM (doc/architecture.md, "Stages"): the steps that VECTOR does for
them, and their tensors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gradcore.compiler.tuples import Layers
from gradcore.isa.fold import round_up, to_bytes
from gradcore.network.stage import Stage
from gradcore.network.weighted_layer import Factor, LayerParameters
from gradcore.ops.activation import BITS, LeakyRelu, Relu, Table, TableActivation
from gradcore.ops.addition import Addition
from gradcore.ops.max_pooling import MaxPooling

if TYPE_CHECKING:
    from gradcore.compiler.memory_map import MapTensor

SEGMENTS, POINT_BYTES = 1024, 2  # of a table in DRAM


@dataclass(frozen=True)
class TableLayout:
    """size: bytes, whole beats."""

    size: int


@dataclass(frozen=True)
class TableTensor:
    """The points of a table in DRAM."""

    name: str
    layout: TableLayout
    addr: int
    table: Table

    @property
    def end(self) -> int:
        return self.addr + self.layout.size

    @property
    def data(self) -> np.ndarray:
        """Its bytes."""
        points = np.append(self.table.values, self.table.values[-1] + self.table.rises[-1])
        bytes_ = to_bytes(points, POINT_BYTES)
        return np.append(bytes_, np.zeros(self.layout.size - len(bytes_), np.uint8))


def place_tables(layers: Layers, beat: int, place: Callable[[int], int]) -> dict[str, tuple[TableTensor, ...]]:
    """Those of all steps behind `layers`, by name: of a function the table and that of its derivative, of a leaky ReLU
    that of half its derivative."""
    wanted: dict[str, tuple[Table, ...]] = {}
    for p in layers:
        if p.leaky:
            wanted[_leaky_name(p.leaky)] = (half_derivative(p.leaky),)
        operators = [stage.operator for stage in p.stages]
        wanted |= {one.what: one.tables for one in operators if isinstance(one, TableActivation)}
    size = round_up(POINT_BYTES * (SEGMENTS + 1), beat)
    return {
        name: tuple(
            TableTensor(f"{name}.{what}", TableLayout(size), place(size), table)
            for what, table in zip(("table", "derivative")[-len(tables) :], tables)
        )
        for name, tables in wanted.items()
    }


def _leaky_name(factor: Factor) -> str:
    assert isinstance(factor.operator, LeakyRelu)
    return f"{factor.operator.what} {factor.operator.numerator}"


def half_derivative(factor: Factor) -> Table:
    """Of a leaky ReLU, by words of its output that are so far to the left that all but zero saturate: 1 would not be a
    point of 16 bits."""
    assert isinstance(factor.operator, LeakyRelu)
    slope = factor.operator.numerator / (1 << BITS)
    return Table(lambda ends: np.where(ends > 0, 1, slope) / 2)


@dataclass(frozen=True)
class Step:
    """What is done from tensor to tensor behind a layer: a stage, or (None) what changes the local gradient alone of
    what the layer leaves: the sum of its readers' contributions, and the gate of a ReLU or the `leaky` one. relu: a
    ReLU stands before it, whose gate is in its indices."""

    stage: Stage | None
    relu: bool
    leaky: Factor | None = None

    @property
    def indexed(self) -> bool:
        """Do indices from the forward pass choose the local gradient?"""
        return self.relu if self.stage is None else isinstance(self.stage.operator, (MaxPooling, Relu))

    def backward(self, k: int) -> tuple[int, int]:
        """(shift from exact sums to words, number of the layer whose random numbers round them) of what goes back to
        source `k`. The table of a leaky ReLU holds the half of what it multiplies by."""
        if self.leaky:
            assert self.leaky.shift_bp is not None
            return self.leaky.shift_bp - 1, self.leaky.source_layer
        assert self.stage
        shift, layer = self.stage.shifts_bp[k], self.stage.source_layers[k]
        assert shift is not None and layer is not None
        return shift, layer


@dataclass(frozen=True)
class Sum:
    """An addition of contributions to a local gradient."""

    terms: tuple["MapTensor", "MapTensor"]
    result: "MapTensor"


@dataclass(frozen=True)
class StepPlace:
    """A step with its tensors: sources and result of the forward pass, indices from there to the backward pass. That
    makes the local gradient `error` behind it by the `sums`, in this order, if there are several contributions;
    `deltas` are what the step then contributes to those of the sources; None where nobody needs them, and nothing is
    done for one that is `error` itself. tables: of a function and of its derivative, the last one."""

    step: Step
    sources: "tuple[MapTensor, ...]"
    result: "MapTensor"
    indices: "MapTensor | None"
    error: "MapTensor | None"
    sums: tuple[Sum, ...]
    deltas: "tuple[MapTensor | None, ...]"
    tables: tuple[TableTensor, ...]

    @property
    def tensors(self) -> "list[MapTensor]":
        """Those that are there."""
        added = [tensor for one in self.sums for tensor in (*one.terms, one.result)]
        return [t for t in (*self.sources, self.result, self.indices, self.error, *added, *self.deltas) if t]


class Tensors:
    """Tensors between layers, by name of the network's tensor. layers: `LayerParameters`; make(name, tensor) gives a
    place to `name`, that lies as the network's tensor. act: words; parts: contributions to a local gradient as (reader,
    number of its input), from the last reader to the first; stages by name."""

    def __init__(self, layers: Layers, make: Callable[[str, str], "MapTensor"]) -> None:
        self.make, self.stages = make, dict[str, Stage]()
        self.act: dict[str, MapTensor] = {}
        self.parts: dict[str, list[tuple[str, int]]] = {}
        self._delta: dict[str, MapTensor] = {}
        self._part: dict[tuple[str, str, int], MapTensor] = {}
        for p in reversed(layers):
            for stage in reversed(p.stages):
                self.stages[stage.name] = stage
                for k, name in enumerate(stage.inputs):
                    if stage.shifts_bp[k] is not None:
                        self.parts.setdefault(name, []).append((stage.name, k))
            if p.shift_bp is not None:
                self.parts.setdefault(p.input, []).append((p.name, 0))

    def gated(self, p: LayerParameters) -> bool:
        """Must indices gate the local gradient of what a layer leaves? Those of a maximum pooling that alone reads it
        do it, if that is one of the layer's own stages and not one behind a later layer."""
        readers = [self.stages.get(reader) for reader, _ in self.parts.get(p.output, [])]
        only = readers[0] if len(readers) == 1 and readers[0] in p.stages else None
        return p.relu and not (p.alone or p.pool or (only and isinstance(only.operator, MaxPooling)))

    def delta(self, tensor: str, name: str = "") -> "MapTensor":
        """The whole local gradient of a tensor. An addition's own is the contribution to it, if nothing is shifted."""
        if tensor not in self._delta:
            parts = self.parts.get(tensor, [])
            same = [own for part in parts if (own := self._same(*part))] if len(parts) == 1 else []
            self._delta[tensor] = same[0] if same else self.make(f"{name or tensor}.delta", tensor)
        return self._delta[tensor]

    def set_delta(self, tensor: str, place: "MapTensor") -> None:
        """Says where a local gradient is."""
        self._delta[tensor] = place

    def part(self, tensor: str, reader: str, k: int) -> "MapTensor":
        """What input `k` of a reader contributes to the local gradient of a tensor."""
        if len(self.parts[tensor]) == 1:
            return self.delta(tensor)
        if (tensor, reader, k) not in self._part:
            same = self._same(reader, k)
            own = same or self.make(f"{tensor}.delta.{reader}" + f".{k}" * bool(k), tensor)
            self._part[tensor, reader, k] = own
        return self._part[tensor, reader, k]

    def sums(self, tensor: str) -> tuple[Sum, ...]:
        """The additions that give the whole local gradient of a tensor."""
        found, parts = [], self.parts.get(tensor, [])
        if len(parts) > 1:
            whole = self.part(tensor, *parts[0])
            for count, part in enumerate(parts[1:], 2):
                last = count == len(parts)
                result = self.delta(tensor) if last else self.make(f"{tensor}.delta.{count}", tensor)
                found.append(Sum((whole, self.part(tensor, *part)), result))
                whole = result
        return tuple(found)

    def _same(self, reader: str, k: int) -> "MapTensor | None":
        stage = self.stages.get(reader)
        plain = stage and isinstance(stage.operator, Addition) and stage.shifts_bp[k] == 0
        return self.delta(reader) if plain else None


def place_steps(
    p: LayerParameters, tensors: Tensors, delta: "MapTensor | None", tables: dict[str, tuple[TableTensor, ...]]
) -> tuple[StepPlace, ...]:
    """The steps behind a layer, whose local gradient is `delta`."""
    found, gated = [], delta is not None and tensors.gated(p)
    added = tensors.sums(p.output) if delta is not None and not p.alone else ()
    leaky = p.leaky if delta is not None else None
    if delta is not None and (gated or added or leaky):
        source, step = tensors.act[p.output], Step(None, gated, leaky)
        table = tables[_leaky_name(leaky)] if leaky else ()
        error = tensors.delta(p.output, f"{p.name}.relu")
        indices = tensors.make(f"{p.name}.relu.index", p.output) if gated else None
        found.append(StepPlace(step, (source,), source, indices, error, added, (delta,), table))
    for stage in p.stages:
        step = Step(stage, p.relu and not p.pool and stage.inputs == (p.output,) and not gated)
        sources = tuple(tensors.act[name] for name in stage.inputs)
        result = tensors.act[stage.name] = tensors.make(f"{stage.name}.act", stage.name)
        own, needed = tables.get(stage.operator.what, ()), any(shift is not None for shift in stage.shifts_bp)
        whole = tensors.delta(stage.name) if needed else None
        indices = tensors.make(f"{stage.name}.index", stage.name) if needed and step.indexed else None
        deltas = tuple(
            None if shift is None else tensors.part(name, stage.name, k)
            for k, (name, shift) in enumerate(zip(stage.inputs, stage.shifts_bp))
        )
        sums = tensors.sums(stage.name) if needed else ()
        found.append(StepPlace(step, sources, result, indices, whole, sums, deltas, own))
    return tuple(found)
