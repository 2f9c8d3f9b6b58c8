# SPDX-License-Identifier: Apache-2.0
"""The tensors of a network with their places in DRAM and in the gate buffer."""

from dataclasses import dataclass, replace

from gradcore.compiler.choices import Choices
from gradcore.compiler.folds import LayerFolds, alike, choose_folds
from gradcore.compiler.limits import CompileError
from gradcore.compiler.stages import StepPlace, TableTensor, Tensors, place_steps, place_tables
from gradcore.compiler.tiles import row_layout
from gradcore.compiler.tuples import Layers
from gradcore.compiler.unfold import backward_layers
from gradcore.isa.config import EngineConfig
from gradcore.isa.fold import GateLayout, MapLayout, RowLayout, ceil_div, round_up
from gradcore.network.description import Network
from gradcore.ops.activation import Relu
from gradcore.ops.layer import Shape
from gradcore.ops.loss import SOFTMAX

ALIGN = 64  # every tensor starts at a multiple of this (doc/instructions.md, "Memory layout")
FIXED, IMAGES, TARGETS = 0, 1, 2  # BASE registers: everything that stays, images and targets of the minibatch


@dataclass(frozen=True)
class Tile:
    """Image groups of a tensor in a buffer: strides in vectors. Groups follow each other, or (`beside`) their block
    rows stand side by side."""

    fold: int
    channels: int
    rows: int
    columns: int
    groups: int = 1
    beside: bool = False

    @property
    def stride_x(self) -> int:
        return self.channels

    @property
    def stride_y(self) -> int:
        return self.columns * self.channels * (self.groups if self.beside else 1)

    @property
    def stride_b(self) -> int:
        return self.columns * self.channels * (1 if self.beside else self.rows)

    @property
    def size(self) -> int:
        return self.groups * self.rows * self.columns * self.channels


