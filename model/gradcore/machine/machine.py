# SPDX-License-Identifier: Apache-2.0
"""Instruction-level model of the engine: runs a program on a DRAM image with the real buffers, tokens and queues, in
any order that the tokens allow. It counts no cycles.

With `order="random"` engines start, read, and write at random moments, destinations hold garbage between the start and
the end of an instruction, and so a missing token changes results. `order="program"` runs one instruction after the
other.
"""

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import BYTES, ENGINE, ENGINES, PRODUCERS, Instruction, Opcode, decode
from gradcore.isa.registers import SATURATIONS
from gradcore.machine.banks import Banks
from gradcore.machine.compute import Compute, add
from gradcore.machine.transfers import Load, LoadWeights, Store, Update
from gradcore.machine.vector import SEGMENTS, Vector
from gradcore.ops.optimiser import RATE_ONE

READ, WRITTEN = PRODUCERS.index("compute_read"), PRODUCERS.index("compute_written")
_PRODUCER = (0, 1, WRITTEN, 4, 5)
_START, _READ, _END = range(3)
MOST_TOKENS = (1 << 12) - 1  # of a producer for a consumer; one more is an error
IN_FLIGHT = 4  # COMPUTE instructions issued and not drained


class Deadlock(RuntimeError):
    """No engine can go on; says what each waits for."""


class TokenOverflow(RuntimeError):
    """A token counter was full. Attribute index: the next instruction."""

    def __init__(self, index: int):
        self.index = index
        super().__init__(f"a token counter overflows before instruction {index}")


Work = Load | LoadWeights | Compute | Store | Update | Vector


@dataclass
class _Flight:
    """An instruction that has been started."""

    index: int
    instr: Instruction
    work: Work
    values: Any = None
    early: bool = False
    read: bool = False


