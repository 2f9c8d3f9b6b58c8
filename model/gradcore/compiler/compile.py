# SPDX-License-Identifier: Apache-2.0
"""The compiler: a network and an engine in, memory map, programs and memory image out."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gradcore.compiler import listing
from gradcore.compiler.emission import Lower, Op
from gradcore.compiler.estimate import Bandwidth, timeline
from gradcore.compiler.fusion import fused_layers
from gradcore.compiler.memory_map import CompileError, MemoryMap, memory_map
from gradcore.compiler.order import Schedule
from gradcore.compiler.tokens import add_tokens
from gradcore.compiler.unfold import unfold_images, unfolded
from gradcore.isa import instruction as isa
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import Opcode
from gradcore.ops.loss import targets

__all__ = ["CompileError", "CompiledNetwork", "CompiledProgram", "compile_network"]

INDEX_LIMIT = 1 << 24  # instruction indices of the ERROR register


@dataclass(frozen=True)
class CompiledProgram:
    """Instructions of one run of the engine; ops[k] tells what instruction k does (END has none)."""

    name: str
    ops: tuple
    tokens: int

    @cached_property
    def instructions(self) -> tuple:
        return (*(op.instr for op in self.ops), isa.instruction(Opcode.END))

    @cached_property
    def binary(self) -> np.ndarray:
        """The program as bytes."""
        return isa.assemble(self.instructions)

    @cached_property
    def timeline(self) -> list:
        """(start, end) in expected cycles of every operation."""
        return timeline(self.ops)

    @property
    def cycles(self) -> int:
        """Expected cycles of the program with the default memory."""
        return _last(self.timeline)

    def expected(self, memory: Bandwidth) -> int:
        """Expected cycles of the program with another memory."""
        return _last(timeline(self.ops, memory))

    def describe(self, index: int) -> str:
        """One line about instruction `index`, for error messages."""
        if index >= len(self.ops):
            return "END" if index == len(self.ops) else "the end of the program"
        op: Op = self.ops[index]
        return f"instruction {index}: {op.instr.opcode.name} {op.layer}: {op.text}"


def _last(spans: list) -> int:
    return max((end for _, end in spans), default=0)


@dataclass(frozen=True)
class CompiledNetwork:
    """`train` is one training iteration, `infer` the forward pass alone; both use the same memory map and `images`
    images per run."""

    network: object
    config: EngineConfig
    images: int
    memory: MemoryMap
    train: CompiledProgram
    infer: CompiledProgram

    @property
    def listing(self) -> str:
        """Memory map and programs as text."""
        return listing.write(self)

    def initial_image(self, state: list) -> np.ndarray:
        """Bytes behind BASE0 before the first run: weights and momentum of `state` (as ReferenceTrainer.weights()),
        zeros elsewhere."""
        image = np.zeros(self.memory.size, np.uint8)
        for tensor, data in self.pack_state(state):
            image[tensor.addr : tensor.end] = data
        return image

    def pack_state(self, state: list):
        """(RowTensor, bytes) of all weights and momenta."""
        for weight, momentum, p, layer in zip(
            self.memory.weight, self.memory.momentum, self.network.parameters, state, strict=True
        ):
            yield weight, weight.layout.pack(layer["weight"], layer["bias"] if p.bias else None)
            yield momentum, momentum.layout.pack(layer["momentum"], layer["bias_momentum"] if p.bias else None)

    def unpack_state(self, read) -> list:
        """State of all layers; read(RowTensor) gives a tensor's bytes."""
        result = []
        for weight, momentum in zip(self.memory.weight, self.memory.momentum):
            w, b = weight.layout.unpack(read(weight))
            v, bv = momentum.layout.unpack(read(momentum))
            zero = np.zeros(len(w), np.int64)
            result.append(
                {
                    "weight": w,
                    "bias": zero if b is None else b,
                    "momentum": v,
                    "bias_momentum": zero.copy() if bv is None else bv,
                }
            )
        return result

    def pack_images(self, x) -> np.ndarray:
        """Images (N, C, H, W) of one minibatch as the bytes behind BASE1: as they are and, where WU takes them
        unfolded, once more so."""
        plain, wide = self.memory.images, self.memory.act[0]
        data = np.zeros(wide.end, np.uint8)
        data[: plain.end] = plain.layout.pack(x)
        if wide is not plain:
            data[wide.addr :] = wide.layout.pack(unfold_images(x, self.network.parameters[0]))
        return data

    def pack_targets(self, labels) -> np.ndarray:
        """Labels (N,) of one minibatch as the bytes behind BASE2."""
        bits = targets(np.asarray(labels), self.network.classes).astype(np.int64)
        return self.memory.target.layout.pack(bits[:, :, None, None])


