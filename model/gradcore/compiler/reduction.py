# SPDX-License-Identifier: Apache-2.0
"""Reductions in parts: the sums of one block and one column group stay in the array while the weights and operands of
the next part come. Operands of FP may stay in both operand buffers for all column groups."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from gradcore.compiler.body import Body
from gradcore.compiler.folds import delta_shape
from gradcore.compiler.map_groups import MapGroup
from gradcore.compiler.memory_map import Tile
from gradcore.compiler.operands import ProductOptions
from gradcore.compiler.operation import Part, Place, Rows
from gradcore.compiler.parts import Need, cut, fit
from gradcore.compiler.products import backward, forward
from gradcore.compiler.rings import Region, Ring
from gradcore.compiler.setting import Setting
from gradcore.compiler.stream import Result, Source
from gradcore.compiler.strips import Axis, Strips, largest_need
from gradcore.compiler.tuples import Area, Count, Fields, Span
from gradcore.compiler.turns import Turns, take_turns
from gradcore.compiler.weights import BackwardWeights, ForwardWeights
from gradcore.compiler.windows import backward_phases
from gradcore.isa.fold import ceil_div, round_up
from gradcore.ops.layer import Shape

At = tuple[Area, int, Span]  # pixels, image, maps
Given = dict[str, Result]
Places = Callable[[bool], dict[str, Place]]  # where the results of a block are, by name: places(last)


def _column_groups(maps: Span, cols: int) -> list[Span]:
    return [(first, min(first + cols, maps[1])) for first in range(maps[0], maps[1], cols)]


def forward_parts(body: Body, index: int, group: MapGroup, source: Source, results: dict[str, Result]) -> None:
    """FP of a group of a layer block by block, each output group in parts."""
    setting, config = body.setting, body.setting.config
    p, fold = setting.forward[index], setting.folds(index).fp
    _, inputs, *kernel = p.weight_shape
    weights, block = ForwardWeights(body, index, group), 1 << fold

    def reach(part: Part) -> list[Axis]:
        taps = zip(p.in_shape[1:], p.pad, (part.rows, part.columns), p.stride)
        return [
            Axis(size, 1 << source.fold, k - pad, k + n - 1 - pad, times=stride) for size, pad, (k, n), stride in taps
        ]

    def needs(part: Part) -> list[Need]:
        source.axes = reach(part)
        rows = Need("weight rows of a tap of one column group", weights.of_part(part), config.wgt_depth, True)
        return [rows, *([] if halves else source.needs(p.conv_shape[1:], block, part.channels))]

    whole = Part((0, kernel[0]), (0, kernel[1]), (0, inputs))
    source.axes = reach(whole)
    halves = _halves(body, index, group, source, results)
    body.note(index, "FP", "block by block in parts" + ", operands in both operand buffers" * bool(halves), group)
    wholes = [replace(whole, channels=channels) for channels in halves] or [whole]
    parts = [part for one in wholes for part in cut(setting, index, one, needs)]
    parts = [replace(part, first=part is parts[0], last=part is parts[-1]) for part in parts]
    held = _held(setting, index, source, reach(whole), halves, parts)

    def place(pixels: Area, image: int, part: Part) -> Place:
        if held:
            return held[part.channels].place(pixels, image, part.channels)
        source.axes = reach(part)
        return source.place(pixels, image, part.channels)

    def emit(image: int, area: Area, pixels: Area, maps: Span, places: Places) -> None:
        for part in parts:
            read = place(pixels, image, part)
            rows, strides = weights.part(part, (maps[0] - group.outputs[0], maps[1] - group.outputs[0]))
            dest, more = _options(area, maps, part, strides, places)
            more["train"] = body.train
            body.ops.extend(forward(setting, index, image, read, dest, rows, **more))

    shape, groups = p.conv_shape, _column_groups(group.outputs, config.cols)
    images = max(setting.group_images(index), source.images, *(one.images for one in results.values()))
    turns = Turns(images, ((source, results),))
    _blocks(body, index, shape, fold, setting.group_images(index), turns, groups, emit, 1 + bool(p.pool))


def _halves(body: Body, index: int, group: MapGroup, source: Source, results: dict[str, Result]) -> list[Span]:
    """The halves (first, end) of the channels of FP, one for each operand buffer, if the layer is to keep a block's
    operands so and they fit, with two places for results behind the first half; `results` then go there. Else none."""
    setting, depth, cols = body.setting, body.setting.config.act_depth, body.setting.config.cols
    p, fold, dest = setting.forward[index], setting.folds(index).fp, results["dest"]
    images, inputs = setting.group_images(index), p.weight_shape[1]
    middle = round_up(ceil_div(inputs, 2), cols)
    alone = source.images == images and all(one.images == images for one in results.values())
    if index not in setting.choices.held or p.pool or not alone or middle >= inputs:
        return []
    halves = [(0, middle), (middle, inputs)]
    sizes = [_vectors(setting, index, source, channels) for channels in halves]
    plan = Strips(p.conv_shape[1:], 1 << fold, 1, 1)
    demands = [demand for maps in _column_groups(group.outputs, cols) for demand in dest.demands(maps)]
    if max(sizes[0] + 2 * max(largest_need(plan, demand, False) for demand in demands), sizes[1]) > depth:
        return []
    results["dest"] = replace(dest, buffer=0, region=Region(sizes[0], depth))
    return halves


def _held(
    setting: Setting, index: int, source: Source, axes: list[Axis], halves: list[Span], parts: list[Part]
) -> dict[Span, Source]:
    """For the channels of each part a `Source` with a place of its own in the buffer of its half: an access begins with
    channel 0 of what a LOAD brings. None without halves."""
    held: dict[Span, Source] = {}
    at = [0] * len(halves)
    source.axes = axes
    for part in parts:
        for buffer, (first, end) in enumerate(halves):
            if first <= part.channels[0] < end and part.channels not in held:
                ring = Ring(buffer, setting.config.act_depth)
                held[part.channels] = replace(source, ring=ring, home=at[buffer])
                at[buffer] += _vectors(setting, index, source, part.channels)
    return held


def _vectors(setting: Setting, index: int, source: Source, channels: Span) -> int:
    """What a block of FP needs of some channels (first, end)."""
    shape, block = setting.forward[index].conv_shape[1:], 1 << setting.folds(index).fp
    return sum(need.size for need in source.needs(shape, block, channels))


def backward_parts(body: Body, index: int, group: MapGroup, delta: Source, results: dict[str, Result]) -> None:
    """BP of a group of a layer block by block, each COLS input maps in parts."""
    setting, config = body.setting, body.setting.config
    p, fold = setting.errors[index], setting.folds(index).bp
    (outputs, _), kernel = group.sizes, p.weight_shape[2:]
    weights, block = BackwardWeights(body, index, group), 1 << fold
    phases = [backward_phases(*taken) for taken in zip(kernel, p.pad, p.stride)]

    def reach(part: Part) -> list[Axis]:
        """Of what it takes of the pixels that a stride brings to its taps."""
        taps = zip(delta_shape(p)[1:], p.pad, (part.rows, part.columns), p.stride)
        return [
            Axis(size, 1 << delta.fold, pad - k - (n - 1) * step, pad - k + step - 1, step)
            for size, pad, (k, n), step in taps
        ]

    @cache
    def parts(rows: Count, columns: Count, maps: Span) -> list[Part]:
        def needs(part: Part) -> list[Need]:
            delta.axes = reach(part)
            own = weights.of_part(part, maps)
            found = Need("weight rows of a tap of one column group", own, config.wgt_depth, True)
            return [found, *delta.needs(p.in_shape[1:], block, part.channels)]

        return cut(setting, index, Part(rows, columns, (0, outputs), step=p.stride), needs)

    def taps(axis: int, at: int) -> Count:
        """Those that reach a block: first, number."""
        phase = phases[axis][at % p.stride[axis]]
        sizes = p.in_shape[1 + axis], delta_shape(p)[1 + axis]
        ((_, _, first, count),) = phase.runs(fold, *sizes, (at, at + 1))
        return phase.tap + phase.stride * first, count

    def emit(image: int, area: Area, pixels: Area, maps: Span, places: Places) -> None:
        down, across = taps(0, area[0][0]), taps(1, area[1][0])
        own = maps[0] - group.inputs[0], maps[1] - group.inputs[0]
        if not down[1] or not across[1]:
            nothing = Part(down, across, (0, 0))
            dest, more = _options(area, maps, nothing, {}, places)
            empty = Place(delta.ring.buffer, 0, Tile(delta.fold, 1, 1, 1), ())
            body.ops.extend(backward(setting, index, image, empty, dest, Rows(0, 0, 0), **more))
            return
        for part in parts(down, across, own):
            source, _ = turns.of(image)
            source.axes = reach(part)
            read = source.place(pixels, image, part.channels)
            rows, strides = weights.part(part, own)
            dest, more = _options(area, maps, part, strides, places)
            body.ops.extend(backward(setting, index, image, read, dest, rows, **more))

    shape, groups = p.in_shape, _column_groups(group.inputs, config.cols)
    turns = take_turns(body, index, delta, results, (0, outputs), groups, Strips(shape[1:], block, 1, 1))
    body.note(index, "BP", "block by block in parts" + turns.text, group)
    _blocks(body, index, shape, fold, setting.fold_images(fold), turns, groups, emit, 1)


def _options(area: Area, maps: Span, part: Part, strides: Fields, places: Places) -> tuple[Place, ProductOptions]:
    """Where the results of a part of a block go, and what its COMPUTE is given besides."""
    found = places(part.last)
    gate, targets = found.get("gate"), found.get("targets")
    more = ProductOptions(area=area, maps=maps, part=part, strides=strides, gate=gate, targets=targets)
    return found["dest"], more


def _blocks(
    body: Body,
    index: int,
    shape: Shape,
    fold: int,
    images: int,
    turns: Turns,
    groups: list[Span],
    emit: Callable[[int, Area, Area, Span, Places], None],
    step: int,
) -> None:
    """All blocks of a map: emit(image, area, pixels, maps, places) each, then STORE; places(last) says where the
    results are. With pooling (`step` 2) four blocks share a result. The images of all `turns` that stay come together.
    """
    setting, (source, results) = body.setting, turns.of(0)
    plan = Strips(shape[1:], 1 << fold, step, step)
    demands = [demand for one in results.values() for maps in groups for demand in one.demands(maps)]
    fit(setting, index, [Need(demand.name, largest_need(plan, demand, False), demand.depth) for demand in demands])
    largest = setting.images if turns.stay else turns.images
    # What is loaded into the gate buffer comes with the last part where LOAD needs that buffer for gates, too.
    late = {name for name, one in results.items() if one.load and source.gate}
    for start in range(0, setting.images, largest):
        for area in plan.areas():
            pixels = plan.pixels(area)
            for maps in groups:
                for image in range(start, min(start + largest, setting.images), images):
                    body.check_number()
                    _, results = turns.of(image)

                    def places(last: bool, of: Given = results, at: At = (pixels, image, maps)) -> dict[str, Place]:
                        return {name: one.place(*at) for name, one in of.items() if last or name not in late}

                    places(False)
                    for y in range(*area[0]):
                        for x in range(*area[1]):
                            one = ((y, y + 1), (x, x + 1))
                            emit(image, one, plan.pixels(one), maps, places)
                    for name, result in results.items():
                        result.finish(pixels, image, maps, setting.images if name in late else image + images)
