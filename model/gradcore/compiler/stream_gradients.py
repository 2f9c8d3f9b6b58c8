# SPDX-License-Identifier: Apache-2.0
"""WU and UPDATE of a layer in strips, tile by tile: a tile has the gradients that are on chip together. Where its
operands do not fit, they are taken in parts."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import inf

from gradcore.compiler.body import Body
from gradcore.compiler.deferred import Step
from gradcore.compiler.folds import delta_shape
from gradcore.compiler.gradients import gradients
from gradcore.compiler.limits import CompileError
from gradcore.compiler.map_groups import map_groups
from gradcore.compiler.operation import Part, Rows, row_part
from gradcore.compiler.parts import Need, cut, fit
from gradcore.compiler.rings import Ring
from gradcore.compiler.stream import SPARE, Source, local_gradient
from gradcore.compiler.strips import Axis, Strips, choose_strips
from gradcore.compiler.tiles import output_tiles, row_fits
from gradcore.compiler.transfers import update_bias, update_part
from gradcore.compiler.tuples import Span
from gradcore.compiler.vectors import backward_stages
from gradcore.isa.fold import ceil_div

TOGETHER = 2  # strips of a WU between those of the one beside it: the second one finds rows of the first
LAG = 0.25  # of the strips of a WU that come before those of the one beside it, whose local gradient VECTOR may make


def gradient_strips(body: Body, index: int, alone: bool) -> list[Step]:
    """WU and UPDATE of layer `index`: functions that emit one tile each. `alone`: there need not be room for the
    gradients of two tiles."""
    run = _Gradients(body, index)
    tiles, parts = run.tiles(alone)
    steps: list[Step] = [partial(run.step, maps, held) for held in parts for maps in tiles]
    rows = "all weights" if len(parts) == 1 else f"{len(parts)} parts of the weights"
    body.note(index, "WU", f"{len(tiles)} tiles of output maps, {rows}")
    return steps


def joint_gradients(body: Body, index: int, beside: int) -> bool:
    """Emits WU and UPDATE of layer `index` with the stages behind another one and the strips of its WU between its own,
    so that the beats of the one move while the array takes the steps of the other. False, and nothing is done, where
    the gradients of both do not fit at once."""
    runs = [_Gradients(body, each) for each in (index, beside)]
    first, second = runs
    tiles = [run.tiles(False) for run in runs]
    if any(len(maps) > 1 or len(parts) > 1 for maps, parts in tiles):
        return False
    whole = [(run, maps[0], parts[0]) for run, (maps, parts) in zip(runs, tiles)]
    sizes = [sum(run.rows(maps, held)) for run, maps, held in whole]
    if sum(sizes) > body.gradients.end:
        return False
    backward_stages(body, beside)
    at = body.gradients.take(sum(sizes))
    second.act.ring, second.delta.ring = first.act.ring, first.delta.ring
    one, other = (run.walks(maps, held, at + k * sizes[0]) for k, (run, maps, held) in enumerate(whole))
    behind = 0.0
    for k, done in enumerate(one, 1):
        if k % TOGETHER:
            continue
        while behind < (done - LAG) / (1 - LAG):
            behind = next(other, 1.0)
    for _ in other:
        pass
    for k, (run, maps, held) in enumerate(whole):
        run.update(maps, held, at + k * sizes[0])
        body.note(run.index, "WU", f"beside that of {runs[1 - k].p.name}")
    return True


class _Gradients:
    """WU of one layer. plans: strips, image groups in one LOAD and whether up-sampled ones come by themselves, by what
    they are of; backwards: does the next walk begin with the last images?"""

    def __init__(self, body: Body, index: int) -> None:
        setting = body.setting
        self.body, self.index, self.setting, self.p = body, index, setting, setting.layers[index]
        self.delta, act = local_gradient(body, self.p, setting.delta(index)), setting.memory.act[index]
        self.act = Source(body, index, act, Ring(0, setting.config.act_depth), [], (2 * index,))
        self.shape, self.block = delta_shape(self.p)[1:], 1 << setting.folds(index).fp
        self.images = setting.group_images(index)
        self.plans: dict[tuple[int, int, Part], tuple[Strips, int, bool]] = {}
        self.backwards = False

    @property
    def largest(self) -> int:
        """Images that the strips take at once."""
        return max(self.images, self.delta.images, self.setting.memory.act[self.index].layout.group_images)

    def tiles(self, alone: bool) -> tuple[list[Span], list[Part]]:
        """(tiles of output maps, parts of their weights) whose gradients fit twice, or once; of all weights if
        possible, and such that the operands of a block fit. `alone`: once is enough."""
        layout, config = self.setting.memory.weight[self.index].layout, self.setting.config
        every = map_groups(self.p)
        layout = replace(layout, outputs=every[0].sizes[0])
        whole = row_part(self.p, (0, self.p.weight_shape[2]))
        found = [
            output_tiles(config, layout, config.grad_depth, share)
            for share in ((1, 2) if alone else (2, 1)) + (4, 8, 16, 32, 64)
        ]
        found = [tiles for tiles in found if tiles]
        halves = self.index in self.setting.choices.halves
        if found and not halves:
            fitting = (tiles for tiles in found if self._fits(whole, tiles[0]))
            tiles = next(fitting, found[0])
            return [group.given(maps) for group in every for maps in tiles], [whole]

        def rows(part: Part) -> list[Need]:
            name = "gradient rows of a tap of one column group"
            return [Need(name, part.count + self.p.bias, config.grad_depth, True)]

        only_rows = not (halves or layout.pieces) and row_fits(config, layout)
        parts = cut(self.setting, self.index, whole, rows, only_rows)
        return self._groups((0, self.p.weight_shape[0])), parts

    def step(self, maps: Span, held: Part, fresh: bool, beside: Ring | None) -> None:
        """WU and UPDATE of one tile of output maps for the part `held` of the weights (`Step`)."""
        if fresh:
            self.delta.ring.forget()
            self.act.ring.forget()
        ring, room = self.delta.ring, 0
        if beside:  # a fully connected layer has one vector of each map for an image group
            groups = ceil_div(self.setting.images, self.images)
            room = min(beside.room, groups * (maps[1] - maps[0]) + SPARE)
            ring.begin(beside.before(room))
            room += ring.moved - SPARE
        base = self.body.gradients.take(sum(self.rows(maps, held)))
        for _ in self.walks(maps, held, base):
            pass
        if beside and ring.moved > room:
            beside.forget()
        self.update(maps, held, base)

    def rows(self, maps: Span, held: Part) -> tuple[int, int]:
        """Gradient rows of a tile: of weights, of the bias."""
        groups = ceil_div(maps[1] - maps[0], self.setting.config.cols)
        return groups * held.count, groups * (self.p.bias and held.starts)

    def update(self, maps: Span, held: Part, base: int) -> None:
        """UPDATE of a tile whose gradients are at row `base` on."""
        body, setting, index = self.body, self.setting, self.index
        groups = maps[0] // setting.config.cols, ceil_div(maps[1] - maps[0], setting.config.cols)
        count, bias = self.rows(maps, held)
        body.ops += update_part(setting, index, groups, held, base)
        if bias:
            body.ops += update_bias(setting, index, groups, base + count)

    def walks(self, maps: Span, held: Part, base: int) -> Iterator[float]:
        """Emits COMPUTE of one tile of output maps for the part `held` of the weights, whose gradients begin at row
        `base`; says after each strip what part of it is done."""
        count, bias = self.rows(maps, held)
        grads = Rows(base, base + count, base + count + bias)
        cols, per_group = self.setting.config.cols, self.p.weight_shape[0] // self.p.groups
        self.act.before = maps[0] // per_group * self.p.weight_shape[1]
        parts = [held] if self._fits(held, maps) else cut(self.setting, self.index, held, self._act)
        every = [maps] if self._fits(None, maps) else self._groups(maps)
        number = len(every) * len(parts)
        for k, own in enumerate(every):
            fit(self.setting, self.index, self.delta.needs(self.shape, self.block, own))
            at = (own[0] - maps[0]) // cols
            bias = grads.bias_base + at
            rows = Rows(grads.base + at * held.count, bias, bias + ceil_div(own[1] - own[0], cols))
            for walk, part in enumerate(parts, k * len(parts)):
                yield from ((walk + done) / number for done in self._walk(own, part, held, rows))

    def _walk(self, maps: Span, part: Part, held: Part, grads: Rows) -> Iterator[float]:
        """All strips of all images for a part of the weights of some output maps; says what part of it is done."""
        setting, index, first = self.setting, self.index, True
        plan = self._plan(maps, part)
        areas, starts = plan.areas(), [*range(0, setting.images, self.largest)]
        if self.backwards:  # with the images that are there
            starts.reverse()
        self.backwards = not self.backwards
        for k, start in enumerate(starts):
            for strip, area in enumerate(areas, k * len(areas) + 1):
                pixels = plan.pixels(area)
                for image in range(start, min(start + self.largest, setting.images), self.images):
                    # The delta can take most of its buffer and waits until that is free: it is loaded last.
                    columns = self.act.place(pixels, image, self._maps(part))
                    place = self.delta.place(pixels, image, maps), columns, grads, first, part
                    self.body.ops += gradients(setting, index, image, *place, area=area, maps=maps, held=held)
                    first = False
                yield strip / (len(areas) * len(starts))
        self.delta.single = False

    def _plan(self, maps: Span, part: Part) -> Strips:
        """The strips of a walk; the activations are set up for them."""
        self.act.axes = self._reach(part)
        key = self.delta.channels(maps)[1] - maps[0], self.act.before, part

        def strips() -> Strips:
            demands = [*self.delta.demands(maps), *self.act.demands(self._maps(part))]
            return choose_strips(self.setting, self.index, self.shape, self.block, 1, demands)

        if key not in self.plans:
            self.act.batch, self.delta.single = 1, False
            if self.delta.quarters and self.images < self.setting.images:
                self.delta.single = self._alone(strips, maps, part)
            self.act.widen(strips, self._maps(part), self.largest)
            self.plans[key] = strips(), self.act.batch, self.delta.single
        plan, self.act.batch, self.delta.single = self.plans[key]
        return plan

    def _alone(self, strips: Callable[[], Strips], maps: Span, part: Part) -> bool:
        """Does LOAD take fewer cycles where up-sampled image groups come by themselves, each read four times, so that
        the ring of activations keeps rows for the next strip?"""
        cycles = []
        for single in (False, True):
            self.delta.single = single
            try:
                plan = strips()
            except CompileError:
                cycles.append(inf)
                continue
            acts = plan.loaded(self.act.demands(self._maps(part))[0], single) * len(range(*self._maps(part)))
            deltas = plan.loaded(self.delta.demands(maps)[0], True) * len(range(*maps))
            # A vector of the local gradient is read in a quarter of its beats or, by itself, in all; it is written in a
            # cycle.
            beats = self.setting.config.vector_bytes / self.setting.config.mem_bytes
            cycles.append(acts * beats + deltas * max(beats if single else beats / 4, 1))
        return cycles[1] < cycles[0]

    def _groups(self, maps: Span) -> list[Span]:
        cols = self.setting.config.cols
        return [(at, min(at + cols, maps[1])) for at in range(maps[0], maps[1], cols)]

    def _reach(self, part: Part) -> list[Axis]:
        """What the taps of a part need of the input."""
        together = self.p.tap_rows
        low, high = (row // together * together for row in (part.rows[0], sum(part.rows) - 1))
        reach = (low, high), (part.columns[0], sum(part.columns) - 1)
        taps = zip(self.p.in_shape[1:], self.p.pad, reach, self.p.stride)
        return [
            Axis(size, 1 << self.act.fold, first - pad, last - pad, times=stride)
            for size, pad, (first, last), stride in taps
        ]

    def _maps(self, part: Part) -> Span:
        """The maps of the input that a part takes."""
        return part.channels if self.p.tap_rows == 1 else (0, self.p.in_shape[0])

    def _act(self, part: Part) -> list[Need]:
        self.act.axes, self.act.batch = self._reach(part), 1
        return self.act.needs(self.shape, self.block, self._maps(part))

    def _fits(self, part: Part | None, maps: Span) -> bool:
        """Is there room for one block's operands: of a part of the weights, if given, and of some output maps?"""
        needs = self.delta.needs(self.shape, self.block, maps) + (self._act(part) if part else [])
        return all(need.excess(False) <= 1 for need in needs)
