# SPDX-License-Identifier: Apache-2.0
"""The forward pass of a layer in strips."""

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
from gradcore.compiler.vectors import forward_stages, late_indices
from gradcore.compiler.weights import ForwardWeights
from gradcore.isa.instruction import GATE_BUFFER


def forward_strips(body: Body, index: int) -> None:
    """Emits the forward pass of layer `index` and of the stages behind it: from its input to its output, in DRAM."""
    unfold_input(body, index)
    for group in map_groups(body.setting.forward[index]):
        _forward_group(body, index, group)
    forward_stages(body, index)
    if body.train and index == body.setting.last and body.setting.softmax:
        softmax_strips(body)


def _forward_group(body: Body, index: int, group: MapGroup) -> None:
    setting, memory, config = body.setting, body.setting.memory, body.setting.config
    p, fold = setting.forward[index], setting.folds(index).fp
    softmax = body.train and index == setting.last and setting.softmax
    loss = body.train and index == setting.last and not softmax
    given, taken = setting.output(index, body.train and not softmax), setting.input(index)
    whole, every, block = (0, group.sizes[0]), (0, group.sizes[1]), 1 << fold
    reach = [
        Axis(size, 1 << taken.layout.fold, -pad, kernel - 1 - pad, times=stride)
        for size, pad, kernel, stride in zip(p.in_shape[1:], p.pad, p.weight_shape[2:], p.stride)
    ]
    source = Source(body, index, taken, Ring(0, config.act_depth), reach, (2 * index,), before=group.inputs[0])
    layout = given.layout
    axes = [Axis(size, 1 << layout.fold, step=1 + bool(p.pool)) for size in (layout.height, layout.width)]
    results = {"dest": Result(body, index, given, 1, Region(0, config.act_depth), axes, (2 * index + 2,))}
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
        with blaming(error):
            forward_parts(body, index, group, source, results)
        return
    order = "each through all images" if by_weights else "all for each strip"
    body.note(index, "FP", f"{plan}, {len(tiles)} tiles of output maps, {order}", group)
    images = setting.group_images(index)
    largest = max(images, source.images, *(one.images for one in results.values()))
    for outer in [[tile] for tile in tiles] if by_weights else [tiles]:
        for start in range(0, setting.images, largest):
            for area in plan.areas():
                pixels = plan.pixels(area)
                for image in range(start, min(start + largest, setting.images), images):
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
