# SPDX-License-Identifier: Apache-2.0
"""Reductions in parts: the sums of one block and one column group stay in the array while the weights and operands of
the next part come."""

from dataclasses import replace

from gradcore.compiler.body import Body
from gradcore.compiler.folds import delta_shape
from gradcore.compiler.limits import CompileError
from gradcore.compiler.operation import Part, Rows
from gradcore.compiler.products import backward, forward
from gradcore.compiler.strips import Axis, Strips
from gradcore.compiler.transfers import load_rows
from gradcore.isa.fold import ceil_div, tap_windows


def cut(setting, index: int, windows: tuple, channels: int, rows_of, vectors_of, step: int) -> list:
    """Parts of a reduction over taps `windows` = ((first, number) of rows, of columns) and `channels`, so that of
    rows_of(part) rows of weights and vectors_of(part) vectors two parts fit. Cuts rows of the kernel first, then
    columns, then channels by multiples of `step`. Raises CompileError."""
    config = setting.config

    def size(part: Part) -> float:
        return max(2 * rows_of(part) / config.wgt_depth, 2 * vectors_of(part) / config.act_depth)

    (ky, n_ky), (kx, n_kx) = windows
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
            min(config.wgt_depth, config.act_depth),
        )
    parts = [
        part(y, x, c)
        for y in range(ky, ky + n_ky, each["rows"])
        for x in range(kx, kx + n_kx, each["columns"])
        for c in range(0, ceil_div(channels, step), each["channels"])
    ]
    parts[0], parts[-1] = replace(parts[0], first=True), replace(parts[-1], last=True)
    return parts