class Machine:
    """An engine of `config` on `memory` (uint8, addresses from 0). `seed` of the constructor chooses the order and the
    garbage; `run` executes.

    After a run: loss, grad_overflow, saturated (the counters "saturated" of doc/registers.md: act, delta, update), and
    the buffers (buffers[0..1].words, gate.words, weights, gradients). `after` is called with (machine, index,
    instruction) whenever the result of an instruction has been written.
    """

    def __init__(
        self,
        config: EngineConfig,
        memory: np.ndarray,
        order: str = "random",
        seed: int = 1,
        queue_depth: int = 4,
        after: Callable[["Machine", int, Instruction], None] | None = None,
    ) -> None:
        self.config, self.memory, self.order, self.queue_depth, self.after = config, memory, order, queue_depth, after
        self.rng = random.Random(seed)
        self.garbage = np.random.default_rng(seed)
        self.buffers = [Banks(config.grid, config.act_depth, self.garbage) for _ in range(2)]
        self.gate = Banks(config.grid, config.gate_depth, self.garbage, np.int8)
        self.weights = self.garbage.integers(-(1 << 15), 1 << 15, (config.cols, config.wgt_depth), np.int64)
        self.gradients = self.garbage.integers(-(1 << 30), 1 << 30, (config.grad_depth, config.cols), np.int64)
        self.table = self.garbage.integers(-(1 << 15), 1 << 15, SEGMENTS + 1, np.int64)  # of VECTOR
        self.kept: np.ndarray | None = None  # sums that a COMPUTE has left in the array for the next one
        self.loss, self.grad_overflow, self.seed, self.rate = 0, False, 0, RATE_ONE
        self.bases = [0] * 4
        self.saturated = dict.fromkeys(SATURATIONS, 0)

    # Running

    def run(self, program: int, bases: Sequence[int] = (0, 0, 0, 0), seed: int = 0, rate: int = RATE_ONE) -> None:
        """Execute the program at address `program` with these registers BASE, SEED and RATE. Raises Deadlock,
        TokenOverflow, ValueError (bad instruction),
        IndexError (address outside the memory)."""
        self.bases, self.seed, self.rate, self.loss, self.grad_overflow = list(bases), seed, rate, 0, False
        self.saturated, self.kept = dict.fromkeys(SATURATIONS, 0), None
        self._tokens = np.zeros((len(PRODUCERS), len(ENGINES)), int)
        self._queues: list[deque[tuple[int, Instruction]]] = [deque() for _ in ENGINES]
        self._flights: list[deque[_Flight]] = [deque() for _ in ENGINES]
        fetched, ended, self._given = None, False, 0
        while True:
            while not ended:
                fetched = fetched or decode(self._bytes(program + self._given * BYTES, BYTES))
                if fetched.opcode == Opcode.END:
                    ended = True
                elif len(self._queues[ENGINE[fetched.opcode]]) < self.queue_depth:
                    self._queues[ENGINE[fetched.opcode]].append((self._given, fetched))
                    fetched, self._given = None, self._given + 1
                else:
                    break
            steps = [(engine, step) for engine in range(len(ENGINES)) for step in self._possible(engine)]
            if not steps:
                if ended and not any(self._queues):
                    break
                raise Deadlock(
                    "; ".join(
                        f"{ENGINES[e]} at {q[0][0]} waits {q[0][1]['wait']:#b}" for e, q in enumerate(self._queues) if q
                    )
                )
            if self.order == "random":
                self._do(*self.rng.choice(steps))
            else:
                # What is on its way first, then the oldest instruction.
                self._do(*min(steps, key=lambda s: (s[1] == _START, self._queues[s[0]][0][0] if s[1] == _START else 0)))
        if self._tokens.any():
            raise Deadlock(f"tokens are left over: {self._tokens.tolist()}")

    def _possible(self, engine: int) -> list:
        flights, queue, steps = self._flights[engine], self._queues[engine], []
        room = len(flights) < IN_FLIGHT and all(f.read for f in flights) if engine == 2 else not flights
        if queue and room:
            wait = queue[0][1]["wait"]
            if all(self._tokens[p, engine] > 0 for p in range(len(PRODUCERS)) if wait >> p & 1):
                steps.append(_START)
        if flights and (flights[0].read or engine != 2):
            steps.append(_END)
        if flights and engine == 2 and not flights[-1].read:
            steps.append(_READ)
        return steps

    def _do(self, engine: int, step: int) -> None:
        if step == _START:
            index, instr = self._queues[engine].popleft()
            for producer in range(len(PRODUCERS)):
                self._tokens[producer, engine] -= instr["wait"] >> producer & 1
            work = _WORK[instr.opcode](self, instr)
            flight = _Flight(index, instr, work, early=self.order != "random" or self.rng.random() < 0.5)
            self._flights[engine].append(flight)
            if flight.early:
                flight.values = work.gather()
                if engine != 2:
                    self._spoil(work)
            return
        flights = self._flights[engine]
        flight = flights[-1 if step == _READ else 0]
        if not flight.early and flight.values is None:
            flight.values = flight.work.gather()
        if step == _READ:
            flight.read = True
            self._signal(READ, flight.instr["signal_read"])
            if len(flights) == 1:
                self._spoil(flight.work)
            return
        flight.work.drain(flight.values)
        flights.popleft()
        if flights and flights[0].read:  # drains are in order: its turn is now
            self._spoil(flights[0].work)
        if self.after:
            self.after(self, flight.index, flight.instr)
        self._signal(_PRODUCER[engine], flight.instr["signal"])

    def _signal(self, producer: int, mask: int) -> None:
        for engine in range(len(ENGINES)):
            self._tokens[producer, engine] += mask >> engine & 1
        if self._tokens.max() > MOST_TOKENS:
            raise TokenOverflow(self._given)

    def _spoil(self, work: Work) -> None:
        """Garbage where a result will be."""
        if self.order == "random":
            work.spoil(self.garbage)

    def snapshot(self) -> dict:
        """Copies of all buffers: buf0, buf1, gate (bank, address), wgt (bank, row), grad (row, column). To be called
        from `after`, for debugging."""
        banks = {
            "buf0": self.buffers[0].words,
            "buf1": self.buffers[1].words,
            "gate": self.gate.words,
            "wgt": self.weights,
            "grad": self.gradients,
        }
        return {name: words.copy() for name, words in banks.items()}

    # Memory and gradient buffer

    def address(self, base_sel: int, addr: int) -> int:
        return self.bases[base_sel] + addr

    def _bytes(self, address: int, size: int) -> np.ndarray:
        if address < 0 or address + size > len(self.memory):
            raise IndexError(f"{size} bytes at {address:#x} are not inside the memory of {len(self.memory)} bytes")
        return self.memory[address : address + size]

    def add_gradients(self, rows: np.ndarray, values: np.ndarray, first: bool) -> None:
        self.grad_overflow |= add(self.gradients, rows % self.config.grad_depth, values, first, self.config.acc_width)


_WORK: dict[Opcode, type[Work]] = {
    Opcode.LOAD: Load,
    Opcode.LOADW: LoadWeights,
    Opcode.COMPUTE: Compute,
    Opcode.STORE: Store,
    Opcode.UPDATE: Update,
    Opcode.VECTOR: Vector,
}
