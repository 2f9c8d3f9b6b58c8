# SPDX-License-Identifier: Apache-2.0
"""The search: which `Choices` give the fastest program by the estimate."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from gradcore.compiler.choices import Choices
from gradcore.compiler.compiled import INDEX_LIMIT, CompiledNetwork, compile_program
from gradcore.compiler.folds import backward_steps, delta_shape, has_windows
from gradcore.compiler.limits import CompileError, TooMany
from gradcore.compiler.memory_map import MemoryMap, memory_map
from gradcore.compiler.operation import Op
from gradcore.compiler.setting import Setting
from gradcore.compiler.tiles import output_tiles
from gradcore.compiler.tuples import Layers
from gradcore.compiler.unfold import column_groups, forward_layers, strided_layers, unfolded
from gradcore.isa.config import EngineConfig
from gradcore.isa.fold import ceil_div
from gradcore.isa.instruction import FP, WU, Opcode
from gradcore.network.description import Network
from gradcore.network.weighted_layer import LayerParameters

# Network, engine, images, whether deltas are kept, what has been tried.
Task = tuple[Network, EngineConfig, int, bool, dict[Choices, CompiledNetwork]]
LOW = 8  # `Choices.low` where it is tried
Remedy = Callable[["_Refused", Choices], Choices | None]


def search(network: Network, config: EngineConfig, images: int, keep: bool) -> CompiledNetwork:
    """The fastest programs found for minibatches of `images`. Raises CompileError where none fits."""
    best = fastest(network, config, images, keep)
    names = _finer_without_pooling(best) if config.has_vector else []
    for some in (names, names[:1])[: len(names)]:
        with suppress(CompileError):
            apart = fastest(network, config, images, keep, frozenset(some), _many(best))
            # The estimate knows what VECTORs cost to half a hundredth.
            if 100 * _cycles(apart) < 99 * _cycles(best):
                return apart
    return best


def _finer_without_pooling(found: CompiledNetwork) -> list[str]:
    """The layers whose 2x2 maximum pooling costs half a hundredth of all cycles, because it keeps their passes from
    fold 0: blocks of pixels leave out fewer taps. Those that cost the most come first."""
    config, images, costs = found.config, found.setting.images, dict[str, int]()
    for p in (p for p in found.network.parameters if p.pool and not p.factor and p.shift_bp is not None):
        now, least = (backward_steps(p, config.grid, fold, images) for fold in (found.memory.folds[p.index].bp, 0))
        outputs, inputs, *_ = p.weight_shape
        # FP and WU take as many steps as BP.
        costs[p.name] = 3 * (now - least) * outputs * ceil_div(inputs, config.cols)
    return sorted((name for name in costs if 200 * costs[name] > _cycles(found)), key=lambda name: -costs[name])


def fastest(
    network: Network,
    config: EngineConfig,
    images: int,
    keep: bool,
    apart: frozenset[str] = frozenset(),
    limit: int = INDEX_LIMIT,
) -> CompiledNetwork:
    """The fastest programs found with the 2x2 maximum poolings behind the layers `apart` as stages, of fewer than
    `limit` instructions. Raises CompileError where none fits."""
    network = network.with_poolings_apart(apart)
    needed = {index for index, p in enumerate(network.parameters) if p.groups > 1 or p.stages or not p.alone}
    for index in strided_layers(network):
        needed |= {index - 1, index}
    start = Choices(apart=apart, strips=frozenset(_together(network.parameters, needed)))
    task: Task = (network, config, images, keep, {})
    first = forward_layers(network, config, images, start.floors)[0]
    whole = first.weight_shape[2]
    if unfolded(first, config.cols, whole) is first:
        return _flattest(task, start, limit)
    found: list[CompiledNetwork] = []
    forms = {rows: unfolded(first, config.cols, rows) for rows in range(1, whole + 1)}
    times = {rows: _block_time(p, config) for rows, p in forms.items() if p is not first}
    for some in sorted({whole, min(times, key=lambda rows: times[rows])}, reverse=True):
        with suppress(CompileError):  # the unfolded input takes more room
            found.append(_flattest(task, start.but(unfolded=some), min(map(_many, found), default=limit)))
    if found and not _one_group(found[0]):
        return min(found, key=_cycles)
    # With few images the beats of the unfolded input can cost more than the array steps that it spares.
    return min([*found, _flattest(task, start, limit)], key=_cycles)


def _block_time(p: LayerParameters, config: EngineConfig) -> int:
    """About the cycles of a block of the first layer's WU: its steps, or the beats of its operands."""
    outputs = p.weight_shape[0]
    beats = (p.in_shape[0] + outputs) * config.vector_bytes // config.mem_bytes
    return max(column_groups(p, config.cols) * config.cols * ceil_div(outputs, config.cols), beats)