class PartWeights:
    """Rows of weights of one part after the other, in the whole weight buffer."""

    def __init__(self, body: Body, index: int):
        self.body, self.index = body, index
        self.region = body.weights
        body.held = []

    def forward(self, part: Part, maps: tuple) -> Rows:
        """LOADW of a part of FP for one column group of output maps, with its bias at the end."""
        setting, layout = self.body.setting, self.body.setting.memory.weight[self.index].layout
        count, row = part.channels[1] - part.channels[0], setting.config.row_bytes
        bias = setting.layers[self.index].bias and part.last
        base = self.region.take(part.taps * count + bias)
        for k, (ky, kx) in enumerate(_taps(part)):
            first = maps[0] // setting.config.cols * layout.inner + (ky * layout.kernel[1] + kx) * layout.inputs
            self._rows((first + part.channels[0]) * row, 1, count, base + k * count)
        end = base + part.taps * count
        if bias:
            self._rows(layout.bias_offset + maps[0] // setting.config.cols * row, 1, 1, end, "bias")
        return Rows(base, end, end + bias)

    def backward(self, part: Part, maps: tuple) -> Rows:
        """LOADW of a part of BP for some input maps."""
        setting, layout = self.body.setting, self.body.setting.memory.weight[self.index].layout
        cols, row, width = setting.config.cols, setting.config.row_bytes, maps[1] - maps[0]
        groups = ceil_div(part.channels[1], cols) - part.channels[0] // cols
        base = self.region.take(part.taps * groups * width)
        for k, (ky, kx) in enumerate(_taps(part)):
            first = part.channels[0] // cols * layout.inner + (ky * layout.kernel[1] + kx) * layout.inputs + maps[0]
            runs = (groups, layout.inner * row) if groups > 1 else None
            self._rows(first * row, groups, width, base + k * groups * width, runs=runs)
        end = base + part.taps * groups * width
        return Rows(base, end, end)

    def _rows(self, offset: int, outer: int, inner: int, base: int, what: str = "weights", runs=None):
        setting = self.body.setting
        beat, row = setting.config.mem_bytes, setting.config.row_bytes
        if offset % beat or (runs and (runs[1] % beat or inner * row % beat)):
            need = offset % beat or inner * row % beat or runs[1] % beat
            raise CompileError(setting.layers[self.index].name, "bytes of a tap's weights behind a beat", need, 0)
        self.body.ops.append(load_rows(setting, self.index, what, offset, outer, inner, base, runs))


def _taps(part: Part) -> list:
    (ky, n_ky), (kx, n_kx) = part.rows, part.columns
    return [(y, x) for y in range(ky, ky + n_ky) for x in range(kx, kx + n_kx)]


def _column_groups(maps: int, cols: int) -> list:
    return [(first, min(first + cols, maps)) for first in range(0, maps, cols)]


def forward_parts(body: Body, index: int, source, results: dict):
    """FP of a layer block by block, each output group in parts."""
    setting, config = body.setting, body.setting.config
    p, fold = setting.network.parameters[index], setting.folds(index).fp
    outputs, inputs, *kernel = p.weight_shape
    weights, block = PartWeights(body, index), 1 << fold

    def reach(part: Part) -> list:
        taps = zip(p.in_shape[1:], p.pad, (part.rows, part.columns))
        return [Axis(size, block, k - pad, k + n - 1 - pad) for size, pad, (k, n) in taps]

    def rows_of(part: Part) -> int:
        return part.taps * (part.channels[1] - part.channels[0]) + p.bias

    def vectors_of(part: Part) -> int:
        spans = [_widest(axis, size, block) for axis, size in zip(reach(part), p.conv_shape[1:])]
        return spans[0] * spans[1] * (part.channels[1] - part.channels[0])

    parts = cut(setting, index, ((0, kernel[0]), (0, kernel[1])), inputs, rows_of, vectors_of, config.cols)

    def emit(image: int, area: tuple, pixels: tuple, maps: tuple, places: dict):
        for part in parts:
            source.axes = reach(part)
            read = source.place(pixels, image, part.channels)
            rows = weights.forward(part, maps)
            body.ops.extend(
                forward(
                    setting,
                    index,
                    image,
                    read,
                    places["dest"],
                    rows,
                    area=area,
                    maps=maps,
                    part=part,
                    **{name: place for name, place in places.items() if name != "dest"},
                )
            )

    _blocks(
        body,
        p.conv_shape,
        fold,
        setting.group_images(index),
        (source, results),
        _column_groups(outputs, config.cols),
        emit,
        1 + bool(p.pool),
    )


def backward_parts(body: Body, index: int, delta, results: dict):
    """BP of a layer block by block, each group of input maps in parts."""
    setting, config = body.setting, body.setting.config
    p, fold = setting.layers[index], setting.folds(index).bp
    outputs, inputs, *kernel = p.weight_shape
    weights, block = PartWeights(body, index), 1 << fold
    runs = [tap_windows(block, *sizes) for sizes in zip(p.in_shape[1:], delta_shape(p)[1:], kernel, p.pad)]

    def reach(part: Part) -> list:
        taps = zip(delta_shape(p)[1:], p.pad, (part.rows, part.columns))
        return [Axis(size, 1 << delta.fold, pad - k - n + 1, pad - k) for size, pad, (k, n) in taps]

    def vectors_of(part: Part) -> int:
        spans = [_widest(axis, size, block) for axis, size in zip(reach(part), p.in_shape[1:])]
        return spans[0] * spans[1] * (part.channels[1] - part.channels[0]) * (4 if delta.tensor.upsample else 1)

    def emit(image: int, area: tuple, pixels: tuple, maps: tuple, places: dict):
        windows = tuple(
            next((tap, taps) for at, n, tap, taps in axis if at <= first < at + n)
            for axis, (first, _) in zip(runs, area)
        )

        def rows_of(part: Part) -> int:
            return part.taps * ceil_div(part.channels[1] - part.channels[0], config.cols) * (maps[1] - maps[0])

        for part in cut(setting, index, windows, outputs, rows_of, vectors_of, config.cols):
            delta.axes = reach(part)
            read = delta.place(pixels, image, part.channels)
            rows = weights.backward(part, maps)
            body.ops.extend(
                backward(
                    setting,
                    index,
                    image,
                    read,
                    places["dest"],
                    rows,
                    area=area,
                    maps=maps,
                    part=part,
                    **{name: place for name, place in places.items() if name != "dest"},
                )
            )

    _blocks(
        body,
        p.in_shape,
        fold,
        setting.fold_images(fold),
        (delta, results),
        _column_groups(inputs, config.cols),
        emit,
        1,
    )


def _widest(axis: Axis, size: int, block: int) -> int:
    """Most blocks that a block of a map of `size` pixels needs."""
    return max(end - first for first, end in (axis.span(at, min(at + block, size)) for at in range(0, size, block)))


def _blocks(body: Body, shape: tuple, fold: int, images: int, tensors: tuple, groups: list, emit, step: int):
    """All blocks of a map: emit(image, area, pixels, maps, places) each, then STORE. With pooling (`step` 2) four
    blocks share a result."""
    setting, (source, results) = body.setting, tensors
    plan = Strips(shape[1:], 1 << fold, step, step)
    largest = max(images, *(one.images for one in (source, *results.values())))
    for start in range(0, setting.images, largest):
        for area in plan.areas():
            pixels = plan.pixels(area)
            for image in range(start, min(start + largest, setting.images), images):
                for maps in groups:
                    places = {name: one.place(pixels, image, maps) for name, one in results.items()}
                    for y in range(*area[0]):
                        for x in range(*area[1]):
                            one = ((y, y + 1), (x, x + 1))
                            emit(image, one, plan.pixels(one), maps, places)
                    for result in results.values():
                        result.finish(pixels, image, maps, image + images)
