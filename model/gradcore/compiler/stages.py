# SPDX-License-Identifier: Apache-2.0
"""Stages behind a layer, from tensor to tensor in DRAM (doc/architecture.md, "Stages"): the steps that VECTOR does for
them, and their tensors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gradcore.isa.fold import round_up, to_bytes
from gradcore.network.stage import Stage
from gradcore.network.weighted_layer import LayerParameters
from gradcore.ops.activation import Table, TableActivation
from gradcore.ops.layer import Shape
from gradcore.ops.max_pooling import MaxPooling

if TYPE_CHECKING:
    from gradcore.compiler.memory_map import MapTensor

SEGMENTS, POINT_BYTES = 1024, 2  # of a table in DRAM


@dataclass(frozen=True)
class Step:
    """What takes one tensor to the next: a stage, or (None) the gate of a ReLU before the stages, which changes the
    local gradient alone. relu: a ReLU stands before it, whose gate is in its indices."""

    stage: Stage | None
    in_shape: Shape
    shape: Shape
    relu: bool

    @property
    def indexed(self) -> bool:
        """Do indices from the forward pass choose the local gradient?"""
        return self.stage is None or isinstance(self.stage.operator, MaxPooling)


def steps(p: LayerParameters) -> list[Step]:
    """Those behind a layer. A ReLU with a pooling of its own has its gates as everywhere."""
    relu, found = p.relu and not p.pool, []
    if relu and p.stages and not isinstance(p.stages[0].operator, MaxPooling):
        found, relu = [Step(None, p.out_shape, p.out_shape, True)], False
    return found + [Step(stage, stage.in_shape, stage.shape, relu and not k) for k, stage in enumerate(p.stages)]


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


def place_tables(layers: tuple, beat: int, place: Callable[[int], int]) -> dict:
    """(table of the function, table of its derivative) by kind, for all stages behind `layers`."""
    found: dict[str, tuple[TableTensor, ...]] = {}
    for operator in (stage.operator for p in layers for stage in p.stages):
        if isinstance(operator, TableActivation) and operator.what not in found:
            size = round_up(POINT_BYTES * (SEGMENTS + 1), beat)
            found[operator.what] = tuple(
                TableTensor(f"{operator.what}.{what}", TableLayout(size), place(size), table)
                for what, table in zip(("table", "derivative"), operator.tables)
            )
    return found


@dataclass(frozen=True)
class StepPlace:
    """A step with its tensors: source and result of the forward pass, indices from there to the backward pass, which
    takes the local gradient `error` behind it to `delta` before it; None where nobody needs them. tables: of a function
    and of its derivative."""

    step: Step
    source: "MapTensor"
    result: "MapTensor"
    indices: "MapTensor | None"
    error: "MapTensor | None"
    delta: "MapTensor | None"
    tables: tuple


def place_steps(
    p: LayerParameters,
    source: "MapTensor",
    delta: "MapTensor | None",
    tables: dict,
    tensor: Callable[[str, Shape], "MapTensor"],
) -> tuple[StepPlace, ...]:
    """The steps behind a layer that leaves `source` and reads `delta`; tensor(name, shape) makes one."""
    found = []
    for step in steps(p):
        name = step.stage.name if step.stage else f"{p.name}.relu"
        result = tensor(f"{name}.act", step.shape) if step.stage else source
        error = delta and tensor(f"{name}.delta", step.shape)
        indices = tensor(f"{name}.index", step.shape) if delta and step.indexed else None
        own = tables.get(step.stage.operator.what, ()) if step.stage else ()
        found.append(StepPlace(step, source, result, indices, error, delta, own))
        source, delta = result, error
    return tuple(found)