def _many(compiled: CompiledNetwork) -> int:
    """So many instructions mean small pieces: not worth the estimate."""
    return 4 * len(compiled.train.ops)


def _flattest(task: Task, choices: Choices, limit: int) -> CompiledNetwork:
    """The fastest of the programs with a limit for the folds beside windows: finer ones than the minibatch fills waste
    lanes, coarser ones take room for the many images of fold 0."""
    network, config, images, *_ = task
    if not strided_layers(network) and not any(has_windows(p) for p in network.parameters):
        return _fastest(task, choices, limit)
    filled = next(fold for fold in range(config.log_grid + 1) if (config.grid >> fold) ** 2 <= images)
    found: list[CompiledNetwork] = []
    for flat in (filled, filled - 1 if filled else 1):
        with suppress(CompileError):
            most = min(map(_many, found), default=limit)
            found.append(_fastest(task, choices.but(flat=flat), most))
    return min(found, key=_cycles) if found else _fastest(task, choices, limit)


def _fastest(task: Task, choices: Choices, limit: int) -> CompiledNetwork:
    """The faster of coarser folds and of strips where something does not fit; then the fastest of the programs with
    ever coarser folds of the pooled maps: finer ones take fewer steps, but larger tiles."""
    found: list[CompiledNetwork] = []
    with suppress(TooMany):
        found.append(_fitting(task, choices, _spilled, _coarser, _in_strips, most=limit))
    if not found or found[0].setting.choices != choices:
        try:
            most = min(map(_many, found), default=limit)
            found.append(_fitting(task, choices, _in_strips, _coarser, most=most))
        except CompileError:
            if not found:
                raise
    best = min(found, key=_cycles)
    pooled = [index for index, p in enumerate(best.setting.layers) if p.pool]
    for index in (index for index in pooled if index not in best.setting.choices.strips):
        while (fold := best.memory.folds[index].out) < best.memory.folds[index].fp:
            try:
                floor = best.setting.choices.with_floor(2 * index + 1, fold + 1)
                other = _fitting(task, floor, _spilled, _coarser, _in_strips, most=_many(best))
            except CompileError:
                break
            if _cycles(other) >= _cycles(best):
                break
            best = other
    if best.setting.choices.strips:  # what is larger than the buffers can as well have larger tiles
        with suppress(CompileError):
            finer = _fitting(task, choices.but(finer=True), _spilled, _in_strips, _coarser, most=_many(best))
            best = min(best, finer, key=_cycles)
    best = _deferred(_one_by_one(_urgent(_in_turns(_lower_strips(_updates_between(_smaller_parts(best)))))))
    return _early_gradients(best) if _one_group(best) else best


def _lower_strips(best: CompiledNetwork) -> CompiledNetwork:
    """The same with lower strips where that is faster: they take more instructions, but a pass waits for its first
    strip alone, and the next one for the last."""
    if not best.setting.choices.strips:
        return best
    other = _try(best, low=LOW)
    return best if other is best else replace(other, infer=compile_program("infer", other.setting))


def _in_turns(best: CompiledNetwork) -> CompiledNetwork:
    """The same with image groups of FP in turns with those of the layer before, in layers in strips behind stages,
    where that is faster: VECTOR has the time of the array's next step."""
    strips, stages = best.setting.choices.strips, best.memory.stages
    behind = frozenset(k for k in strips if k - 1 in strips and stages[k - 1])
    return _try(best, turned=behind) if behind and best.memory.act[0].layout.groups > 1 else best


