# SPDX-License-Identifier: Apache-2.0
"""The tensors of a network with their places in DRAM and in the gate buffer."""

from dataclasses import dataclass

from gradcore.compiler.folds import LayerFolds, choose_folds
from gradcore.compiler.limits import CompileError
from gradcore.isa.config import EngineConfig
from gradcore.isa.fold import MapLayout, RowLayout, ceil_div, round_up

ALIGN = 64  # every tensor starts at a multiple of this (doc/instructions.md, "Memory layout")
FIXED, IMAGES, TARGETS = 0, 1, 2  # BASE registers: everything that stays, images and targets of the minibatch


@dataclass(frozen=True)
class Tile:
    """Image groups of a tensor in a buffer: strides in vectors."""

    fold: int
    channels: int
    rows: int
    columns: int
    groups: int = 1

    @property
    def stride_x(self) -> int:
        return self.channels

    @property
    def stride_y(self) -> int:
        return self.columns * self.channels

    @property
    def stride_b(self) -> int:
        return self.rows * self.columns * self.channels

    @property
    def size(self) -> int:
        return self.groups * self.stride_b


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
    unless WU takes it unfolded), delta[l] the stored local gradient at layer l's output, weight and momentum per layer,
    gate[l] = (first vector, tile) or None, target_gate = first vector; size: bytes behind BASE0.
    """

    folds: tuple
    images: MapTensor
    act: tuple
    delta: tuple
    weight: tuple
    momentum: tuple
    target: MapTensor
    gate: tuple
    target_gate: int
    gate_vectors: int
    size: int

    def tensors(self) -> list:
        """All DRAM tensors by address, those behind BASE0 first."""
        maps = [t for t in (*self.act, *self.delta, self.target)]
        plain = [self.images] if self.images is not self.act[0] else []
        return sorted(
            [*self.weight, *self.momentum, *plain, *maps], key=lambda t: (getattr(t, "base_sel", FIXED), t.addr)
        )


def _tile(layout: MapLayout) -> Tile:
    return Tile(layout.fold, layout.channels, layout.rows, layout.columns)


def _delta_tile(layout: MapLayout, folds: LayerFolds, shape: tuple, top: int) -> Tile:
    """Tile of a pooled layer's local gradient: what up-sampling writes, and at least the whole map, so that the gate
    fits it."""
    py = 1 << folds.delta
    rows, columns = ceil_div(shape[1], py), ceil_div(shape[2], py)
    if folds.delta_dram == top:
        return Tile(top, shape[0], max(rows, 2 * layout.rows), max(columns, 2 * layout.columns))
    return Tile(folds.delta, shape[0], max(rows, layout.rows), max(columns, layout.columns), 4)


def memory_map(network, layers, config: EngineConfig, images: int, floors=None) -> MemoryMap:
    """Folds, DRAM addresses and gate places of `network`, computed as `layers`, for minibatches of `images`."""
    folds = choose_folds(layers, config.grid, images, floors)
    at = 0

    def place(size: int) -> int:
        nonlocal at
        start, at = at, round_up(at + size, ALIGN)
        return start

    def layout(fold, shape):
        return MapLayout(config.grid, fold, images, *shape, config.word_bytes, config.mem_bytes)

    rows = [
        RowLayout(
            config.cols,
            p.weight_shape[0],
            p.weight_shape[1],
            p.weight_shape[2:],
            p.bias,
            config.word_bytes,
            config.mem_bytes,
        )
        for p in network.parameters
    ]
    weight = tuple(RowTensor(f"{p.name}.weight", r, place(r.size)) for p, r in zip(layers, rows))
    momentum = tuple(RowTensor(f"{p.name}.momentum", r, place(r.size)) for p, r in zip(layers, rows))

    shape = network.parameters[0].in_shape
    first = layout(folds[0].fp, shape)
    plain = MapTensor("images", first, IMAGES, 0, _tile(first))
    act = [plain]
    if layers[0].in_shape != shape:
        wide = layout(folds[0].fp, layers[0].in_shape)
        act = [MapTensor("images.unfolded", wide, IMAGES, round_up(first.size, ALIGN), _tile(wide))]
    for p, after in zip(layers, [*folds[1:], folds[-1]]):
        own = layout(after.fp, p.out_shape)
        act.append(MapTensor(f"{p.name}.act", own, FIXED, place(own.size), _tile(own)))
    delta = []
    for p, own_folds in zip(layers, folds):
        own = layout(own_folds.delta_dram, p.out_shape)
        tile = _delta_tile(own, own_folds, p.conv_shape, config.log_grid) if p.pool else _tile(own)
        delta.append(MapTensor(f"{p.name}.delta", own, FIXED, place(own.size), tile, bool(p.pool)))
    bits = layout(folds[-1].fp, layers[-1].out_shape)
    target = MapTensor("targets", bits, TARGETS, 0, _tile(bits))

    gate, gates = [], 0
    for index, (p, tensor) in enumerate(zip(layers, delta)):
        if index == len(layers) - 1 or not (p.relu or p.pool):
            gate.append(None)
            continue
        tile = Tile(tensor.tile.fold, tensor.tile.channels, tensor.tile.rows, tensor.tile.columns)
        gate.append((gates, tile))
        gates += ceil_div(images, (config.grid >> tile.fold) ** 2) * tile.size
        if gates > config.gate_depth:
            raise CompileError(
                p.name, f"gate vectors of a minibatch of {images}, up to this layer", gates, config.gate_depth
            )
    target_gate = gates
    gates += bits.groups * bits.group_vectors
    if gates > config.gate_depth:
        raise CompileError(
            layers[-1].name, f"gate vectors of a minibatch of {images}, with the targets", gates, config.gate_depth
        )
    return MemoryMap(
        tuple(folds), plain, tuple(act), tuple(delta), weight, momentum, target, tuple(gate), target_gate, gates, at
    )
