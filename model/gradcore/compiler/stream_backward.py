# SPDX-License-Identifier: Apache-2.0
"""The backward pass of a layer in strips: BP, then WU and UPDATE tile by tile."""

from dataclasses import replace

from gradcore.compiler.body import Body
from gradcore.compiler.folds import delta_shape
from gradcore.compiler.limits import CompileError
from gradcore.compiler.operation import Rows
from gradcore.compiler.products import backward, gradients
from gradcore.compiler.reduction import backward_parts
from gradcore.compiler.rings import Region, Ring
from gradcore.compiler.rows import behind_bias
from gradcore.compiler.stream import Result, Source, gate_region, plain_axes
from gradcore.compiler.strips import Axis, choose_strips
from gradcore.compiler.tiles import brief, input_tiles, output_tiles
from gradcore.compiler.transfers import load_rows, update_bias, update_rows
from gradcore.isa.fold import ceil_div
from gradcore.isa.instruction import GATE_BUFFER


def backward_strips(body: Body, index: int):
    """Emits BP, WU and UPDATE of layer `index`."""
    if index:
        _errors(body, index)
    _gradients(body, index)


def _delta(body: Body, index: int, low=(0, 0), high=(0, 0)) -> Source:
    """The local gradient of a layer; a computed pixel needs pixels `low`..`high` from its own."""
    setting, p = body.setting, body.setting.layers[index]
    tensor = setting.memory.delta[index]
    axes = [Axis(size, 1 << tensor.tile.fold, *ends) for size, *ends in zip(delta_shape(p)[1:], low, high)]
    gate = setting.memory.spilled[index] if p.pool else None
    ring = Ring(1, setting.config.act_depth)
    return Source(
        body,
        index,
        tensor,
        ring,
        axes,
        tuple({2 * index: 0, 2 * index + bool(p.pool): 0}),
        gate,
        gate_region(setting) if gate else None,
    )


def _errors(body: Body, index: int):
    """BP from the layer's local gradient to that of the layer before."""
    setting, config, memory = body.setting, body.setting.config, body.setting.memory
    p, fold = setting.layers[index], setting.folds(index).bp
    outputs, inputs, *kernel = p.weight_shape
    delta = _delta(body, index, [pad - k + 1 for pad, k in zip(p.pad, kernel)], p.pad)
    error, gate = memory.delta[index - 1], memory.spilled[index - 1]
    results = {
        "dest": Result(body, index, error, 0, Region(0, config.act_depth), _sized(error, p.in_shape), (2 * index - 1,))
    }
    if gate and not setting.layers[index - 1].pool:
        region = gate_region(setting)
        if delta.gate:  # both at once: a half for each
            middle = (region.first + region.end) // 2
            delta.gates, region = Region(region.first, middle), Region(middle, region.end)
        results["gate"] = Result(body, index, gate, GATE_BUFFER, region, plain_axes(gate), (2 * index - 1,), True)
    weights = _Weights(body, index)
    try:
        tiles = weights.tiles()
        shares = [*delta.shares((0, outputs)), *(share for one in results.values() for share in one.shares(tiles[0]))]
        plan = choose_strips(setting, index, p.in_shape[1:], 1 << fold, 1, shares)
    except CompileError:
        body.note(index, "BP", "block by block in parts")
        backward_parts(body, index, delta, results)
        return
    body.note(index, "BP", f"{plan}, {len(tiles)} tiles of input maps")
    images = setting.fold_images(fold)
    largest = max(images, *(one.tensor.layout.group_images for one in (delta, *results.values())))
    for maps in tiles:
        for start in range(0, setting.images, largest):
            for area in plan.areas():
                pixels = plan.pixels(area)
                for image in range(start, min(start + largest, setting.images), images):
                    read = delta.place(pixels, image, (0, outputs))
                    rows = weights.need(maps)
                    places = {name: one.place(pixels, image, maps) for name, one in results.items()}
                    dest = places.pop("dest")
                    body.ops += backward(setting, index, image, read, dest, rows, area=area, maps=maps, **places)
                    for one in results.values():
                        one.finish(pixels, image, maps, image + images)


def _sized(tensor, shape: tuple) -> list:
    """Axes of a tensor that is computed as a map of `shape`."""
    return [Axis(size, 1 << tensor.layout.fold) for size in shape[1:]]


def _gradients(body: Body, index: int):
    """WU and UPDATE, one tile of output maps after the other."""
    setting, config, memory = body.setting, body.setting.config, body.setting.memory
    p, fold = setting.layers[index], setting.folds(index).fp
    outputs, inputs, *kernel = p.weight_shape
    delta, taken = _delta(body, index), memory.act[index]
    reach = [Axis(size, 1 << fold, -pad, k - 1 - pad) for size, pad, k in zip(p.in_shape[1:], p.pad, kernel)]
    act = Source(body, index, taken, Ring(0, config.act_depth), [*reach], (2 * index,))
    region = behind_bias(setting, index, "gradient", config.grad_depth)
    tiles, kernel_rows = _tiles(setting, index, delta, act, region.size), [(0, kernel[0])]
    if not tiles:
        tiles, kernel_rows = _by_rows(setting, index, act, region.size)
    images = setting.group_images(index)
    largest = max(images, delta.tensor.layout.group_images, taken.layout.group_images)
    for taps in kernel_rows:
        act.axes = [_row_axis(reach[0], taps, kernel[0]), reach[1]]
        shares = [*delta.shares(tiles[0]), *act.shares((0, inputs))]
        plan = choose_strips(setting, index, delta_shape(p)[1:], 1 << fold, 1, shares)
        body.note(index, "WU", f"{plan}, {len(tiles)} tiles of output maps, kernel rows {taps[0]}..{sum(taps) - 1}")
        for maps in tiles:
            grads, own = _place(setting, index, region, maps, taps)
            first = True
            for start in range(0, setting.images, largest):
                for area in plan.areas():
                    pixels = plan.pixels(area)
                    for image in range(start, min(start + largest, setting.images), images):
                        rows, columns = delta.place(pixels, image, maps), act.place(pixels, image, (0, inputs))
                        place = rows, columns, grads, first, taps
                        body.ops += gradients(setting, index, image, *place, area=area, maps=maps)
                        first = False
            row = kernel[1] * inputs
            base = (grads.base + taps[0] * row) % config.grad_depth
            body.ops.append(update_rows(setting, index, own, (taps[0] * row, taps[1] * row), base))
        if p.bias and not taps[0]:
            body.ops.append(update_bias(setting, index, 0))