def compile_network(
    network, config: EngineConfig = EngineConfig(), images: int | None = None, keep: bool = False
) -> CompiledNetwork:
    """Compile `network` for minibatches of `images` (default: the network's). Raises CompileError, naming layer,
    quantity and limit, when it does not fit the engine. `keep`: deltas that nobody loads are stored too, for whoever
    wants to look at them."""
    images = network.minibatch if images is None else images
    if config.data_width != network.data_width:
        raise CompileError(None, "data width of the network", network.data_width, f"{config.data_width} (the engine's)")
    if not 1 <= images <= network.minibatch:
        raise CompileError(None, "minibatch", images, f"1..{network.minibatch} (the network's)")
    check_reductions(network, config)
    network = network.with_minibatch(images)
    first, *others = fused_layers(network)
    narrow = unfolded(first, config.cols)
    if narrow is first:
        return _compile(network, network.parameters, config, images, keep)
    try:
        best = _compile(network, (narrow, *others), config, images, keep)
    except CompileError:
        return _compile(network, network.parameters, config, images, keep)  # the unfolded input takes more room
    if not _one_group(best):
        return best
    # With few images the beats of the unfolded input can cost more than the array steps that it spares.
    return min(
        best, _compile(network, network.parameters, config, images, keep), key=lambda compiled: compiled.train.cycles
    )


def _compile(network, layers: tuple, config: EngineConfig, images: int, keep: bool) -> CompiledNetwork:
    """The fastest of the programs with ever coarser folds of the pooled maps: finer ones take fewer steps, but larger
    tiles."""
    best, floors = _fitting(network, layers, config, images, keep, {})
    for index in (index for index, p in enumerate(layers) if p.pool):
        while (fold := best.memory.folds[index].out) < best.memory.folds[index].fp:
            try:
                other, higher = _fitting(network, layers, config, images, keep, floors | {2 * index + 1: fold + 1})
            except CompileError:
                break
            if other.train.cycles >= best.train.cycles:
                break
            best, floors = other, higher
    return _early_gradients(best, layers, keep) if _one_group(best) else best


def _one_group(compiled: CompiledNetwork) -> bool:
    """Has every tensor a single group of images?"""
    return all(tensor.layout.groups == 1 for tensor in compiled.memory.act)


def _early_gradients(best: CompiledNetwork, layers: tuple, keep: bool) -> CompiledNetwork:
    """The same with WU before BP in the layers where that is faster: with few images UPDATE takes long, and begins
    earlier so."""
    lower, early = Lower(best.network, layers, best.config, best.images, best.memory), frozenset()
    for index in reversed(range(1, len(layers))):
        train = _program("train", lower, keep, early | {index})
        if train.cycles < best.train.cycles:
            best, early = replace(best, train=train), early | {index}
    train = _program("train", lower, keep, early, last=True) if len(layers) > 1 else best.train
    return replace(best, train=train) if train.cycles < best.train.cycles else best


def _fitting(network, layers: tuple, config: EngineConfig, images: int, keep: bool, floors: dict) -> tuple:
    """(program with folds of at least `floors`, the floors with which it fits)."""
    floors = dict(floors)
    while True:
        memory = memory_map(network, layers, config, images, floors)
        try:
            lower = Lower(network, layers, config, images, memory)
            return CompiledNetwork(
                network, config, images, memory, _program("train", lower, keep), _program("infer", lower, keep)
            ), floors
        except CompileError as error:
            # Tiles of a fold with many images may not fit: compute coarser in the finest of the maps concerned.
            now = {stage: _stage_fold(memory, stage) for stage in error.stages if stage < 2 * len(memory.folds)}
            if not now or min(now.values()) == config.log_grid:
                raise
            stage = min(now, key=lambda s: (now[s], -s))
            floors[stage] = now[stage] + 1


def _stage_fold(memory: MemoryMap, stage: int) -> int:
    folds = memory.folds[stage // 2]
    return folds.out if stage % 2 else folds.fp


def _program(
    name: str, lower: Lower, keep: bool, early: frozenset = frozenset(), last: bool = False
) -> CompiledProgram:
    ops = Schedule(lower, name == "train", keep, early, last).ops
    tokens = add_tokens(ops)
    if len(ops) >= INDEX_LIMIT:
        raise CompileError(None, "instructions of the program", len(ops), INDEX_LIMIT)
    for index, op in enumerate(ops):
        op.instr["tag"] = index & 0x7FF
    return CompiledProgram(name, tuple(ops), tokens)


def check_reductions(network, config: EngineConfig):
    """The exact sums of FP and BP must fit the engine's accumulators (network.py checks them for 48 bits). Raises
    CompileError."""
    room, width = (1 << (config.acc_width - 1)) - 1, network.data_width
    for p in network.parameters:
        taps = p.weight_shape[2] * p.weight_shape[3]
        forward = (p.in_shape[0] * taps << 2 * width - 2) + p.bias * (1 << width - 1 + p.bias_exp)
        backward = (p.weight_shape[0] * taps << 2 * width - 2) * (p.shift_bp is not None)
        if max(forward, backward) > room:
            raise CompileError(
                p.name, "bits of its largest sum", max(forward, backward).bit_length() + 1, config.acc_width
            )
        for shift in (p.shift_fp, p.shift_bp or 0):
            if shift >= config.acc_width:
                raise CompileError(p.name, "shift", shift, config.acc_width - 1)
