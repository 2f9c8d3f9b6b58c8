# SPDX-License-Identifier: Apache-2.0
"""WU and UPDATE of a layer in strips, tile by tile: a tile has the gradients that are on chip together. Where its
operands do not fit, they are taken in parts."""

from gradcore.compiler.body import Body
from gradcore.compiler.folds import delta_shape
from gradcore.compiler.operation import Part, Rows, row_part
from gradcore.compiler.parts import Need, cut, fit
from gradcore.compiler.products import gradients
from gradcore.compiler.rings import Region, Ring
from gradcore.compiler.stream import Source, local_gradient
from gradcore.compiler.strips import Axis, choose_strips
from gradcore.compiler.tiles import output_tiles, row_fits
from gradcore.compiler.transfers import update_bias, update_part
from gradcore.isa.fold import ceil_div


def gradient_strips(body: Body, index: int):
    """Emits WU and UPDATE of layer `index`, one tile after the other."""
    setting, p = body.setting, body.setting.layers[index]
    run = _Gradients(body, index)
    tiles, whole = run.tiles()
    region = Region(0, setting.config.grad_depth)
    for held in whole:
        for maps in tiles:
            groups = maps[0] // setting.config.cols, ceil_div(maps[1] - maps[0], setting.config.cols)
            count, bias = groups[1] * held.count, groups[1] * (p.bias and held.starts)
            base = region.take(count + bias)
            grads = Rows(base, base + count, base + count + bias)
            run.tile(maps, held, grads)
            body.ops += update_part(setting, index, groups, held, grads.base)
            if bias:
                body.ops += update_bias(setting, index, groups, grads.bias_base)
    rows = "all weights" if len(whole) == 1 else f"{len(whole)} parts of the weights"
    body.note(index, "WU", f"{' or '.join(run.plans)}, {len(tiles)} tiles of output maps, {rows}")


class _Gradients:
    """WU of one layer. plans: its strips, for the listing."""

    def __init__(self, body: Body, index: int):
        setting = body.setting
        self.body, self.index, self.setting, self.p = body, index, setting, setting.layers[index]
        self.delta, act = local_gradient(body, index), setting.memory.act[index]
        self.act = Source(body, index, act, Ring(0, setting.config.act_depth), [], (2 * index,))
        self.shape, self.block = delta_shape(self.p)[1:], 1 << setting.folds(index).fp
        self.plans: dict = {}

    def tiles(self) -> tuple:
        """(tiles of output maps, parts of their weights) whose gradients fit twice, or once; of all weights if
        possible, and such that the operands of a block fit."""
        layout, config = self.setting.memory.weight[self.index].layout, self.setting.config
        whole = row_part(self.p, (0, self.p.weight_shape[2]))
        found = [output_tiles(config, layout, config.grad_depth, share) for share in (2, 1, 4, 8, 16, 32, 64)]
        found = [tiles for tiles in found if tiles]
        if found:
            fitting = (tiles for tiles in found if self._fits(whole, tiles[0]))
            return next(fitting, found[0]), [whole]

        def rows(part: Part) -> list:
            name = "gradient rows of a tap of one column group"
            return [Need(name, part.count + self.p.bias, config.grad_depth, True)]

        parts = cut(self.setting, self.index, whole, rows, not layout.pieces and row_fits(config, layout))
        return self._groups((0, self.p.weight_shape[0])), parts

    def tile(self, maps: tuple, held: Part, grads: Rows):
        """COMPUTE of one tile of output maps for the part `held` of the weights, whose gradients are at `grads`."""
        cols = self.setting.config.cols
        parts = [held] if self._fits(held, maps) else cut(self.setting, self.index, held, self._act)
        for own in [maps] if self._fits(None, maps) else self._groups(maps):
            fit(self.setting, self.index, self.delta.needs(self.shape, self.block, own))
            at = (own[0] - maps[0]) // cols
            bias = grads.bias_base + at
            rows = Rows(grads.base + at * held.count, bias, bias + ceil_div(own[1] - own[0], cols))
            for part in parts:
                self._walk(own, part, held, rows)

    def _walk(self, maps: tuple, part: Part, held: Part, grads: Rows):
        """All strips of all images for a part of the weights of some output maps."""
        setting, index = self.setting, self.index
        self.act.axes = self._reach(part)
        shares = [*self.delta.shares(maps), *self.act.shares(part.channels)]
        plan = choose_strips(setting, index, self.shape, self.block, 1, shares)
        self.plans[str(plan)] = None
        images, first = setting.group_images(index), True
        largest = max(images, *(one.tensor.layout.group_images for one in (self.delta, self.act)))
        for start in range(0, setting.images, largest):
            for area in plan.areas():
                pixels = plan.pixels(area)
                for image in range(start, min(start + largest, setting.images), images):
                    rows, columns = self.delta.place(pixels, image, maps), self.act.place(pixels, image, part.channels)
                    place = rows, columns, grads, first, part
                    self.body.ops += gradients(setting, index, image, *place, area=area, maps=maps, held=held)
                    first = False

    def _groups(self, maps: tuple) -> list:
        cols = self.setting.config.cols
        return [(at, min(at + cols, maps[1])) for at in range(maps[0], maps[1], cols)]

    def _reach(self, part: Part) -> list:
        """What the taps of a part need of the input."""
        taps = zip(self.p.in_shape[1:], self.p.pad, (part.rows, part.columns))
        return [Axis(size, self.block, k - pad, k + n - 1 - pad) for size, pad, (k, n) in taps]

    def _act(self, part: Part) -> list:
        self.act.axes = self._reach(part)
        return self.act.needs(self.shape, self.block, part.channels)

    def _fits(self, part: Part | None, maps: tuple) -> bool:
        """Is there room for one block's operands: of a part of the weights, if given, and of some output maps?"""
        needs = self.delta.needs(self.shape, self.block, maps) + (self._act(part) if part else [])
        return all(need.excess(False) <= 1 for need in needs)
