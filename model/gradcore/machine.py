# SPDX-License-Identifier: Apache-2.0
"""Instruction-level model of the engine: runs a program on a DRAM image with the real buffers, tokens and queues, in any order that the
tokens allow. It counts no cycles.

With `order="random"` engines start, read, and write at random moments, destinations hold garbage between the start and the end of an
instruction, and so a missing token changes results. `order="program"` runs one instruction after the other.
"""

import random
from collections import deque
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from gradcore.banks import Banks
from gradcore.compute import Compute, add
from gradcore.config import EngineConfig
from gradcore.fixed import position_random, saturate
from gradcore.fold import from_bytes, to_bytes
from gradcore.isa import BYTES, ENGINES, ENGINE, GATE_BUFFER, PRODUCERS, Opcode, decode
from gradcore.optimiser import update

READ, WRITTEN = PRODUCERS.index("compute_read"), PRODUCERS.index("compute_written")
_PRODUCER = (0, 1, WRITTEN, 4, 5)
_START, _READ, _END = range(3)


class Deadlock(RuntimeError):
    """No engine can go on; says what each waits for."""


@dataclass
class _Flight:
    """An instruction that has been started."""

    index: int
    instr: object
    work: object
    values: object = None
    early: bool = False
    read: bool = False


class Machine:
    """An engine of `config` on `memory` (uint8, addresses from 0). `seed` of the constructor chooses the order and the garbage; `run` executes.

    After a run: loss, grad_overflow, and the buffers (buffers[0..1].words, gate.words, weights, gradients). `after` is called
    with (machine, index, instruction) whenever the result of an instruction has been written.
    """

    def __init__(self, config: EngineConfig, memory: np.ndarray, order: str = "random", seed: int = 1, queue_depth: int = 4, after=None):
        self.config, self.memory, self.order, self.queue_depth, self.after = config, memory, order, queue_depth, after
        self.rng = random.Random(seed)
        self.garbage = np.random.default_rng(seed)
        self.buffers = [Banks(config.grid, config.act_depth, self.garbage) for _ in range(2)]
        self.gate = Banks(config.grid, config.gate_depth, self.garbage)
        self.weights = self.garbage.integers(-(1 << 15), 1 << 15, (config.cols, config.wgt_depth), np.int64)
        self.gradients = self.garbage.integers(-(1 << 30), 1 << 30, (config.grad_depth, config.cols), np.int64)
        self.loss, self.grad_overflow, self.seed, self.bases, self.most_tokens = 0, False, 0, [0] * 4, 0

    # Running

    def run(self, program: int, bases=(0, 0, 0, 0), seed: int = 0):
        """Execute the program at address `program`. Raises Deadlock, ValueError (bad instruction), IndexError (address outside the memory)."""
        self.bases, self.seed, self.loss, self.grad_overflow = list(bases), seed, 0, False
        self._tokens = np.zeros((len(PRODUCERS), len(ENGINES)), int)
        self._queues, self._flights = [deque() for _ in ENGINES], [deque() for _ in ENGINES]
        fetched, ended, index = None, False, 0
        while True:
            while not ended:
                fetched = fetched or decode(self._bytes(program + index * BYTES, BYTES))
                if fetched.opcode == Opcode.END:
                    ended = True
                elif len(self._queues[ENGINE[fetched.opcode]]) < self.queue_depth:
                    self._queues[ENGINE[fetched.opcode]].append((index, fetched))
                    fetched, index = None, index + 1
                else:
                    break
            steps = [(engine, step) for engine in range(len(ENGINES)) for step in self._possible(engine)]
            if not steps:
                if ended and not any(self._queues):
                    break
                raise Deadlock("; ".join(f"{ENGINES[e]} at {q[0][0]} waits {q[0][1]['wait']:#b}" for e, q in enumerate(self._queues) if q))
            if self.order == "random":
                self._do(*self.rng.choice(steps))
            else:
                # What is on its way first, then the oldest instruction.
                self._do(*min(steps, key=lambda s: (s[1] == _START, self._queues[s[0]][0][0] if s[1] == _START else 0)))
        if self._tokens.any():
            raise Deadlock(f"tokens are left over: {self._tokens.tolist()}")

    def _possible(self, engine: int) -> list:
        flights, queue, steps = self._flights[engine], self._queues[engine], []
        room = len(flights) < 2 and all(f.read for f in flights) if engine == 2 else not flights
        if queue and room:
            wait = queue[0][1]["wait"]
            if all(self._tokens[p, engine] > 0 for p in range(len(PRODUCERS)) if wait >> p & 1):
                steps.append(_START)
        if flights:
            if flights[0].read or engine != 2:
                steps.append(_END)
            else:
                steps.append(_READ)
        return steps

    def _do(self, engine: int, step: int):
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
        flight = self._flights[engine][0]
        if not flight.early and flight.values is None:
            flight.values = flight.work.gather()
        if step == _READ:
            flight.read = True
            self._signal(READ, flight.instr["signal_read"])
            self._spoil(flight.work)
            return
        flight.work.drain(flight.values)
        self._flights[engine].popleft()
        if self.after:
            self.after(self, flight.index, flight.instr)
        self._signal(_PRODUCER[engine], flight.instr["signal"])

    def _signal(self, producer: int, mask: int):
        for engine in range(len(ENGINES)):
            self._tokens[producer, engine] += mask >> engine & 1
        self.most_tokens = max(self.most_tokens, int(self._tokens.max()))

    def _spoil(self, work):
        """Garbage where a result will be."""
        if self.order == "random":
            work.spoil(self.garbage)

    # Memory and gradient buffer

    def address(self, base_sel: int, addr: int) -> int:
        return self.bases[base_sel] + addr

    def _bytes(self, address: int, size: int) -> np.ndarray:
        if address < 0 or address + size > len(self.memory):
            raise IndexError(f"{size} bytes at {address:#x} are not inside the memory of {len(self.memory)} bytes")
        return self.memory[address : address + size]

    def add_gradients(self, rows, values, first: bool):
        self.grad_overflow |= add(self.gradients, rows % self.config.grad_depth, values, first, self.config.acc_width)


