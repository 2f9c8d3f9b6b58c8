# SPDX-License-Identifier: Apache-2.0
"""The search: which `Choices` give the fastest program by the estimate."""

from dataclasses import replace

from gradcore.compiler.choices import Choices
from gradcore.compiler.compiled import CompiledNetwork, compile_program
from gradcore.compiler.limits import CompileError
from gradcore.compiler.memory_map import memory_map
from gradcore.compiler.setting import Setting
from gradcore.compiler.unfold import unfolded
from gradcore.isa.config import EngineConfig


def search(network, config: EngineConfig, images: int, keep: bool) -> CompiledNetwork:
    """The fastest programs found for minibatches of `images`. Raises CompileError where none fits."""
    task = network, config, images, keep
    first = network.parameters[0]
    if unfolded(first, config.cols) is first:
        return _fastest(task, Choices())
    try:
        found = _fastest(task, Choices(unfolded=True))
    except CompileError:
        return _fastest(task, Choices())  # the unfolded input takes more room
    if not _one_group(found):
        return found
    # With few images the beats of the unfolded input can cost more than the array steps that it spares.
    return min(found, _fastest(task, Choices()), key=_cycles)


def _fastest(task: tuple, choices: Choices) -> CompiledNetwork:
    """The fastest of the programs with ever coarser folds of the pooled maps: finer ones take fewer steps, but larger
    tiles."""
    best = _fitting(task, choices)
    for index in (index for index, p in enumerate(best.setting.layers) if p.pool):
        while (fold := best.memory.folds[index].out) < best.memory.folds[index].fp:
            try:
                other = _fitting(task, best.setting.choices.with_floor(2 * index + 1, fold + 1))
            except CompileError:
                break
            if _cycles(other) >= _cycles(best):
                break
            best = other
    return _early_gradients(best) if _one_group(best) else best


def _early_gradients(best: CompiledNetwork) -> CompiledNetwork:
    """The same with WU before BP in the layers where that is faster: with few images UPDATE takes long, and begins
    earlier so."""
    for index in reversed(range(1, len(best.setting.layers))):
        best = _try(best, early=best.setting.choices.early | {index})
    if len(best.setting.layers) > 1:
        best = _try(best, last_row=True)
    return best


def _try(best: CompiledNetwork, **changed) -> CompiledNetwork:
    """The faster of a network and the same with other choices that leave its memory map as it is."""
    setting = replace(best.setting, choices=best.setting.choices.but(**changed))
    train = compile_program("train", setting)
    return replace(best, setting=setting, train=train) if train.cycles < best.train.cycles else best


def _fitting(task: tuple, choices: Choices) -> CompiledNetwork:
    """The network with folds as fine as the buffers have room for, at least those of `choices`."""
    network, config, images, keep = task
    layers = network.parameters
    if choices.unfolded:
        layers = (unfolded(layers[0], config.cols), *layers[1:])
    while True:
        memory = memory_map(network, layers, config, images, dict(choices.floors))
        setting = Setting(network, layers, config, images, memory, choices, keep)
        try:
            return CompiledNetwork(setting, compile_program("train", setting), compile_program("infer", setting))
        except CompileError as error:
            # Tiles of a fold with many images may not fit: compute coarser in the finest of the maps concerned.
            now = {stage: _stage_fold(memory, stage) for stage in error.stages if stage < 2 * len(memory.folds)}
            if not now or min(now.values()) == config.log_grid:
                raise
            stage = min(now, key=lambda s: (now[s], -s))
            choices = choices.with_floor(stage, now[stage] + 1)


def _stage_fold(memory, stage: int) -> int:
    folds = memory.folds[stage // 2]
    return folds.out if stage % 2 else folds.fp


def _cycles(compiled: CompiledNetwork) -> int:
    return compiled.train.cycles


def _one_group(compiled: CompiledNetwork) -> bool:
    """Has every tensor a single group of images?"""
    return all(tensor.layout.groups == 1 for tensor in compiled.memory.act)