def _tiles(setting, index: int, delta: Source, act: Source, depth: int) -> list:
    """Tiles of output maps whose gradients fit twice, or once, and whose strips fit; none if there are none."""
    p, block = setting.layers[index], 1 << setting.folds(index).fp
    shape, inputs = delta_shape(p)[1:], p.weight_shape[1]
    found = (output_tiles(setting, index, depth, share) for share in (2, 1, 4, 8, 16, 32, 64))
    for tiles in filter(None, found):
        if act.fits_block(shape, block, inputs) and delta.fits_block(shape, block, tiles[0][1]):
            return tiles
    return []


def _row_axis(axis: Axis, taps: tuple, kernel: int) -> Axis:
    """What taps (first, number) of `kernel` rows need of an axis that all need."""
    return replace(axis, low=axis.low + taps[0], high=axis.high - kernel + sum(taps))


def _place(setting, index: int, region: Region, maps: tuple, taps: tuple) -> tuple:
    """(rows of the gradients, as if those of all rows of the kernel were there, output groups (first, number))."""
    p, cols = setting.layers[index], setting.config.cols
    _, inputs, *kernel = p.weight_shape
    own = maps[0] // cols, ceil_div(maps[1] - maps[0], cols)
    count = own[1] * taps[1] * kernel[1] * inputs
    base = region.take(count)
    first = base - taps[0] * kernel[1] * inputs
    return Rows(first, base + count, own[0], own[0] + own[1] * p.bias), own


def _by_rows(setting, index: int, act: Source, depth: int) -> tuple:
    """(tiles of one output group, rows of the kernel (first, number)) so that two parts of the gradients fit, and one
    of the activations. Raises CompileError."""
    p, config, fold = setting.layers[index], setting.config, setting.folds(index).fp
    outputs, inputs, *kernel = p.weight_shape
    row = kernel[1] * inputs
    count, axis = kernel[0], act.axes[0]
    while count > 1:
        act.axes[0] = _row_axis(axis, (0, count), kernel[0])
        if 2 * count * row <= depth and act.fits_block(delta_shape(p)[1:], 1 << fold, inputs):
            break
        count = ceil_div(count, 2)
    if row > depth:
        raise CompileError(p.name, "gradient rows of one row of the kernel", row, depth)
    layout = setting.memory.weight[index].layout
    if min(row, layout.inner) * config.row_bytes % config.mem_bytes:
        raise CompileError(
            p.name, "bytes of a kernel row's weights behind a beat", row * config.row_bytes % config.mem_bytes, 0
        )
    tiles = [(at, min(at + config.cols, outputs)) for at in range(0, outputs, config.cols)]
    return tiles, [(at, min(count, kernel[0] - at)) for at in range(0, kernel[0], count)]


class _Weights:
    """The rows of weights of the tile of input maps that is computed."""

    def __init__(self, body: Body, index: int):
        self.body, self.index = body, index
        self.region = Region(0, body.setting.config.wgt_depth)
        self.held: tuple | None = None

    def tiles(self) -> list:
        """Input maps (first, end), two tiles at once on chip if possible. Raises CompileError where not even one
        group fits."""
        setting, depth = self.body.setting, self.region.end
        p, fold = setting.layers[self.index], setting.folds(self.index).bp
        tiles = input_tiles(setting, self.index, depth)
        if not tiles:
            raise CompileError(setting.layers[self.index].name, "weight rows of one group of input maps", 0, depth)
        if len(tiles) == 1:
            return tiles
        once = setting.images <= setting.fold_images(fold) and max(p.in_shape[1:]) <= 1 << fold
        share = brief(setting.memory.weight[self.index].layout.rows, depth) if once else 2
        smaller = (input_tiles(setting, self.index, depth, n) for n in (share, 2))
        return next(filter(None, smaller), tiles)

    def need(self, maps: tuple) -> Rows:
        """LOADW of the tile of some input maps, of all output groups and taps, unless it is there."""
        if self.held and self.held[0] == maps:
            return self.held[1]
        setting, layout = self.body.setting, self.body.setting.memory.weight[self.index].layout
        each, width, row = layout.rows // layout.inputs, maps[1] - maps[0], setting.config.row_bytes
        base = self.region.take(each * width)
        runs = [(each, layout.inputs * row)] * (width < layout.inputs)
        self.body.ops.append(load_rows(setting, self.index, "weights", maps[0] * row, each, width, base, runs))
        self.held = maps, Rows(base, base + each * width)
        return self.held[1]
