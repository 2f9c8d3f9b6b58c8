# SPDX-License-Identifier: Apache-2.0
"""The forward pass of a layer in strips."""

from gradcore.compiler.body import Body
from gradcore.compiler.limits import CompileError
from gradcore.compiler.operation import Rows
from gradcore.compiler.products import forward, splits
from gradcore.compiler.reduction import forward_parts
from gradcore.compiler.rings import Region, Ring
from gradcore.compiler.rows import behind_bias
from gradcore.compiler.stream import Result, Source, gate_region, plain_axes
from gradcore.compiler.strips import Axis, choose_strips
from gradcore.compiler.tiles import brief, output_tiles
from gradcore.compiler.transfers import load_bias, load_rows
from gradcore.isa.instruction import GATE_BUFFER


def forward_strips(body: Body, index: int):
    """Emits the forward pass of layer `index`: from its input to its output, both in DRAM."""
    setting, memory, config = body.setting, body.setting.memory, body.setting.config
    p, fold = setting.network.parameters[index], setting.folds(index).fp
    loss = body.train and index == setting.last
    given, taken = setting.output(index, body.train), setting.input(index)
    whole, block = (0, p.weight_shape[0]), 1 << fold
    reach = [
        Axis(size, block, -pad, kernel - 1 - pad)
        for size, pad, kernel in zip(p.in_shape[1:], p.pad, p.weight_shape[2:])
    ]
    source = Source(body, index, taken, Ring(0, config.act_depth), reach, (2 * index,))
    layout = given.layout
    axes = [Axis(size, 1 << layout.fold, half=bool(p.pool)) for size in (layout.height, layout.width)]
    results = {"dest": Result(body, index, given, 1, Region(0, config.act_depth), axes, (2 * index + 2,))}
    if loss:
        axes = plain_axes(memory.target)
        results["targets"] = Result(
            body, index, memory.target, GATE_BUFFER, gate_region(setting), axes, (2 * index,), True
        )
    elif body.train and memory.spilled[index]:
        gate = memory.spilled[index]
        results["gate"] = Result(
            body, index, gate, GATE_BUFFER, gate_region(setting), plain_axes(gate), (2 * index + bool(p.pool),)
        )

    def strips(maps: tuple):
        shares = [
            *source.shares((0, p.in_shape[0])),
            *(share for one in results.values() for share in one.shares(maps)),
        ]
        return choose_strips(setting, index, p.conv_shape[1:], block, 1 + bool(p.pool), shares)

    weights = _Weights(body, index)
    try:
        tiles, by_weights = weights.tiles(lambda tiles: strips(whole if len(tiles) > 1 else tiles[0]), taken)
        plan = strips(tiles[0] if by_weights else whole)
    except CompileError:
        body.note(index, "FP", "block by block in parts")
        forward_parts(body, index, source, results)
        return
    order = "each through all images" if by_weights else "all for each strip"
    body.note(index, "FP", f"{plan}, {len(tiles)} tiles of output maps, {order}")
    images = setting.group_images(index)
    largest = max(images, *(one.tensor.layout.group_images for one in (source, *results.values())))
    for outer in [[tile] for tile in tiles] if by_weights else [tiles]:
        for start in range(0, setting.images, largest):
            for area in plan.areas():
                pixels = plan.pixels(area)
                for image in range(start, min(start + largest, setting.images), images):
                    read = source.place(pixels, image, (0, p.in_shape[0]))
                    for maps in outer:
                        rows = weights.need(maps)
                        places = {name: one.place(pixels, image, maps) for name, one in results.items()}
                        dest = places.pop("dest")
                        body.ops += forward(setting, index, image, read, dest, rows, area=area, maps=maps, **places)
                        for one in results.values():
                            one.finish(pixels, image, maps, image + images)


class _Weights:
    """The rows of weights of the tile that is computed."""

    def __init__(self, body: Body, index: int):
        self.body, self.index = body, index
        self.region = behind_bias(body.setting, index, "weight", body.setting.config.wgt_depth)
        self.held: tuple | None = None

    def tiles(self, strips, taken) -> tuple:
        """(tiles, whether each is taken through all images before the next). The alternative loads all tiles for each
        strip, which reads the input once. Raises CompileError where not even one group fits."""
        setting, index = self.body.setting, self.index
        layout = setting.memory.weight[index].layout
        tiles = output_tiles(setting, index, self.region.size)
        if not tiles:
            raise CompileError(setting.layers[index].name, "weight rows", layout.inner, self.region.size)
        if len(tiles) == 1:
            return tiles, True
        again = len(tiles) * taken.layout.size
        visits = len(strips(tiles).areas()) * -(-setting.images // setting.group_images(index))
        by_weights = again + layout.size <= taken.layout.size + visits * layout.size
        share = 2 if by_weights else brief(visits * layout.rows, self.region.size)
        smaller = (output_tiles(setting, index, self.region.size, n) for n in (share, 2))
        return next(filter(None, smaller), tiles), by_weights

    def need(self, maps: tuple) -> Rows:
        """LOADW of the tile of some output maps unless it is there."""
        if self.held and self.held[0] == maps:
            return self.held[1]
        setting, index = self.body.setting, self.index
        p, layout, cols = setting.network.parameters[index], setting.memory.weight[index].layout, setting.config.cols
        first, groups = maps[0] // cols, -(-(maps[1] - maps[0]) // cols)
        count, align = groups * layout.inner, setting.config.lanes if splits(setting, index) else 1
        base = self.region.take(count, align)
        if not self.held:
            self.body.ops += load_bias(setting, index, 0)
        offset, inputs = first * layout.inner * setting.config.row_bytes, p.weight_shape[1]
        self.body.ops.append(load_rows(setting, index, "weights", offset, count // inputs, inputs, base))
        self.held = maps, Rows(base, base + count, first, first + groups * p.bias)
        return self.held[1]
