# SPDX-License-Identifier: Apache-2.0
"""The folds of every layer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from gradcore.compiler.windows import backward_phases, forward_runs
from gradcore.isa.fold import ceil_div, passes
from gradcore.network.weighted_layer import LayerParameters
from gradcore.ops.layer import Shape


@dataclass(frozen=True)
class LayerFolds:
    """Folds of one layer: fp computes its sums (and WU), bp the delta of its input, out the delta of its output (pooled
    or not); delta is the storage fold of its local gradient in the buffer (and of its gate), delta_dram that in
    DRAM; stored that of its output in DRAM."""

    fp: int
    bp: int
    out: int
    delta: int
    delta_dram: int
    stored: int


def choose_folds(
    layers: Sequence[LayerParameters],
    grid: int,
    images: int,
    floors: Mapping[int, int] | None = None,
    finer: bool = False,
    flat: int | None = None,
    errors: Sequence[LayerParameters] | None = None,
    direct: Collection[int] = (),
) -> list[LayerFolds]:
    """`LayerFolds` per layer: sums get the fold with the fewest passes, a pooled map the one in which the next
    layer's backward pass is shortest (ties: the coarser; without one that of its sums); never coarser than the map
    before it, at least 1 in front of a pooling and at least `floors[stage]`. Stage 2*l is layer l's sums, 2*l+1 its
    output. `finer`: sums get the fold with the fewest steps (ties: the finer), because blocks of fewer pixels leave
    out more taps. Behind windows, whose tensors have fold 0, and layers `direct` the folds begin anew; `flat`: the
    coarsest for what they stand between, floors permitting. `errors`: the layers as BP computes them, others than
    `layers` where they have a stride; what is unfolded for those, and their local gradients, have fold 0, too, and
    so has all of BP that takes a stride in phases, and FP of the layers `direct`, which take their stride
    themselves."""
    top, floors, errors = grid.bit_length() - 1, floors or {}, errors or layers
    strided = [index for index, p in enumerate(layers) if index and (index in direct or p is not errors[index])]
    phased = [index for index in strided if errors[index].stride != (1, 1)]
    anew = {index for index, p in enumerate(layers) if has_windows(p) or index in direct}
    apart = {index for index, p in enumerate(layers) if has_windows(p)}.union(*({k - 1, k} for k in strided))
    least = [
        max(floors.get(stage, 0), 1 if stage % 2 == 0 and layers[stage // 2].pool else 0)
        for stage in range(2 * len(layers))
    ]
    for stage in reversed(range(len(least) - 1)):
        if not (stage % 2 == 0 and stage // 2 in anew) and (stage + 1) / 2 not in strided:
            least[stage] = max(least[stage], least[stage + 1])
    folds, limit = [], top
    for index, p in enumerate(layers):
        for stage in (2 * index, 2 * index + 1):
            if index in (anew if stage % 2 else strided):
                limit = top
            if flat is not None and (index in apart or (stage % 2 == 0 and index - 1 in apart)):
                limit = min(limit, max(flat, least[stage]))
            if stage % 2 == 0:
                cost = forward_steps if finer else forward_passes
                costs = [cost(p, grid, fold, images) for fold in range(top + 1)]
            elif (p.pool or index in anew) and index + 1 < len(layers) and layers[index + 1].shift_bp is not None:
                costs = [backward_steps(errors[index + 1], grid, fold, images) for fold in range(top + 1)]
            else:
                folds.append(limit)
                continue
            best = min(range(top + 1), key=lambda fold: (costs[fold], fold if finer else -fold))
            limit = 0 if stage % 2 == 0 and index in direct else min(limit, max(best, least[stage]))
            folds.append(limit)
    common = _common_folds(layers, folds, top, strided)
    result = []
    for index, p in enumerate(layers):
        fp, out = folds[2 * index], folds[2 * index + 1]
        stored = 0 if index in direct or index + 1 in strided else folds[min(2 * index + 2, len(folds) - 2)]
        delta_dram = fp
        if p.pool:
            delta_dram = top if fp == out == top else min(out, fp - 1)
        elif index in strided and p.shift_bp is not None:
            delta_dram = 0
        if index + 1 in phased:
            delta_dram = 0
        if not p.alone:
            stored = delta_dram = common[p.output]
        delta = min(delta_dram + 1, top) if p.pool else delta_dram
        bp = 0 if index in phased else folds[2 * index - 1] if index else fp
        result.append(LayerFolds(fp, bp, out, delta, delta_dram, stored))
    return result


def alike(layers: Sequence[LayerParameters]) -> dict[str, int]:
    """Tensors that VECTOR takes to each other, so that they lie alike: by name the number of the first layer that
    leaves one of them. What a layer leaves for the next one alone is none of them."""
    found = {p.output: p.index for p in layers if not p.alone}
    for stage in (stage for p in layers for stage in p.stages):
        joined = {found[name] for name in stage.inputs}
        found[stage.name] = min(joined)
        found = {name: min(joined) if first in joined else first for name, first in found.items()}
    return found


def _common_folds(layers: Sequence[LayerParameters], folds: list[int], top: int, strided: list[int]) -> dict[str, int]:
    """The fold of what lies alike, by name: that of the finest access; wider windows, up-sampling and layers with a
    stride need fold 0."""
    groups = alike(layers)
    finest: dict[int, int] = {}
    used = [(p.output, 0 if p.pool else folds[2 * p.index]) for p in layers]
    used += [(p.input, min(folds[2 * p.index - 1 : 2 * p.index + 1])) for p in layers[1:]]
    used += [(stage.name, 0) for p in layers for stage in p.stages if hasattr(stage.operator, "windows")]
    used += [(name, 0) for index in strided for name in (layers[index].input, layers[index].output)]
    for name, fold in used:
        if name in groups:
            finest[groups[name]] = min(finest.get(groups[name], top), fold)
    return {name: finest[first] for name, first in groups.items()}


def has_windows(p: LayerParameters) -> bool:
    """Are there poolings among the stages behind a layer that does not hand its results to the next on its own?"""
    return not p.alone and any(hasattr(stage.operator, "windows") for stage in p.stages)


def forward_passes(p: LayerParameters, grid: int, fold: int, images: int) -> int:
    """Vectors of an output map of the whole minibatch."""
    return passes(grid, fold, images, *p.conv_shape[1:])


def forward_steps(p: LayerParameters, grid: int, fold: int, images: int) -> int:
    """Array steps per input map and column group that the forward pass of a layer takes in a fold."""
    steps = ceil_div(images, (grid >> fold) ** 2)
    for size, given, taken, pad, stride in zip(p.conv_shape[1:], p.in_shape[1:], p.weight_shape[2:], p.pad, p.stride):
        runs = forward_runs(fold, size, given, taken, pad, bool(p.pool), stride)
        steps *= sum(blocks * taps for _, blocks, _, taps in runs)
    return steps


def backward_steps(p: LayerParameters, grid: int, fold: int, images: int) -> int:
    """Array steps per output map and column group that the backward pass of a layer takes in a fold."""
    steps = ceil_div(images, (grid >> fold) ** 2)
    for size, source, *taken in zip(p.in_shape[1:], delta_shape(p)[1:], p.weight_shape[2:], p.pad, p.stride):
        phases = backward_phases(*taken)
        runs = [phase.runs(fold, size, source, (0, ceil_div(size, 1 << fold))) for phase in phases]
        steps *= sum(blocks * taps for _, blocks, _, taps in chain(*runs))
    return steps


def delta_shape(p: LayerParameters) -> Shape:
    """Shape of a layer's local gradient where it can differ from zero: pooling drops an odd last row or column."""
    return (p.out_shape[0], 2 * p.out_shape[1], 2 * p.out_shape[2]) if p.pool else p.conv_shape
