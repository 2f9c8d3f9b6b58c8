# SPDX-License-Identifier: Apache-2.0
"""Layers in strips, from DRAM to DRAM: what the three passes share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from gradcore.compiler.body import Body
from gradcore.compiler.folds import delta_shape
from gradcore.compiler.limits import CompileError
from gradcore.compiler.memory_map import MapTensor, Tile
from gradcore.compiler.operation import Place
from gradcore.compiler.parts import Need
from gradcore.compiler.pieces import SPARE, Piece, load_piece, store_piece
from gradcore.compiler.rings import Region, Ring, ranges
from gradcore.compiler.setting import Setting
from gradcore.compiler.strips import Axis, Demand, Strips, fits_twice
from gradcore.compiler.tuples import Area, Span
from gradcore.isa.instruction import GATE_BUFFER
from gradcore.network.weighted_layer import LayerParameters


def plain_axes(tensor: MapTensor) -> list[Axis]:
    """Axes of rows and columns of a tensor whose pixels are those computed."""
    layout = tensor.layout
    return [Axis(size, 1 << layout.fold) for size in (layout.height, layout.width)]


@dataclass
class Source:
    """A tensor that comes in strips through a ring in an operand buffer; up-sampled and scaled by `gate` if it is a
    pooled delta. `axes`: what a computed pixel needs of it. `single`: of the image groups that up-sampling makes of one
    only that which is needed is kept, so each is loaded by itself. batch: image groups in DRAM that one LOAD brings.
    before: maps of the tensor before those of the group of a convolution that reads it. home: the address at which
    what it loads begins, each time, if it has a place of its own."""

    body: Body
    index: int
    tensor: MapTensor
    ring: Ring
    axes: list[Axis]
    stages: tuple[int, ...] = ()
    gate: MapTensor | None = None
    gates: Region | None = None
    single: bool = False
    batch: int = 1
    before: int = 0
    home: int | None = None

    @property
    def images(self) -> int:
        """Images that come at once."""
        setting, layout = self.body.setting, self.tensor.layout
        return setting.fold_images(self.fold) if self.single else self.batch * layout.group_images

    @property
    def fold(self) -> int:
        return self.tensor.tile.fold

    @property
    def _twice(self) -> int:
        """Block rows in the buffer that come of one in DRAM."""
        return 1 + (self.tensor.upsample and self.tensor.layout.fold == self.body.setting.config.log_grid)

    @property
    def quarters(self) -> bool:
        """Does one image group in DRAM become four in the buffer?"""
        return self.tensor.upsample and self._twice == 1

    @property
    def _groups(self) -> int:
        """Image groups in the buffer that come at once."""
        return 1 if self.single else self.batch * (4 if self.quarters else 1)

    def channels(self, maps: Span) -> Span:
        """Stored channels of maps (first, end): what fills up the unit belongs to the last."""
        layout, first, end = self.tensor.layout, maps[0] + self.before, maps[1] + self.before
        return first, end if end < layout.channels or layout.scattered else layout.pitch

    def demands(self, maps: Span) -> list[Demand]:
        """What a strip takes."""
        first, end = self.channels(maps)
        vectors, config = self._groups * (end - first), self.body.setting.config
        rows, columns = self.axes
        found = [
            Demand(
                "vectors of what a strip reads",
                config.act_depth,
                vectors,
                rows,
                columns,
                True,
                self._twice == 2,
                self.stages,
                SPARE * self.single,
            )
        ]
        if self.gate:
            assert self.gates
            depth = self.gates.end - self.gates.first
            found.append(
                Demand("gate vectors of a strip", depth, vectors, rows, columns, False, self._twice == 2, self.stages)
            )
        return found

    def needs(self, shape: tuple[int, int], block: int, maps: Span) -> list[Need]:
        """What one block of a map of `shape` pixels needs, of maps (first, end)."""
        pixels = [[(at, min(at + block, size)) for at in range(0, size, block)] for size in shape]
        found = []
        for demand in self.demands(maps):
            spans = [demand.spans((rows, columns)) for rows, columns in zip_longest(*pixels, fillvalue=(0, 1))]
            high, wide = (max(end - first for first, end in axis) for axis in zip(*spans))
            found.append(
                Need(
                    f"{demand.name} of a block", high * wide * demand.vectors + demand.spare, demand.depth, demand.ring
                )
            )
        return found

    def fitting(self, plan: Callable[[], Strips]) -> Strips:
        """What plan() finds, with a single image group at a time where all do not fit. Raises CompileError."""
        try:
            return plan()
        except CompileError:
            self.single = self.quarters
            try:
                return plan()
            except CompileError:
                self.single = False
                raise

    def widen(self, plan: Callable[[], Strips], maps: Span, images: int) -> None:
        """Lets one LOAD bring up to `images` images, as long as the strips plan() stay as they are and two fit."""
        strips, layout, (first, end) = plan(), self.tensor.layout, self.channels(maps)
        spans = {self.demands(maps)[0].spans(strips.pixels(area))[1] for area in strips.areas()}
        if layout.groups > 1 and end - first < layout.pitch and spans != {(0, layout.columns)}:
            return  # a transfer has two loops around its runs
        while not self.single and 2 * self.images <= images:
            self.batch *= 2
            try:
                if plan() == strips and fits_twice(strips, self.demands(maps)):
                    continue
            except CompileError:
                pass
            self.batch //= 2
            break

    def place(self, area: Area, image: int, maps: Span) -> Place:
        """Place of the image group with `image` for an area in pixels; loads what is missing."""
        setting, layout = self.body.setting, self.tensor.layout
        demand = Demand("", 0, 0, self.axes[0], self.axes[1], pairs=self._twice == 2)
        (first, end), columns = demand.spans(area)
        channels = self.channels(maps)
        tile = Tile(self.fold, channels[1] - channels[0], 1, columns[1] - columns[0], self._groups, True)
        group = self.tensor.group(image) // self.batch * self.batch
        inside = image % (self.batch * layout.group_images) // setting.fold_images(self.fold)
        quarter = inside if self.single else None
        key, spare = (self.tensor.name, group, quarter, columns, channels, tile.size), SPARE * self.single
        if self.home is not None and key != self.ring.key:
            self.ring.begin(self.home)
        if (need := (end - first) * tile.size + spare) > self.ring.depth:
            name = setting.layers[self.index].name
            raise CompileError(name, "vectors of what a strip reads of a block", need, self.ring.depth, self.stages)
        missing = self.ring.need(key, tile.size, first, end, spare)
        if missing:
            rows, wide = ([n // self._twice for n in axis] for axis in (missing, columns))
            # Up-sampling can reach beyond the map.
            piece = Piece(
                group,
                (rows[0], min(rows[1], layout.rows)),
                (wide[0], min(wide[1], layout.columns)),
                channels,
                min(self.batch, layout.groups - group),
            )
            found = Place(
                self.ring.buffer,
                (self.ring.origin + missing[0] * tile.size) % self.ring.depth,
                tile,
                self.ring.ranges(tile.size, *missing, spare),
            )
            name = setting.layers[self.index].name
            gate = self._load_gates(name, piece, missing, tile, quarter) if self.gate else None
            self.body.ops += load_piece(setting, name, self.tensor, piece, found, gate, quarter)
        base = self.ring.origin + inside * (not self.single) * tile.stride_b - columns[0] * tile.stride_x
        return Place(self.ring.buffer, base % self.ring.depth, tile, self.ring.ranges(tile.size, first, end))

    def _load_gates(self, name: str, piece: Piece, rows: Span, tile: Tile, quarter: int | None) -> Place:
        """Gates of rows (first, end) as they lie in the buffer, of all groups that are kept of the piece."""
        assert self.gate and self.gates
        layout, size = self.gate.layout, (rows[1] - rows[0]) * tile.size
        start = self.gates.take(size)
        touched = (("gate", start, start + size),)
        columns = [n * self._twice for n in piece.columns]
        first = piece.group * (4 if self.quarters else 1) + (quarter or 0)
        joint = columns[1] - columns[0] >= layout.columns or piece.channels == (0, layout.pitch)
        each = self._groups if joint and not layout.scattered else 1
        for k in range(0, min(self._groups, layout.groups - first), each):
            part = Piece(
                first + k,
                (rows[0], min(rows[1], layout.rows)),
                (columns[0], min(columns[1], layout.columns)),
                piece.channels,
                min(each, layout.groups - first - k),
            )
            place = Place(GATE_BUFFER, start + k * tile.stride_b, tile, touched)
            self.body.ops += load_piece(self.body.setting, name, self.gate, part, place)
        return Place(GATE_BUFFER, start, tile, touched)


@dataclass
class Result:
    """A tensor that is computed in strips in an operand buffer or in the gate buffer and stored strip by strip; with
    `load` it is loaded instead (gates that scale). `axes`: what a computed pixel gives of it."""

    body: Body
    index: int
    tensor: MapTensor
    buffer: int
    region: Region
    axes: list[Axis]
    stages: tuple[int, ...] = ()
    load: bool = False
    open: dict[Piece, Place] = field(default_factory=dict)

    @property
    def images(self) -> int:
        """Images that go at once."""
        return self.tensor.layout.group_images

    def channels(self, maps: Span) -> Span:
        layout = self.tensor.layout
        return maps[0], maps[1] if maps[1] < layout.channels or layout.scattered else layout.pitch

    def demands(self, maps: Span) -> list[Demand]:
        first, end = self.channels(maps)
        depth = self.region.end - self.region.first
        name = "gate vectors of a strip" if self.buffer == GATE_BUFFER else "vectors of what a strip gives"
        rows, columns = self.axes
        return [Demand(name, depth, end - first, rows, columns, stages=self.stages)]

    def _piece(self, area: Area, image: int, maps: Span) -> Piece:
        rows, columns = (axis.span(*ends) for axis, ends in zip(self.axes, area))
        return Piece(self.tensor.group(image), rows, columns, self.channels(maps))

    def place(self, area: Area, image: int, maps: Span) -> Place:
        """Place of the image group with `image` for an area in pixels."""
        piece = self._piece(area, image, maps)
        rows, columns, channels = piece.counts
        tile = Tile(self.tensor.layout.fold, channels, rows, columns)
        if piece not in self.open:
            start = self.region.take(tile.size)
            self.open[piece] = Place(self.buffer, start, tile, ranges(self.buffer, self.region.end, start, tile.size))
            if self.load:
                name = self.body.setting.layers[self.index].name
                self.body.ops += load_piece(self.body.setting, name, self.tensor, piece, self.open[piece])
        found = self.open[piece]
        base = found.base - piece.rows[0] * tile.stride_y - piece.columns[0] * tile.stride_x
        return Place(
            self.buffer,
            base % self.body.setting.config.gate_depth
            if self.buffer == GATE_BUFFER
            else base % self.body.setting.config.act_depth,
            tile,
            found.ranges,
        )

    def finish(self, area: Area, image: int, maps: Span, after: int, urgent: bool = False) -> None:
        """STORE, unless images from `after` on belong to the same group."""
        setting = self.body.setting
        if after < setting.images and self.tensor.group(after) == self.tensor.group(image):
            return
        piece = self._piece(area, image, maps)
        place = self.open.pop(piece)
        if not self.load and not any(axis.misses(ends[0]) for axis, ends in zip(self.axes, area)):
            self.body.ops += store_piece(setting, setting.layers[self.index].name, self.tensor, piece, place, urgent)


def local_gradient(
    body: Body,
    p: LayerParameters,
    tensor: MapTensor,
    low: Sequence[int] = (0, 0),
    high: Sequence[int] = (0, 0),
    step: Sequence[int] = (1, 1),
) -> Source:
    """The local gradient `tensor` of a layer; a computed pixel needs pixels `low`..`high` from its own, which is one in
    `step`."""
    setting, index = body.setting, p.index
    axes = [Axis(size, 1 << tensor.tile.fold, *ends) for size, *ends in zip(delta_shape(p)[1:], low, high, step)]
    gate = setting.memory.spilled[index] if p.pool else None
    ring = Ring(1, setting.config.act_depth)
    stages = tuple({2 * index: 0, 2 * index + bool(p.pool): 0})
    return Source(body, index, tensor, ring, axes, stages, gate, gate_region(setting) if gate else None)


def gate_region(setting: Setting) -> Region:
    """The gate buffer behind the gates that stay."""
    return Region(setting.memory.gate_vectors, setting.config.gate_depth)
