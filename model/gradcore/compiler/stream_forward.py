# SPDX-License-Identifier: Apache-2.0
"""The forward pass of layers in strips."""

from collections.abc import Iterator, Sequence

from gradcore.compiler.body import Body
from gradcore.compiler.limits import CompileError, blaming
from gradcore.compiler.map_groups import MapGroup, map_groups
from gradcore.compiler.operands import ProductOptions
from gradcore.compiler.products import forward
from gradcore.compiler.reduction import forward_parts
from gradcore.compiler.rings import Region, Ring
from gradcore.compiler.softmax import softmax_strips
from gradcore.compiler.stream import Result, Source, gate_region, plain_axes
from gradcore.compiler.strided import unfold_input
from gradcore.compiler.strips import Axis, Strips, choose_strips
from gradcore.compiler.tuples import Span
from gradcore.compiler.turns import take_turns
from gradcore.compiler.vectors import forward_stages, late_indices
from gradcore.compiler.weights import ForwardWeights
from gradcore.isa.fold import ceil_div
from gradcore.isa.instruction import GATE_BUFFER


def forward_strips(body: Body, chain: Sequence[int]) -> None:
    """Emits the forward pass of the layers `chain` and of the stages behind them, from DRAM to DRAM. Each takes some
    images when the layer before it is as many ahead: the STOREs of the one, and what VECTOR makes of them, have the
    time of the other. Several layers need all their weights on chip."""
    images, depth = body.setting.images, body.setting.config.act_depth
    ring, region = Ring(0, depth), Region(0, depth)
    for index in chain[1:]:
        body.note(index, "FP", "image groups in turns with those of the layer before")
    runs = [_steps(body, index, ring, region) for index in chain]
    done, after = [0 for _ in runs], [next(run) for run in runs]
    while done[-1] < images:
        for k, run in enumerate(runs):
            if done[k] < images and (k == 0 or done[k - 1] >= min(2 * after[k] - done[k], images)):
                done[k], after[k] = after[k], next(run, images)


def _steps(body: Body, index: int, ring: Ring, region: Region) -> Iterator[int]:
    """Emits the forward pass of layer `index` and of the stages behind it; says before each step how many images will
    be done behind it. Operands and results go where those of the layers beside it are not."""
    setting, groups = body.setting, map_groups(body.setting.forward[index])
    sizes = {place.result.layout.group_images for place in setting.memory.stages[index]}
    unfolded = setting.memory.act[index] is not setting.memory.plain[index]
    if len(groups) > 1 or unfolded or index == setting.last or len(sizes) > 1:
        yield setting.images
        unfold_input(body, index)
        for group in groups:
            for _ in _forward_group(body, index, group, ring, region):
                pass
        forward_stages(body, index)
        if body.train and index == setting.last and setting.softmax:
            softmax_strips(body)
        return
    size, first = min(sizes, default=setting.images), 0
    run = _forward_group(body, index, groups[0], ring, region)
    after: int | None = next(run)
    while after:
        yield after
        until, after = ceil_div(after, size), next(run, None)
        forward_stages(body, index, range(first, until))
        first = until


def _forward_group(body: Body, index: int, group: MapGroup, ring: Ring, region: Region) -> Iterator[int]:
    """The same for a group of the layer alone."""
    setting, memory = body.setting, body.setting.memory
    p, fold = setting.forward[index], setting.folds(index).fp
    softmax = body.train and index == setting.last and setting.softmax
    loss = body.train and index == setting.last and not softmax
    given, taken = setting.output(index, body.train and not softmax), setting.input(index)
    whole, every, block = (0, group.sizes[0]), (0, group.sizes[1]), 1 << fold
    reach = [
        Axis(size, 1 << taken.layout.fold, -pad, kernel - 1 - pad, times=stride)
        for size, pad, kernel, stride in zip(p.in_shape[1:], p.pad, p.weight_shape[2:], p.stride)
    ]
    source = Source(body, index, taken, ring, reach, (2 * index,), before=group.inputs[0])
    layout = given.layout
    axes = [Axis(size, 1 << layout.fold, step=1 + bool(p.pool)) for size in (layout.height, layout.width)]
    results = {"dest": Result(body, index, given, 1, region, axes, (2 * index + 2,))}
    if loss:
        axes = plain_axes(memory.target)
        results["targets"] = Result(
            body, index, memory.target, GATE_BUFFER, gate_region(setting), axes, (2 * index,), True
        )
    elif body.train and (spilled := memory.spilled[index]):
        results["gate"] = Result(
            body, index, spilled, GATE_BUFFER, gate_region(setting), plain_axes(spilled), (2 * index + bool(p.pool),)
        )

    def strips(maps: Span) -> Strips:
        demands = [
            *source.demands(every),
            *(demand for one in results.values() for demand in one.demands(group.given(maps))),
        ]
        return choose_strips(setting, index, p.conv_shape[1:], block, 1 + bool(p.pool), demands)

    weights = ForwardWeights(body, index, group)
    try:
        tiles, by_weights = weights.tiles(lambda tiles: strips(whole if len(tiles) > 1 else tiles[0]), taken)
        plan = strips(tiles[0] if by_weights else whole)
    except CompileError as error:
        yield setting.images
        with blaming(error):
            forward_parts(body, index, group, source, results)
        return
    order = "each through all images" if by_weights else "all for each strip"
    turns = take_turns(body, index, source, results, every, [group.given(maps) for maps in tiles], plan)
    body.note(index, "FP", f"{plan}, {len(tiles)} tiles of output maps, {order}{turns.text}", group)
    images, steps = setting.group_images(index), len(tiles) == 1 and not turns.stay
    if not steps:
        yield setting.images
    for outer in [[tile] for tile in tiles] if by_weights else [tiles]:
        for start in range(0, setting.images, turns.images):
            source, results = turns.of(start)
            if steps:
                yield min(start + turns.images, setting.images)
            for area in plan.areas():
                pixels = plan.pixels(area)
                for image in range(start, min(start + turns.images, setting.images), images):
                    since, read = len(body.ops), source.place(pixels, image, every)
                    for maps in outer:
                        rows, own = weights.need(maps), group.given(maps)
                        places = {name: one.place(pixels, image, own) for name, one in results.items()}
                        gate, targets = places.get("gate"), places.get("targets")
                        more = ProductOptions(area=area, maps=own, train=body.train, gate=gate, targets=targets)
                        body.ops += forward(setting, index, image, read, places["dest"], rows, **more)
                        for one in results.values():
                            one.finish(pixels, image, own, image + images)
                    late_indices(body, since)
