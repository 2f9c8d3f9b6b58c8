# SPDX-License-Identifier: Apache-2.0
"""Rows of weights of a layer that is computed from DRAM to DRAM: a tile of them at once, or part by part."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from gradcore.compiler.body import Body
from gradcore.compiler.limits import CompileError
from gradcore.compiler.map_groups import MapGroup
from gradcore.compiler.memory_map import MapTensor
from gradcore.compiler.operands import splits
from gradcore.compiler.operation import Part, Rows
from gradcore.compiler.rings import Region
from gradcore.compiler.setting import Setting
from gradcore.compiler.strips import Strips
from gradcore.compiler.tiles import input_tiles, output_tiles
from gradcore.compiler.transfers import load_bias, load_rows
from gradcore.compiler.tuples import Fields, Span
from gradcore.isa.config import EngineConfig
from gradcore.isa.fold import RowLayout, ceil_div


def other_banks(setting: Setting, index: int) -> bool:
    """Are rows of the weights of a layer in other banks for BP than for FP, which has all taps as input maps?"""
    layout = setting.memory.weight[index].layout
    return layout.taps != (1, 1) and setting.has_errors(index) and layout.weight_shape[0] % layout.cols > 0


@dataclass
class _Weights:
    """What both passes share. Maps are those of one group of a convolution. held: the maps whose rows are there, and
    where."""

    body: Body
    index: int
    group: MapGroup
    held: tuple[Span, Rows] | None = None

    @property
    def region(self) -> Region:
        return self.body.weights

    @property
    def own(self) -> bool:
        """Has the layer rows of the weight buffer for itself?"""
        return bool(self.body.weight_rows[self.index])

    @cached_property
    def layout(self) -> RowLayout:
        return replace(self.body.setting.memory.weight[self.index].layout, outputs=self.group.sizes[0])

    @cached_property
    def before(self) -> int:
        """Output groups of COLS before those of the group."""
        return self.group.number * self.layout.groups

    def _own(self) -> Rows:
        """The rows that the layer has for itself."""
        rows, before = self.body.need_weights(self.index), self.before
        return Rows(rows.base + before * self.layout.inner, rows.bias_base + before * self.layout.bias, rows.end)

    def _cut(self, cut: Callable[[EngineConfig, RowLayout, int, int], list[Span]], share: int = 1) -> list[Span]:
        """Tiles of which `share` fit; rows that do not follow each other come part by part."""
        return cut(self.body.setting.config, self.layout, self.region.end, share) if self.layout.dense else []

    def _load(self, row: int, outer: int, inner: int, base: int, runs: tuple[int, int] | None = None) -> None:
        """LOADW of outer x inner rows from a row as it lies in DRAM."""
        offset = (self.before * self.layout.outer + row) * self.layout.row_bytes
        self.body.ops.append(load_rows(self.body.setting, self.index, "weights", offset, outer, inner, base, runs))


class ForwardWeights(_Weights):
    """Rows of output maps."""

    @cached_property
    def _tiles(self) -> list[Span]:
        """Tiles, two at once on chip if possible; none where rows come part by part."""
        if self.own:
            return [(0, self.layout.outputs)]
        return self._cut(output_tiles, 2) or self._cut(output_tiles)

    def tiles(self, strips: Callable[[list[Span]], Strips], taken: MapTensor) -> tuple[list[Span], bool]:
        """(tiles, whether each is taken through all images before the next). The alternative loads all tiles for each
        strip, which reads the input once. Raises CompileError where not even one group fits."""
        setting, index, layout = self.body.setting, self.index, self.layout
        tiles = self._tiles if self.own else self._cut(output_tiles)
        if not tiles:
            raise CompileError(setting.layers[index].name, "weight rows", layout.inner + 1, self.region.end)
        if len(tiles) == 1:
            return tiles, True
        again = len(tiles) * taken.layout.size
        visits = len(strips(tiles).areas()) * -(-setting.images // setting.group_images(index))
        by_weights = again + layout.size <= taken.layout.size + visits * layout.size
        return self._tiles, by_weights

    def need(self, maps: Span) -> Rows:
        """LOADW of the tile of some output maps unless it is there."""
        if self.own:
            return self._own()
        if self.held and self.held[0] == maps:
            return self.held[1]
        setting, layout, cols = self.body.setting, self.layout, self.body.setting.config.cols
        first, groups = maps[0] // cols, ceil_div(maps[1] - maps[0], cols)
        count, align = groups * layout.inner, setting.config.lanes if splits(setting, self.index) else 1
        base = self.region.take(count + groups * layout.bias, align)
        self._load(first * layout.inner, count // layout.inputs, layout.inputs, base)
        if layout.bias:
            self.body.ops += load_bias(setting, self.index, (self.before + first, groups), base + count)
        self.held = maps, Rows(base, base + count, base + count + groups * layout.bias)
        return self.held[1]

    def of_part(self, part: Part) -> int:
        """Rows that a part takes for itself, of one column group."""
        return 0 if self._tiles else part.count + self.layout.bias

    def part(self, part: Part, maps: Span) -> tuple[Rows, Fields]:
        """(rows, strides) of a part for one column group of output maps; the bias comes with the last part."""
        layout, cols, tap = self.layout, self.body.setting.config.cols, self.layout.inputs
        group, (ky, kx) = maps[0] // cols, (part.rows[0], part.columns[0])
        for tile in self._tiles:
            if tile[0] <= maps[0] < tile[1]:
                rows, at = self.need(tile), group - tile[0] // cols
                base = rows.base + at * layout.inner + (ky * layout.kernel[1] + kx) * tap + part.channels[0]
                return Rows(base, rows.bias_base + at, rows.end), _strides(layout.kernel[1] * tap, tap, cols)
        tap = part.channels[1] - part.channels[0]
        bias = layout.bias and part.last
        base = at = self.region.take(part.count + bias)
        for ky, kx in part.places():
            for row, _, number in layout.runs(ky * layout.kernel[1] + kx, part.channels):
                self._load(group * layout.outer + row, 1, number, at)
                at += number
        if bias:
            self.body.ops += load_bias(self.body.setting, self.index, (self.before + group, 1), at)
        return Rows(base, at, at + bias), _strides(part.columns[1] * tap, tap, cols)


@dataclass
class BackwardWeights(_Weights):
    """Rows of input maps, of all output groups. newest: the part that came last and for which maps, and where it is."""

    newest: tuple[Part, Span, Rows, Fields] | None = None

    @cached_property
    def layout(self) -> RowLayout:
        return replace(self.body.setting.memory.weight[self.index].layout.by_taps, outputs=self.group.sizes[0])

    @cached_property
    def _tiles(self) -> list[Span]:
        """Tiles, two at once on chip if possible; none where rows come part by part."""
        if self.own:
            return [(0, self.layout.inputs)]
        whole = self._cut(input_tiles)
        return whole if len(whole) == 1 else self._cut(input_tiles, 2) or whole

    def tiles(self) -> list[Span]:
        """Input maps (first, end). Raises CompileError where not even one group fits."""
        if not self._tiles:
            name = self.body.setting.layers[self.index].name
            raise CompileError(name, "weight rows of one group of input maps", 0, self.region.end)
        return self._tiles

    def need(self, maps: Span) -> Rows:
        """LOADW of the tile of some input maps, of all output groups and taps, unless it is there."""
        if self.own:
            return self._anew(self._own())
        if self.held and self.held[0] == maps:
            return self.held[1]
        layout, width = self.layout, maps[1] - maps[0]
        each = layout.rows // layout.inputs
        base = self.region.take(each * width)
        runs = (each, layout.inputs * layout.row_bytes) if width < layout.inputs else None
        self._load(maps[0], each, width, base, runs)
        self.held = maps, Rows(base, base + each * width, base + each * width)
        return self.held[1]

    def _anew(self, rows: Rows) -> Rows:
        """Rows that the layer has for itself, with LOADW of what FP has left in other banks."""
        if other_banks(self.body.setting, self.index) and not self.held:
            self._load(0, self.layout.rows // self.layout.inputs, self.layout.inputs, rows.base)
            self.held = (0, self.layout.inputs), rows
        return rows

    def of_part(self, part: Part, maps: Span) -> int:
        """Rows that a part takes for itself, of some input maps."""
        return 0 if self._tiles else part.taps * len(self._groups(part)) * (maps[1] - maps[0])

    def part(self, part: Part, maps: Span) -> tuple[Rows, Fields]:
        """(rows, strides) of a part for one column group of input maps, LOADW unless it came last."""
        if self.newest and self.newest[:2] == (part, maps):
            return self.newest[2:]
        layout, taps = self.layout, self.layout.kernel[0] * self.layout.kernel[1]
        groups, first = self._groups(part), part.rows[0] * layout.kernel[1] + part.columns[0]
        for tile in self._tiles:
            if tile[0] <= maps[0] < tile[1]:
                rows, width = self.need(tile), tile[1] - tile[0]
                base = rows.base + (groups[0] * taps + first) * width + maps[0] - tile[0]
                row, tap = part.step[0] * layout.kernel[1] * width, part.step[1] * width
                return Rows(base, rows.end, rows.end), _strides(row, tap, taps * width)
        width = maps[1] - maps[0]
        tap, base = len(groups) * width, self.region.take(part.taps * len(groups) * width)
        at = base
        for ky, kx in part.places():
            ((row, _, _),) = layout.runs(ky * layout.kernel[1] + kx, maps)
            row += groups[0] * layout.outer
            if width * layout.row_bytes % layout.beat:
                for group in range(len(groups)):
                    self._load(row + group * layout.outer, 1, width, at + group * width)
            else:
                self._load(row, len(groups), width, at, (len(groups), layout.outer * layout.row_bytes))
            at += tap
        found = Rows(base, at, at), _strides(part.columns[1] * tap, tap, width)
        self.newest = part, maps, *found
        return found

    def _groups(self, part: Part) -> range:
        """The output groups of a part."""
        return range(part.channels[0] // self.layout.cols, ceil_div(part.channels[1], self.layout.cols))


def _strides(row: int, tap: int, group: int) -> Fields:
    """Rows from a row of taps to the next, from a tap, from a column group of the reduction."""
    return dict(wgt_stride_ky=row, wgt_stride_kx=tap, wgt_stride_cg=group)