def _urgent(best: CompiledNetwork) -> CompiledNetwork:
    """The same with the last STORE of BP before the array's steps of WU, in the layers in strips behind stages, where
    that is faster."""
    layers, stages = best.setting.layers, best.memory.stages
    some = (k for k in best.setting.choices.strips if k and stages[k - 1] and best.setting.has_errors(k))
    behind = frozenset(k for k in some if layers[k].trainable)
    return _try(best, urgent=behind) if behind else best


def _one_by_one(best: CompiledNetwork) -> CompiledNetwork:
    """The same with WU of the first trained layer behind that of the second, both in strips, where that is faster:
    beside each other they share the memory's bandwidth with what VECTOR still does."""
    first = best.setting.first
    return _try(best, beside=False) if {first, first + 1} <= best.setting.choices.strips else best


def _deferred(best: CompiledNetwork) -> CompiledNetwork:
    """The same with WU of layers whose UPDATE takes longer than the array between the strips of BP of those before
    them, where that is faster."""
    layers, taken, moved = best.setting.layers, dict[str, int](), dict[str, int]()
    for op in best.train.ops:
        if op.instr.opcode == Opcode.UPDATE:
            moved[op.layer] = moved.get(op.layer, 0) + op.beats
        elif op.instr.opcode == Opcode.COMPUTE and op.instr["mode"] == WU:
            taken[op.layer] = taken.get(op.layer, 0) + op.cycles
    long = {k for k in best.setting.choices.strips if moved.get(layers[k].name, 0) > taken.get(layers[k].name, 0)}
    return _try(best, deferred=frozenset(long)) if long else best


def _smaller_parts(best: CompiledNetwork) -> CompiledNetwork:
    """The same with operands of reductions in parts in both operand buffers, and with WU in parts where the gradients
    of a tile fit only once, in the layers in strips where that is faster."""
    config = best.config
    for index in sorted(best.setting.choices.strips):
        layout = best.memory.weight[index].layout
        with suppress(CompileError):
            again = _dense(best, index) and best.memory.act[index].layout.groups > 1
            if again or any(op.layer == best.setting.layers[index].name and _in_parts(op) for op in best.train.ops):
                other = _try(best, held=best.setting.choices.held | {index})
                if other is not best:
                    best = replace(other, infer=compile_program("infer", other.setting))
        once, twice = (output_tiles(config, layout, config.grad_depth, share) for share in (1, 2))
        with suppress(CompileError):
            if once and not twice:
                best = _try(best, halves=best.setting.choices.halves | {index})
    return best


def _dense(found: CompiledNetwork, index: int) -> bool:
    """Is a layer fully connected?"""
    return found.setting.layers[index].conv_shape[1:] == (1, 1)


def _in_parts(op: Op) -> bool:
    """Is it a part of a reduction of FP?"""
    instr = op.instr
    return instr.opcode == Opcode.COMPUTE and instr["mode"] == FP and bool(instr["keep_out"])


def _updates_between(best: CompiledNetwork) -> CompiledNetwork:
    """The same with BP between the tiles of WU in the layers in strips where that is faster. Only passes of one block
    add to the gradients in every cycle and keep UPDATE from them."""
    setting = best.setting
    for index in (k for k in sorted(setting.choices.strips) if setting.layers[k].trainable and setting.has_errors(k)):
        if max(delta_shape(setting.layers[index])[1:]) <= 1 << setting.folds(index).fp:
            with suppress(CompileError):
                best = _try(best, between=best.setting.choices.between | {index})
    return best


def _early_gradients(best: CompiledNetwork) -> CompiledNetwork:
    """The same with WU before BP in the layers where that is faster: with few images UPDATE takes long, and begins
    earlier so. Strips have an order of their own."""
    layers, first, strips = best.setting.layers, best.setting.first, best.setting.choices.strips
    for index in reversed(range(first + 1, len(layers))):
        if layers[index].trainable and index not in strips:
            best = _try(best, early=best.setting.choices.early | {index})
    if len(layers) > first + 1 and not strips:
        best = _try(best, last_row=True)
    return best