class _Transfer:
    """Words of `size` bytes in DRAM, as a transfer instruction describes them: `bytes` views of its runs."""

    def __init__(self, machine: Machine, instr, size: int):
        self.machine, self.instr, self.size = machine, instr, size
        start = machine.address(instr["base_sel"], instr["addr"])
        beat = machine.config.mem_bytes
        assert start % beat == 0, "address is not a multiple of the beat"
        self.runs = [machine._bytes(start + k2 * instr["stride2"] + k1 * instr["stride1"], instr["run_beats"] * beat)
                     for k2 in range(instr["n2"]) for k1 in range(instr["n1"])]  # fmt: skip
        assert instr["n_words"] * size <= sum(len(run) for run in self.runs) < instr["n_words"] * size + beat, "n_words and runs differ"

    def read(self) -> np.ndarray:
        """(words, elements) as integers of the data width."""
        data = np.concatenate(self.runs)[: self.instr["n_words"] * self.size]
        config = self.machine.config
        words = from_bytes(data, config.word_bytes).reshape(self.instr["n_words"], -1)
        spare = 64 - config.data_width
        return words << spare >> spare

    def write(self, words):
        data, at = to_bytes(words, self.machine.config.word_bytes), 0
        for run in self.runs:
            part = data[at : at + len(run)]
            run[: len(part)] = part
            at += len(run)


class _Load:
    """LOAD."""

    def __init__(self, machine: Machine, instr):
        self.machine, self.instr = machine, instr
        self.transfer = _Transfer(machine, instr, machine.config.vector_bytes)
        self.banks = machine.gate if instr["buffer"] == GATE_BUFFER else machine.buffers[instr["buffer"]]
        self.counts = tuple(instr[name] for name in ("n_b", "n_y", "n_x", "n_c"))
        assert instr["n_words"] == np.prod(self.counts), "n_words is not the product of the loop counts"
        self.strides = tuple(instr[name] for name in ("stride_b", "stride_y", "stride_x"))
        self.quarters = [(qy, qx) for qy in (0, 1) for qx in (0, 1)] if instr["upsample"] else [(0, 0)]

    def _index(self, banks, base: int, qy: int, qx: int):
        base += qy * self.instr["stride_qy"] + qx * self.instr["stride_qx"]
        return banks.natural(base, self.counts, self.strides, self.instr["fold"])

    def _spread(self, vectors, qy: int, qx: int):
        """Up-sampled vector (qy, qx): lane row r takes pooled lane row insert(r >> 1, bit pool_bit, qy)."""
        grid, bit = self.machine.config.grid, self.instr["pool_bit"]
        half = np.arange(grid) >> 1
        low = half & ((1 << bit) - 1)
        row, col = ((half >> bit << (bit + 1)) | q << bit | low for q in (qy, qx))
        shaped = vectors.reshape(*vectors.shape[:-1], grid, grid)
        return shaped[..., row[:, None], col[None, :]].reshape(vectors.shape)

    def gather(self):
        vectors, results = self.transfer.read().reshape(*self.counts, -1), []
        for q in self.quarters:
            values = self._spread(vectors, *q) if self.instr["upsample"] else vectors
            if self.instr["scale"]:
                gate = self.machine.gate
                values = np.where(gate.read(self._index(gate, self.instr["gate_base"], *q)) != 0, values, 0)
            results.append(values & 1 if self.banks is self.machine.gate else values)
        return results

    def spoil(self, rng):
        self.drain([rng.integers(-99, 99, (*self.counts, self.machine.config.lanes))] * len(self.quarters))

    def drain(self, results):
        for q, values in zip(self.quarters, results):
            self.banks.write(self._index(self.banks, self.instr["base"], *q), values)