@dataclass(frozen=True)
class MapTensor:
    """An activation or delta tensor: its layout in DRAM, its place there and its tile in an operand buffer."""

    name: str
    layout: MapLayout
    base_sel: int
    addr: int
    tile: Tile
    upsample: bool = False

    @property
    def end(self) -> int:
        return self.addr + self.layout.size

    def group(self, image: int) -> int:
        """Image group in DRAM."""
        return image // self.layout.group_images

    def tile_offset(self, image: int) -> int:
        """Vectors from the start of the tile to the image group with `image` in the fold of the tile."""
        inner = (self.layout.grid >> self.tile.fold) ** 2
        return (image // inner % self.tile.groups) * self.tile.stride_b


@dataclass(frozen=True)
class Gates:
    """Gates of a layer in the gate buffer: first vector, tile of one image group, groups that are there at once. Where
    those are not all, they take turns."""

    first: int
    tile: Tile
    groups: int

    @property
    def size(self) -> int:
        return self.groups * self.tile.size

    def place(self, group: int) -> int:
        """First vector of an image group."""
        return self.first + group % self.groups * self.tile.size


@dataclass(frozen=True)
class RowTensor:
    """Weights or momentum of a layer in DRAM."""

    name: str
    layout: RowLayout
    addr: int

    @property
    def end(self) -> int:
        return self.addr + self.layout.size


@dataclass(frozen=True)
class MemoryMap:
    """Everything in DRAM and in the gate buffer. Addresses are relative to the BASE register of the tensor.

    images is what the forward pass reads, act[l] layer l's input for WU (one more: the output; act[0] is images, too,
    unless WU alone takes it unfolded), delta[l] the stored local gradient at layer l's output, None where nobody needs
    it, weight and momentum per layer, gate[l] = `Gates` or None where strips bring their own or nobody needs them,
    target_gate = those of the targets; spilled[l] = gates in DRAM or None; size: bytes behind BASE0. out[l] is what
    COMPUTE leaves in FP, error[l] what BP of layer l leaves or None: not act[l + 1] and delta[l - 1] where there are
    stages or other readers between, stages[l] = `StepPlace`s; tables: of all stages; zeros: what a ReLU from tensor to
    tensor is compared with, or None. Of a layer behind another one with a stride act[l] is what VECTOR unfolds of
    plain[l], and spread[l] delta[l] with zeros between its pixels where BP has them; else they are the same.
    """

    folds: tuple[LayerFolds, ...]
    images: MapTensor
    act: tuple[MapTensor, ...]
    delta: tuple[MapTensor | None, ...]
    weight: tuple[RowTensor, ...]
    momentum: tuple[RowTensor, ...]
    target: MapTensor
    gate: tuple[Gates | None, ...]
    spilled: tuple[MapTensor | None, ...]
    target_gate: Gates
    gate_vectors: int
    size: int
    out: tuple[MapTensor, ...]
    error: tuple[MapTensor | None, ...]
    stages: tuple[tuple[StepPlace, ...], ...]
    tables: tuple[TableTensor, ...]
    zeros: MapTensor | None
    plain: tuple[MapTensor, ...]
    spread: tuple[MapTensor | None, ...]

    @property
    def loss_error(self) -> MapTensor:
        """The local gradient that the loss makes: behind the last layer or its last stage."""
        error = self.stages[-1][-1].error if self.stages[-1] else self.delta[-1]
        assert error is not None
        return error

    def tensors(self) -> list[MapTensor | RowTensor | TableTensor]:
        """All DRAM tensors by address, those behind BASE0 first."""
        maps = [*self.act, *(t for t in (*self.delta, *self.spilled) if t), self.target]
        plain = [self.images] if self.images is not self.act[0] else []
        every = [t for places in self.stages for place in places for t in place.tensors]
        every += [t for t in (*self.error, self.zeros, *self.plain, *self.spread) if t]
        found: list[MapTensor | RowTensor | TableTensor] = [*self.weight, *self.momentum, *self.tables, *plain, *maps]
        placed = {(t.base_sel, t.addr) for t in maps}
        found += {(t.base_sel, t.addr): t for t in every if (t.base_sel, t.addr) not in placed}.values()
        return sorted(found, key=lambda t: (getattr(t, "base_sel", FIXED), t.addr))


def _tile(layout: MapLayout) -> Tile:
    return Tile(layout.fold, layout.pitch, layout.rows, layout.columns)


def _delta_tile(layout: MapLayout, folds: LayerFolds, shape: Shape, top: int) -> Tile:
    """Tile of a pooled layer's local gradient: what up-sampling writes, and at least the whole map, so that the gate
    fits it."""
    py = 1 << folds.delta
    rows, columns = ceil_div(shape[1], py), ceil_div(shape[2], py)
    if folds.delta_dram == top:
        return Tile(top, layout.pitch, max(rows, 2 * layout.rows), max(columns, 2 * layout.columns))
    return Tile(folds.delta, layout.pitch, max(rows, layout.rows), max(columns, layout.columns), 4)


def memory_map(
    network: Network, forward: Layers, layers: Layers, config: EngineConfig, images: int, choices: Choices = Choices()
) -> MemoryMap:
    """Folds, DRAM addresses and gate places of `network`, computed as `forward` in FP and as `layers` in WU, for
    minibatches of `images`. Raises CompileError where gates that stay on chip do not fit."""
    at, strips, errors = 0, choices.strips, backward_layers(network, config.grid, images, choices.floors)
    direct = [index for index, p in enumerate(forward) if p.stride != (1, 1)]
    folds = choose_folds(layers, config.grid, images, dict(choices.floors), choices.finer, choices.flat, errors, direct)

    def place(size: int) -> int:
        nonlocal at
        start, at = at, round_up(at + size, ALIGN)
        return start

    def layout(fold: int, shape: Shape, unit: int = 1) -> MapLayout:
        return MapLayout(config.grid, fold, images, *shape, config.word_bytes, config.mem_bytes, unit)

    # What moves in pieces, or is read several times, has blocks of whole beats.
    words, bits = (max(1, config.mem_bytes // size) for size in (config.vector_bytes, config.gate_bytes))

    whole = strips | ({len(layers)} if network.loss == SOFTMAX else set())  # behind the last layer is the loss

    def unit(*users: int) -> int:
        return words if whole & {*users} else 1

    rows = [row_layout(*each, config) for each in zip(forward, network.parameters)]
    if choices.unfolded and not rows[0].dense:
        raise CompileError(layers[0].name, "rows from tap to tap", rows[0].pitch, rows[0].inputs)
    weight = tuple(RowTensor(f"{p.name}.weight", r, place(r.size)) for p, r in zip(layers, rows))
    momentum = tuple(RowTensor(f"{p.name}.momentum", r, place(r.size)) for p, r in zip(layers, rows))

    tables = place_tables(layers, config.mem_bytes, place)

    shape = forward[0].in_shape
    first = layout(folds[0].fp, shape, unit(0))
    named = "images.unfolded" if forward[0] is not network.parameters[0] else "images"
    plain = MapTensor(named, first, IMAGES, 0, _tile(first))
    act = [plain]
    if layers[0].in_shape != shape:
        wide = layout(folds[0].fp, layers[0].in_shape, unit(0))
        act = [MapTensor("images.unfolded", wide, IMAGES, round_up(first.size, ALIGN), _tile(wide))]

    groups = alike(layers)
    # What lies alike has its gates alike.
    mates = [{k for k, p in enumerate(layers) if groups.get(p.output, -1 - k) == groups.get(q.output)} for q in layers]
    scattered = choices.scattered | {k for k, own in enumerate(mates) if own & choices.scattered}

    def grain_of(index: int) -> int:
        # The gates that scale a pooled delta lie as it does.
        grains = [
            bits if layers[k].pool and k in strips - scattered else unit(k, k + 1) for k in {index} | mates[index]
        ]
        return max(grains)

    def in_dram(name: str, own: MapLayout) -> MapTensor:
        return MapTensor(name, own, FIXED, place(own.size), _tile(own))

    shapes = {p.output: p.out_shape for p in layers} | {s.name: s.shape for p in layers for s in p.stages}

    def alike_layout(tensor: str) -> MapLayout:
        return layout(folds[groups[tensor]].stored, shapes[tensor], grain_of(groups[tensor]))

    tensors = Tensors(layers, lambda name, tensor: in_dram(name, alike_layout(tensor)))
    zeros = None
    if largest := [s.name for p in layers for s in p.stages if isinstance(s.operator, Relu)]:
        # An image group, before what it is compared with.
        own = max(map(alike_layout, largest), key=lambda own: own.group_bytes)
        zeros = in_dram("zeros", replace(own, images=own.group_images))

    out = []
    for index, (p, own_folds) in enumerate(zip(layers, folds)):
        grain = unit(index, index + 1) if p.alone else grain_of(index)
        out.append(in_dram(f"{p.name}.act", layout(own_folds.stored, p.out_shape, grain)))
    delta: list[MapTensor | None] = []
    for index, (p, own_folds) in enumerate(zip(layers, folds)):
        if p.fd is None:
            delta.append(None)
            continue
        if p.alone or p.leaky or tensors.gated(p):
            placed = in_dram(f"{p.name}.delta", layout(own_folds.delta_dram, p.out_shape, grain_of(index)))
        else:
            placed = tensors.delta(p.output, p.name)
        if p.pool:
            tile = _delta_tile(placed.layout, own_folds, p.conv_shape, config.log_grid)
            placed = replace(placed, tile=tile, upsample=True)
        delta.append(placed)
        if p.alone:
            tensors.set_delta(p.output, placed)

    tensors.act |= {p.output: tensor for p, tensor in zip(layers, out)}
    stages = [place_steps(p, tensors, own, tables) for p, own in zip(layers, delta)]
    read, act, spread = [*act], [*act], [*delta]
    for p, plain_layer, back in zip(layers[1:], network.parameters[1:], errors[1:]):
        read.append(tensors.act[p.input])
        act.append(in_dram(f"{p.name}.unfolded", layout(0, p.in_shape, words)) if p is not plain_layer else read[-1])
        if back is not plain_layer and p.shift_bp is not None:
            spread[p.index] = in_dram(f"{p.name}.delta.spread", layout(0, back.out_shape, words))
    act.append(stages[-1][-1].result if stages[-1] else out[-1])
    error = [None if p.shift_bp is None else tensors.part(p.input, p.name, 0) for p in layers]
    classes = act[-1].layout
    target = MapTensor("targets", classes, TARGETS, 0, act[-1].tile)

    wanted: dict[int, tuple[Tile, int, int]] = {}
    spilled: dict[int, MapTensor] = {}
    for index, (p, tensor) in enumerate(zip(layers, delta)):
        if (index == len(layers) - 1 and not p.stages) or not p.gated or not tensor:
            continue
        users = {index} if p.pool else {index, index + 1}
        tile = Tile(tensor.tile.fold, tensor.tile.channels, tensor.tile.rows, tensor.tile.columns)
        count = least = ceil_div(images, (config.grid >> tile.fold) ** 2)
        if users <= strips or index in choices.spilled:
            grain = bits if users <= strips else 1
            share = config.cols if users <= strips and users & scattered else 0
            sizes = (config.word_bytes, config.mem_bytes, grain, share)
            own = GateLayout(config.grid, tile.fold, images, *p.conv_shape, *sizes)
            spilled[index] = MapTensor(f"{p.name}.gate", own, FIXED, place(own.size), _tile(own))
            least = tensor.tile.groups
        if not users <= strips:
            wanted[index] = tile, count, least
    for ahead in (2, 1):
        gate: dict[int, Gates] = {}
        gates = 0
        for index, (tile, count, least) in wanted.items():
            gate[index] = Gates(gates, tile, min(count, ahead * least))
            gates += gate[index].size
        target_gate = Gates(gates, target.tile, classes.groups)
        gates += target_gate.size * (len(layers) - 1 not in strips)
        if gates <= config.gate_depth:
            break
    else:
        raise _too_many_gates(layers, images, gate, spilled, gates, config)
    return MemoryMap(
        tuple(folds),
        plain,
        tuple(act),
        tuple(delta),
        weight,
        momentum,
        target,
        tuple(gate.get(index) for index in range(len(layers))),
        tuple(spilled.get(index) for index in range(len(layers))),
        target_gate,
        gates,
        at,
        tuple(out),
        tuple(error),
        tuple(stages),
        tuple(table for pair in tables.values() for table in pair),
        zeros,
        tuple(read),
        tuple(spread),
    )


def _too_many_gates(
    layers: Layers, images: int, gate: dict[int, Gates], spilled: dict[int, MapTensor], gates: int, config: EngineConfig
) -> CompileError:
    """The error that names the layer with the fewest that are enough, else with the most, if possible of those that
    keep all."""
    sizes, excess = {index: g.size for index, g in gate.items()}, gates - config.gate_depth
    sizes = {index: size for index, size in sizes.items() if index not in spilled} or sizes
    if not sizes:
        last = layers[-1]
        return CompileError(last.name, "gate vectors of the targets", gates, config.gate_depth, (), {last.index})
    index = min(sizes, key=lambda k: (sizes[k] < excess, abs(sizes[k] - excess), k))
    users = {index} if layers[index].pool else {index, index + 1}
    return CompileError(
        layers[index].name,
        f"gate vectors of a minibatch of {images}",
        gates,
        config.gate_depth,
        (2 * index + bool(layers[index].pool),) if index in spilled else (),
        users,
        None if index in spilled else index,
    )