def _try(best: CompiledNetwork, **changed: int | frozenset[int]) -> CompiledNetwork:
    """The faster of a network and the same with other choices that leave its memory map as it is."""
    setting = replace(best.setting, choices=best.setting.choices.but(**changed))
    train = compile_program("train", setting)
    return replace(best, setting=setting, train=train) if train.cycles < best.train.cycles else best


def _fitting(task: Task, choices: Choices, *remedies: Remedy, most: int = INDEX_LIMIT) -> CompiledNetwork:
    """The network with `choices`, or with the first that fits of those that the remedies, in this order, make of them.
    Raises CompileError where none helps."""
    while True:
        try:
            *_, tried = task
            if choices not in tried:
                tried[choices] = _compile(task, choices, most)
            return tried[choices]
        except _Refused as refused:
            other = next(filter(None, (remedy(refused, choices) for remedy in (*remedies, _scattered))), None)
            if not other:
                raise refused.error from None
            choices = other


class _Refused(Exception):
    """A CompileError, with the folds that were tried."""

    def __init__(self, error: CompileError, memory: MemoryMap | None, layers: Layers) -> None:
        self.error, self.memory, self.layers = error, memory, layers


def _compile(task: Task, choices: Choices, most: int = INDEX_LIMIT) -> CompiledNetwork:
    network, config, images, keep, _ = task
    forward = layers = forward_layers(network, config, images, choices.floors)
    if choices.unfolded:
        layers = (unfolded(layers[0], config.cols, choices.unfolded), *layers[1:])
    memory = None
    try:
        memory = memory_map(network, forward, layers, config, images, choices)
        setting = Setting(network, forward, layers, config, images, memory, choices, keep)
        return CompiledNetwork(setting, compile_program("train", setting, most), compile_program("infer", setting))
    except CompileError as error:
        raise _Refused(error, memory, layers) from None


def _spilled(refused: _Refused, choices: Choices) -> Choices | None:
    """The gates of the layer concerned in DRAM."""
    index = refused.error.spilled
    return None if index is None else choices.but(spilled=choices.spilled | {index})


def _coarser(refused: _Refused, choices: Choices) -> Choices | None:
    """A coarser fold in the finest of the maps concerned."""
    memory = refused.memory
    if not memory:
        return None
    now = {stage: _stage_fold(memory, stage) for stage in refused.error.stages if stage < 2 * len(memory.folds)}
    # A stride that cannot be unfolded keeps fold 0.
    now = {stage: fold for stage, fold in now.items() if dict(choices.floors).get(stage, 0) <= fold}
    if not now or min(now.values()) == memory.act[0].layout.grid.bit_length() - 1:
        return None
    stage = min(now, key=lambda stage: now[stage])  # of equals the first
    return choices.with_floor(stage, now[stage] + 1)


def _in_strips(refused: _Refused, choices: Choices) -> Choices | None:
    """The layers concerned in strips, with those whose gates BP reads there."""
    more = _together(refused.layers, set(refused.error.strips))
    return choices.but(strips=choices.strips | more) if not more <= choices.strips else None


def _together(layers: Layers, more: set[int]) -> set[int]:
    """Layers, with those whose gates BP reads there."""

    def errors(index: int) -> bool:
        return layers[index].shift_bp is not None

    for index in sorted(more):
        while index < len(layers) - 1 and layers[index].gated and not layers[index].pool and errors(index + 1):
            index += 1
            more.add(index)
    for index in sorted(more):
        while index and layers[index - 1].gated and not layers[index - 1].pool and errors(index):
            index -= 1
            more.add(index)
    return more


def _scattered(refused: _Refused, choices: Choices) -> Choices | None:
    """The gates of the layers concerned scattered: those of each COLS maps of a block at a beat."""
    more = refused.error.scattered
    return choices.but(scattered=choices.scattered | more) if not more <= choices.scattered else None


def _stage_fold(memory: MemoryMap, stage: int) -> int:
    folds = memory.folds[stage // 2]
    return folds.out if stage % 2 else folds.fp


def _cycles(compiled: CompiledNetwork) -> int:
    return compiled.train.cycles


def _one_group(compiled: CompiledNetwork) -> bool:
    """Has every tensor a single group of images?"""
    return all(tensor.layout.groups == 1 for tensor in compiled.memory.act)
