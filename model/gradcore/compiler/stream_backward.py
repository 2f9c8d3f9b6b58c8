# SPDX-License-Identifier: Apache-2.0
"""The backward pass of a layer in strips: BP, then WU and UPDATE tile by tile."""

from collections.abc import Callable
from functools import partial

from gradcore.compiler.body import Body
from gradcore.compiler.deferred import Step
from gradcore.compiler.limits import CompileError, blaming
from gradcore.compiler.map_groups import MapGroup, map_groups
from gradcore.compiler.products import backward
from gradcore.compiler.reduction import backward_parts
from gradcore.compiler.rings import Region
from gradcore.compiler.stream import Result, Source, gate_region, local_gradient, plain_axes
from gradcore.compiler.stream_gradients import gradient_strips, joint_gradients
from gradcore.compiler.strided import spread_delta
from gradcore.compiler.strips import Axis, Strips, choose_strips
from gradcore.compiler.tuples import Span
from gradcore.compiler.turns import take_turns
from gradcore.compiler.vectors import backward_stages
from gradcore.compiler.weights import BackwardWeights, other_banks
from gradcore.isa.fold import ceil_div
from gradcore.isa.instruction import GATE_BUFFER


def backward_strips(body: Body, index: int, beside: int | None = None) -> bool:
    """Emits the stages behind layer `index`, then its BP, WU and UPDATE. BP comes first, or between the tiles of WU:
    with all weights on chip, because UPDATE changes them in DRAM. `beside`: number of the next one, whose WU may come
    between the strips of WU, with the stages behind it; it has no BP. Did it?"""
    setting = body.setting
    errors: list[Callable[[bool], None]] = []
    steps: list[Step] = []
    backward_stages(body, index)
    if setting.memory.delta[index] is None:
        return False
    if setting.has_errors(index):
        spread_delta(body, index)
        errors = [step for group in map_groups(setting.errors[index]) for step in _errors(body, index, group)]
    stay = bool(errors and body.weight_rows[index]) and not other_banks(setting, index)
    deferred = index in setting.choices.deferred
    between = stay and index in setting.choices.between and not deferred
    if between:
        body.need_weights(index)
    else:
        for step in errors:
            step(False)
        errors = []
    trainable = setting.layers[index].trainable
    if beside is not None and trainable and not between and joint_gradients(body, index, beside):
        return True
    if trainable:
        steps = gradient_strips(body, index, between or deferred)
    if deferred:
        body.deferred.steps += steps
        return False
    done = 0
    for k, tile in enumerate(steps, 1):
        tile(between, None)
        until = min(ceil_div(k * len(errors), max(len(steps) - 1, 1)), len(errors))
        for other in range(done, until):
            errors[other](other == done)
        done = until
    return False


def _operands(body: Body, index: int, group: MapGroup, halves: bool) -> tuple[Source, dict[str, Result]]:
    """What BP of a group of a layer reads and gives. `halves`: gates of both are in the gate buffer at once."""
    setting, memory = body.setting, body.setting.memory
    p, error, gate = setting.errors[index], setting.error(index), memory.spilled[index - 1]
    low = [pad - k + step for pad, k, step in zip(p.pad, p.weight_shape[2:], p.stride)]
    spread = memory.spread[index]
    assert spread
    delta = local_gradient(body, p, spread, low, p.pad, p.stride)
    delta.before = group.outputs[0]
    sized = [Axis(size, 1 << error.layout.fold) for size in p.in_shape[1:]]
    stages, region = (2 * index - 1,), Region(0, setting.config.act_depth)
    results = {"dest": Result(body, index, error, 0, region, sized, stages)}
    if gate and not setting.layers[index - 1].pool:
        region = gate_region(setting)
        if delta.gate and halves:
            middle = (region.first + region.end) // 2
            delta.gates, region = Region(region.first, middle), Region(middle, region.end)
        results["gate"] = Result(body, index, gate, GATE_BUFFER, region, plain_axes(gate), stages, True)
    return delta, results


def _errors(body: Body, index: int, group: MapGroup) -> list[Callable[[bool], None]]:
    """BP of a group from the layer's local gradient to that of the layer before: functions that emit it step by step,
    step(fresh); `fresh`: others have used the operand buffers."""
    setting = body.setting
    p, fold, outputs = setting.errors[index], setting.folds(index).bp, group.sizes[0]
    delta, results = _operands(body, index, group, True)
    weights = BackwardWeights(body, index, group)

    def strips(maps: Span) -> Strips:
        given = (demand for one in results.values() for demand in one.demands(group.taken(maps)))
        demands = [*delta.demands((0, outputs)), *given]
        return choose_strips(setting, index, p.in_shape[1:], 1 << fold, 1, demands)

    try:
        tiles = weights.tiles()
        plan = delta.fitting(lambda: strips(tiles[0]))
    except CompileError as error:
        delta, results = _operands(body, index, group, False)
        with blaming(error):
            backward_parts(body, index, group, delta, results)
        return []
    turns = take_turns(body, index, delta, results, (0, outputs), [group.taken(maps) for maps in tiles], plan)
    body.note(index, "BP", f"{plan}, {len(tiles)} tiles of input maps{turns.text}", group)
    images = setting.fold_images(fold)

    def step(maps: Span, start: int, fresh: bool) -> None:
        delta, results = turns.of(start)
        if fresh:
            turns.forget()
        for area in plan.areas():
            if body.deferred.emit(body.ops, None if turns.stay else delta.ring) and turns.stay:
                turns.forget()
            pixels = plan.pixels(area)
            for image in range(start, min(start + turns.images, setting.images), images):
                read = delta.place(pixels, image, (0, outputs))
                rows, own = weights.need(maps), group.taken(maps)
                places = {name: one.place(pixels, image, own) for name, one in results.items()}
                dest, gate = places["dest"], places.get("gate")
                body.ops += backward(setting, index, image, read, dest, rows, area=area, maps=own, gate=gate)
                last = (area, maps) == (plan.areas()[-1], tiles[-1]) and image + images >= setting.images
                for one in results.values():
                    one.finish(pixels, image, own, image + images, last and index in setting.choices.urgent)

    return [partial(step, maps, start) for maps in tiles for start in range(0, setting.images, turns.images)]
