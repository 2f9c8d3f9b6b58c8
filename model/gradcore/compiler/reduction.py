# SPDX-License-Identifier: Apache-2.0
"""Reductions in parts: the sums of one block and one column group stay in the array while the weights and operands of
the next part come. Where the operands of a block fit both operand buffers together, they stay there for all its column
groups: some channels in one, the others in the other."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

from gradcore.compiler.body import Body
from gradcore.compiler.folds import delta_shape
from gradcore.compiler.limits import CompileError
from gradcore.compiler.operation import Part
from gradcore.compiler.part_weights import PartWeights
from gradcore.compiler.products import backward, forward
from gradcore.compiler.rings import Region, Ring
from gradcore.compiler.rows import behind_bias
from gradcore.compiler.stream import Source
from gradcore.compiler.strips import Axis, Share, Strips
from gradcore.compiler.transfers import load_bias
from gradcore.isa.fold import ceil_div, round_up, tap_windows


def forward_parts(body: Body, index: int, source: Source, results: dict):
    """FP of a layer block by block, each output group in parts."""
    setting = body.setting
    p, fold = setting.network.parameters[index], setting.folds(index).fp
    outputs, inputs, *kernel = p.weight_shape
    weights = PartWeights(body, index, behind_bias(setting, index, "weight", setting.config.wgt_depth))

    def reach(part: Part) -> list:
        taps = zip(p.in_shape[1:], p.pad, (part.rows, part.columns))
        return [Axis(size, 1 << fold, k - pad, k + n - 1 - pad) for size, pad, (k, n) in taps]

    def rows_of(part: Part, width: int) -> int:
        return part.taps * (part.channels[1] - part.channels[0])

    taps, step = ((0, kernel[0]), (0, kernel[1])), 1 + bool(p.pool)
    plan = Strips(p.conv_shape[1:], 1 << fold, step, step)
    body.ops += load_bias(setting, index, 0)
    walk = _Pass(body, index, source, results, plan, outputs, Part(*taps, (0, inputs), True, True), reach, rows_of)
    walk.emit(setting.group_images(index), forward, weights, weights.forward, lambda block: taps)


def backward_parts(body: Body, index: int, delta: Source, results: dict):
    """BP of a layer block by block, each group of input maps in parts."""
    setting, config = body.setting, body.setting.config
    p, fold = setting.layers[index], setting.folds(index).bp
    outputs, inputs, *kernel = p.weight_shape
    weights = PartWeights(body, index, Region(0, config.wgt_depth))
    runs = [tap_windows(1 << fold, *sizes) for sizes in zip(p.in_shape[1:], delta_shape(p)[1:], kernel, p.pad)]

    def reach(part: Part) -> list:
        taps = zip(delta_shape(p)[1:], p.pad, (part.rows, part.columns))
        return [Axis(size, 1 << delta.fold, pad - k - n + 1, pad - k) for size, pad, (k, n) in taps]

    def rows_of(part: Part, width: int) -> int:
        return part.taps * ceil_div(part.channels[1] - part.channels[0], config.cols) * width

    def taps_of(block: tuple) -> tuple:
        return tuple(
            next((tap, taps) for at, n, tap, taps in axis if at <= first < at + n)
            for axis, (first, _) in zip(runs, block)
        )

    plan = Strips(p.in_shape[1:], 1 << fold, 1, 1)
    whole = Part((0, kernel[0]), (0, kernel[1]), (0, outputs), True, True)
    walk = _Pass(body, index, delta, results, plan, inputs, whole, reach, rows_of)
    walk.emit(setting.fold_images(fold), backward, weights, weights.backward, taps_of)


@dataclass
class _Pass:
    """A pass of a layer block by block. plan: areas of the blocks that share a result; maps: of the result; whole: the
    reduction as one part; reach(part): axes of what it needs; rows_of(part, maps): its rows of weights. cuts: parts by
    taps and maps; held: where operands stay in both buffers, the `Source` of each of the two parts and its channels."""

    body: Body
    index: int
    source: Source
    results: dict
    plan: Strips
    maps: int
    whole: Part
    reach: Callable
    rows_of: Callable
    cuts: dict = field(default_factory=dict)
    held: list = field(default_factory=list)

    def emit(self, images: int, compute: Callable, weights: PartWeights, load: Callable, taps_of: Callable):
        """The operations of groups of `images`: `compute` is forward or backward of gradcore.compiler.products,
        load(part, maps) gives its rows of weights, taps_of(block) its taps ((first, number) of rows, of columns)."""
        setting, depth = self.body.setting, weights.region.size
        shared = max(images, self.source.tensor.layout.group_images)
        largest = max(shared, *(one.tensor.layout.group_images for one in self.results.values()))
        self._hold(depth, shared == largest)
        groups = _column_groups(self.maps, setting.config.cols)
        for start in range(0, setting.images, largest):
            for area in self.plan.areas():
                for first in range(start, min(start + largest, setting.images), shared):
                    end = min(first + shared, setting.images)
                    for maps, image in product(groups, range(first, end, images)):
                        self._group(image, images, area, maps, depth, compute, load, taps_of)

    def _group(self, image: int, images: int, area: tuple, maps: tuple, depth: int, compute, load, taps_of):
        """The blocks of an area, of one group of images and one group of maps."""
        pixels = self.plan.pixels(area)
        places = {name: one.place(pixels, image, maps) for name, one in self.results.items()}
        dest = places.pop("dest")
        for at in product(*(range(*ends) for ends in area)):
            block = tuple((n, n + 1) for n in at)
            for k, part in enumerate(self._parts(taps_of(block), maps[1] - maps[0], depth)):
                source, needed = (self.held[k][0], pixels) if self.held else (self.source, self.plan.pixels(block))
                if not self.held:
                    source.axes = self.reach(part)
                access = source.place(needed, image, part.channels), dest, load(part, maps)
                more = dict(area=block, maps=maps, part=part, **places)
                self.body.ops += compute(self.body.setting, self.index, image, *access, **more)
        for result in self.results.values():
            result.finish(pixels, image, maps, image + images)

    def _parts(self, taps: tuple, width: int, depth: int) -> list:
        """The parts of the reduction of a block over `taps`, of `width` maps."""
        if self.held:
            return [Part(*taps, channels, k == 0, k == 1) for k, (_, channels) in enumerate(self.held)]
        if (taps, width) not in self.cuts:
            setting, count = self.body.setting, self.whole.channels[1]
            own = partial(self.rows_of, width=width)
            self.cuts[taps, width] = cut(setting, self.index, taps, count, own, self._vectors, depth)
        return self.cuts[taps, width]

    def _vectors(self, part: Part) -> int:
        """Vectors that a block needs of a part, at most."""
        one = Strips(self.plan.shape, self.plan.block, 1, 1)
        return _most(replace(self.source, axes=self.reach(part)).shares(part.channels)[0], one)

    def _hold(self, depth: int, in_turn: bool):
        """Sets `held`, if two parts of the channels fit the two operand buffers, the first beside the results, and one
        buffer is too small for all twice. `in_turn`: two column groups of the results are there at a time, else all;
        `depth`: rows of weights."""
        config, channels, dest = self.body.setting.config, self.whole.channels[1], self.results["dest"]
        own = replace(self.source, axes=self.reach(self.whole))
        share = own.shares(self.whole.channels)[0]
        each = ceil_div(_most(share, self.plan), channels)
        room = _most(dest.shares((0, min(2 * config.cols, self.maps) if in_turn else self.maps))[0], self.plan)
        most = (config.act_depth - room) // each // config.cols * config.cols
        first = min(round_up(ceil_div(channels, 2), config.cols), most)
        sizes = first * each, (channels - first) * each
        rows = max(self.rows_of(replace(self.whole, channels=(0, n)), config.cols) for n in (first, channels - first))
        gates = own.gates.size if own.gate else config.gate_depth
        fits = 0 < first < channels and sizes[1] <= config.act_depth and 2 * rows <= depth and max(sizes) <= gates
        if not fits or 2 * sum(sizes) <= config.act_depth:
            return
        self.results["dest"] = replace(dest, buffer=0, region=Region(sizes[0], config.act_depth))
        for k, ends in enumerate(((0, first), (first, channels))):
            self.held.append((replace(own, ring=Ring(k, config.act_depth, True)), ends))


def cut(setting, index: int, taps: tuple, channels: int, rows_of, vectors_of, depth: int) -> list:
    """Parts of a reduction over `taps` = ((first, number) of rows, of columns) and `channels`, so that of
    rows_of(part) of `depth` rows of weights and vectors_of(part) vectors two parts fit. Cuts rows of the kernel first,
    then columns, then channels by multiples of the columns. Raises CompileError."""
    config, step = setting.config, setting.config.cols

    def size(part: Part) -> float:
        return max(2 * rows_of(part) / depth, 2 * vectors_of(part) / config.act_depth)

    (ky, n_ky), (kx, n_kx) = taps
    each = dict(rows=n_ky, columns=n_kx, channels=ceil_div(channels, step))

    def part(y: int, x: int, c: int) -> Part:
        last = min((c + each["channels"]) * step, channels)
        rows, columns = min(each["rows"], ky + n_ky - y), min(each["columns"], kx + n_kx - x)
        return Part((y, rows), (x, columns), (c * step, last), False, False)

    for axis in each:
        while each[axis] > 1 and size(part(ky, kx, 0)) > 1:
            each[axis] = ceil_div(each[axis], 2)
    if size(part(ky, kx, 0)) > 2:
        need = max(rows_of(part(ky, kx, 0)), vectors_of(part(ky, kx, 0)))
        raise CompileError(
            setting.layers[index].name,
            "weight rows or vectors of a tap of one column group",
            need,
            min(depth, config.act_depth),
        )
    parts = [
        part(y, x, c)
        for y in range(ky, ky + n_ky, each["rows"])
        for x in range(kx, kx + n_kx, each["columns"])
        for c in range(0, ceil_div(channels, step), each["channels"])
    ]
    parts[0], parts[-1] = replace(parts[0], first=True), replace(parts[-1], last=True)
    return parts


def _column_groups(maps: int, cols: int) -> list:
    return [(first, min(first + cols, maps)) for first in range(0, maps, cols)]


def _most(share: Share, plan: Strips) -> int:
    """Vectors that an area needs, at most."""
    rows, columns = zip(*(share.spans(plan.pixels(area)) for area in plan.areas()))
    return share.vectors * max(b - a for a, b in rows) * max(b - a for a, b in columns)