class _Store(_Load):
    """STORE."""

    def __init__(self, machine, instr):
        self.machine, self.instr = machine, instr
        self.transfer = _Transfer(machine, instr, machine.config.vector_bytes)
        self.banks = machine.buffers[instr["buffer"]]
        self.counts = tuple(instr[name] for name in ("n_b", "n_y", "n_x", "n_c"))
        self.strides = tuple(instr[name] for name in ("stride_b", "stride_y", "stride_x"))
        assert instr["n_words"] == np.prod(self.counts), "n_words is not the product of the loop counts"

    def gather(self):
        return self.banks.read(self.banks.natural(self.instr["base"], self.counts, self.strides, self.instr["fold"]))

    def spoil(self, rng):
        self.transfer.write(rng.integers(-99, 99, self.instr["n_words"] * self.machine.config.lanes))

    def drain(self, values):
        self.transfer.write(saturate(values, self.machine.config.data_width))


class _LoadWeights:
    """LOADW."""

    def __init__(self, machine: Machine, instr):
        self.machine, self.instr = machine, instr
        self.transfer = _Transfer(machine, instr, machine.config.row_bytes)
        assert instr["n_words"] == instr["n_outer"] * instr["n_inner"], "n_words is not the product of the loop counts"

    def gather(self):
        return self.transfer.read()

    def spoil(self, rng):
        self.drain(rng.integers(-99, 99, (self.instr["n_words"], self.machine.config.cols)))

    def drain(self, rows):
        cols = self.machine.config.cols
        inner = np.arange(len(rows)) % self.instr["n_inner"]
        bank = (np.arange(cols) + inner[:, None]) % cols
        self.machine.weights[bank, ((self.instr["base"] + np.arange(len(rows))) % self.machine.config.wgt_depth)[:, None]] = rows


class _Compute(Compute):
    """COMPUTE."""

    def spoil(self, rng):
        if self.wu:
            if self.instr["grad_first"]:
                sums = np.zeros((self.instr["n_rg"], len(self.dy), len(self.channels), self.config.cols), np.int64)
                overflow = self.machine.grad_overflow
                self._accumulate(sums + rng.integers(-99, 99), np.zeros((self.instr["n_rg"], self.config.cols), np.int64) + 7)
                self.machine.grad_overflow = overflow
            return
        for banks, index, mask in self.targets():
            banks.write(index, rng.integers(-99, 99, index.shape), mask)


class _Update:
    """UPDATE."""

    def __init__(self, machine: Machine, instr):
        self.machine, self.instr = machine, instr
        part = dict(base_sel=instr["base_sel"], run_beats=instr["run_beats"], n_words=instr["n_words"], n1=1, n2=1, stride1=0, stride2=0)
        self.weights = _Transfer(machine, part | dict(addr=instr["addr"]), machine.config.row_bytes)
        self.momentum = _Transfer(machine, part | dict(addr=instr["momentum_addr"]), machine.config.row_bytes) if instr["momentum"] else None
        assert instr["n_words"] == instr["n_outer"] * instr["n_inner"], "n_words is not the product of the loop counts"

    def gather(self):
        instr, machine = self.instr, self.machine
        row = np.arange(instr["n_words"])
        outer, inner = row // instr["n_inner"], row % instr["n_inner"]
        of = outer[:, None] * machine.config.cols + np.arange(machine.config.cols)
        rnd = [position_random(machine.seed, instr["rnd_tag"], instr["key"] + inner[:, None], of, j) for j in range(3)]
        weights = self.weights.read()
        before = self.momentum.read() if self.momentum else np.zeros_like(weights)
        grads = machine.gradients[(instr["base"] + row) % machine.config.grad_depth]
        numbers = SimpleNamespace(**{name: instr[name] for name in ("lr_m", "beta_m", "shift_g", "shift_v", "shift_w")})
        return update(weights, before, grads, numbers, machine.config.data_width, instr["rounding"], rnd)

    def spoil(self, rng):
        self.weights.write(rng.integers(-99, 99, (self.instr["n_words"], self.machine.config.cols)))

    def drain(self, values):
        self.weights.write(values[0])
        if self.momentum:
            self.momentum.write(values[1])


_WORK = {Opcode.LOAD: _Load, Opcode.LOADW: _LoadWeights, Opcode.COMPUTE: _Compute, Opcode.STORE: _Store, Opcode.UPDATE: _Update}
