# SPDX-License-Identifier: Apache-2.0
"""What the compiler gives: programs, memory map and memory image."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from gradcore.compiler import listing
from gradcore.compiler.estimate import Bandwidth, timeline
from gradcore.compiler.limits import CompileError, NotBuilt
from gradcore.compiler.memory_map import MemoryMap, RowTensor
from gradcore.compiler.operation import Op
from gradcore.compiler.order import in_order_of_start, operations
from gradcore.compiler.setting import Setting
from gradcore.compiler.tokens import add_tokens
from gradcore.compiler.unfold import unfold_images
from gradcore.isa import instruction as isa
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import Opcode
from gradcore.isa.rules import problem
from gradcore.network.description import Network
from gradcore.ops.loss import targets
from gradcore.reference.trainer import State

INDEX_LIMIT = 1 << 24  # instruction indices of the ERROR register


@dataclass(frozen=True)
class CompiledProgram:
    """Instructions of one run of the engine; ops[k] tells what instruction k does (END has none), needs[k]
    what it waits for, timeline[k] when it is expected to start and to end with the default memory; notes tell how
    layers in strips are computed."""

    name: str
    ops: tuple[Op, ...]
    tokens: int
    needs: tuple[dict[int, int], ...]
    timeline: tuple[tuple[int, int], ...]
    notes: tuple[str, ...]

    @cached_property
    def instructions(self) -> tuple[isa.Instruction, ...]:
        return (*(op.instr for op in self.ops), isa.instruction(Opcode.END))

    @cached_property
    def binary(self) -> np.ndarray:
        """The program as bytes."""
        return isa.assemble(self.instructions)

    @property
    def cycles(self) -> int:
        """Expected cycles of the program with the default memory."""
        return _last(self.timeline)

    def expected(self, memory: Bandwidth) -> int:
        """Expected cycles of the program with another memory."""
        return _last(timeline(self.ops, self.needs, memory))

    def describe(self, index: int) -> str:
        """One line about instruction `index`, for error messages."""
        if index >= len(self.ops):
            return "END" if index == len(self.ops) else "the end of the program"
        op = self.ops[index]
        return f"instruction {index}: {op.instr.opcode.name} {op.layer}: {op.text}"


def _last(spans: Iterable[tuple[int, int]]) -> int:
    return max((end for _, end in spans), default=0)


@dataclass(frozen=True)
class CompiledNetwork:
    """`train` is one training iteration, `infer` the forward pass alone; both use the same memory map and `images`
    images per run."""

    setting: Setting
    train: CompiledProgram
    infer: CompiledProgram

    @property
    def network(self) -> Network:
        return self.setting.network

    @property
    def config(self) -> EngineConfig:
        return self.setting.config

    @property
    def images(self) -> int:
        return self.setting.images

    @property
    def memory(self) -> MemoryMap:
        return self.setting.memory

    @property
    def listing(self) -> str:
        """Memory map and programs as text."""
        return listing.write(self)

    def initial_image(self, state: State) -> np.ndarray:
        """Bytes behind BASE0 before the first run: weights and momentum of `state` (as ReferenceTrainer.weights()),
        tables, zeros elsewhere."""
        image = np.zeros(self.memory.size, np.uint8)
        for tensor, data in self.pack_state(state):
            image[tensor.addr : tensor.end] = data
        for table in self.memory.tables:
            image[table.addr : table.end] = table.data
        return image

    def pack_state(self, state: State) -> Iterator[tuple[RowTensor, np.ndarray]]:
        """(RowTensor, bytes) of all weights and momenta."""
        for weight, momentum, p, layer in zip(
            self.memory.weight, self.memory.momentum, self.network.parameters, state, strict=True
        ):
            yield weight, weight.layout.pack(layer["weight"], layer["bias"] if p.bias else None)
            yield momentum, momentum.layout.pack(layer["momentum"], layer["bias_momentum"] if p.bias else None)

    def unpack_state(self, read: Callable[[RowTensor], np.ndarray]) -> State:
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

    def pack_images(self, x: np.ndarray) -> np.ndarray:
        """Images (N, C, H, W) of one minibatch as the bytes behind BASE1: as FP reads them (unfolded where it does
        not take a stride) and, where WU alone takes them unfolded, once more so."""
        plain, wide, p = self.memory.images, self.memory.act[0], self.network.parameters[0]
        data = np.zeros(wide.end, np.uint8)
        whole = p.weight_shape[2]
        data[: plain.end] = plain.layout.pack(x if self.setting.forward[0] is p else unfold_images(x, p, whole))
        if wide is not plain:
            data[wide.addr :] = wide.layout.pack(unfold_images(x, p, self.setting.choices.unfolded))
        return data

    def pack_targets(self, labels: ArrayLike) -> np.ndarray:
        """Labels (N,) of one minibatch as the bytes behind BASE2."""
        bits = targets(np.asarray(labels), self.network.classes).astype(np.int64)
        return self.memory.target.layout.pack(bits[:, :, None, None])


def compile_program(name: str, setting: Setting, most: int = INDEX_LIMIT) -> CompiledProgram:
    """Program `name` (train or infer). Raises CompileError where it does not fit the engine or has more than `most`
    instructions."""
    ops, notes = operations(setting, name == "train", most)
    for op in ops:
        if op.instr.opcode == Opcode.VECTOR and not setting.config.has_vector:
            raise NotBuilt(op.layer, f"'{op.text}'", "has_vector")
        if why := problem(op.instr, setting.config):
            behind = int(why.rpartition(" ")[2]) % setting.config.mem_bytes
            assert op.beats and behind, f"{op.layer}: {op.text}: {why}"
            users = {index for index, p in enumerate(setting.layers) if p.name == op.layer}
            raise CompileError(op.layer, "bytes behind a beat of a piece of a tensor", behind, 0, scattered=users)
    ops, needs, spans = in_order_of_start(ops)
    tokens = add_tokens(ops, needs)
    for index, op in enumerate(ops):
        op.instr["tag"] = index & 0x7FF
    return CompiledProgram(name, tuple(ops), tokens, tuple(needs), tuple(spans), tuple(notes))
