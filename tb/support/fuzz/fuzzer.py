# SPDX-License-Identifier: Apache-2.0
"""Runs cases on the compiled engine, with faults among them, and compares the end with the verdict."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np

from gradcore.files.places import ROOT
from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import Opcode
from gradcore.machine.machine import Machine
from gradcore.machine.vector import POINT_BYTES, SEGMENTS
from gradcore.ops.optimiser import RATE_ONE
from gradcore.sim.backend import Memory, MemoryRuleBroken, SimBackend
from gradcore.sim.build import build_engine
from tb.support.fuzz import faults
from tb.support.fuzz.case import (
    ENGINES,
    LONG,
    NETWORKS,
    READ,
    SIZE,
    STOPPED,
    WRITE,
    Case,
    parsed,
)
from tb.support.fuzz.faults import Wrong
from tb.support.fuzz.garbage import garbage
from tb.support.fuzz.mutants import mutate
from tb.support.fuzz.valid import (
    valid,
)
from tb.support.fuzz.verdict import verdict

TABLE_BYTES = POINT_BYTES * (SEGMENTS + 1)


def make(config: EngineConfig, seed: int, number: int) -> Case:
    """Every second program is valid, so each of the others is followed by one whose result is known."""
    case = _program(config, seed, number)
    rng = random.Random(f"{seed}:{case.network or number}:rate")
    case.rate = rng.choice([RATE_ONE, rng.getrandbits(15), rng.getrandbits(16)])
    return case


def _program(config: EngineConfig, seed: int, number: int) -> Case:
    rng = random.Random(f"{seed}:{number}")
    networks = min(NETWORKS, 4 + number // 32)  # to compile one takes longer than to run a hundred programs
    if number % 2:
        return valid(config, seed, rng, networks)
    if rng.random() < 0.3:
        case = garbage(config, rng)
    else:
        # Half of them need parts that the engine may not have.
        whole = replace(config, has_vector=1, has_softmax=1, has_factor=1)
        drawn = config if whole == config or rng.random() < 0.5 else whole
        case = replace(valid(drawn, seed, rng, networks), kind="mutated")
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            if case.words:
                mutate(case, rng)
    for k, word in enumerate(case.words):
        part = case.image[case.program + k * isa.BYTES :][: isa.BYTES]
        part[:] = np.frombuffer(word, np.uint8)[: len(part)]
    case.words = [
        case.image[case.program + k * isa.BYTES :][: isa.BYTES].tobytes().ljust(isa.BYTES, b"\0")
        for k in range(len(case.words))
    ]
    return case


def reads_unknown_points(words, config: EngineConfig) -> bool:
    """Does a VECTOR take its function from a table that the program has not loaded as a whole? Its words are rounded
    and saturated, so that those of other points may be the same by chance."""
    loaded = False
    for word in words:
        instr, code = parsed(word, config)
        if code or instr.opcode == Opcode.END:
            break
        if instr.opcode == Opcode.VECTOR:
            loaded |= instr["operation"] == isa.LOAD_TABLE and instr["n_beats"] * config.mem_bytes >= TABLE_BYTES
            if instr["operation"] in (isa.TABLE, isa.SLOPE) and not loaded:
                return True
    return False


class Fuzzer:
    """A compiled engine that runs cases one after the other, reset only where a fault says so."""

    def __init__(self, engine: str, seed: int, library=None):
        self.engine, self.seed, self.config = engine, seed, ENGINES[engine]
        self.memory = Memory(SIZE, bytes_per_cycle=self.config.mem_bytes)
        self.backend = SimBackend(library or build_engine(self.config)[0], self.memory)
        self.tally, self.known, self.written = Counter(), {}, {}
        self.reset()

    def close(self):
        self.backend.close()

    def reset(self):
        """A hardware reset."""
        self.backend.reset()
        self.written.clear()
        self.backend.write32(reg.IRQ_ENABLE, reg.IRQ_DONE | reg.IRQ_FAILED)

    def set(self, values: dict):
        """Write registers; those that have the value already keep it."""
        for offset, value in values.items():
            if self.written.get(offset) != value:
                self.backend.write32(offset, value)
                self.written[offset] = value

    def expected(self, case: Case):
        """(DRAM after the program, mask of the bytes that do not depend on what was in the buffers before); None where
        the model has no result: an UPDATE on itself, a sum that overflows, a transfer beyond the memory that the
        engine's windows were not asked for, points of a table that the program has not loaded."""
        if case.network in self.known:
            return self.known[case.network]
        if reads_unknown_points(case.words, self.config):
            return None
        after = []
        computes = any(word[0] & 15 == Opcode.COMPUTE for word in case.words)
        for filling in range(3 if computes else 2):  # what is only copied cannot be equal by chance
            dram = case.image.copy()
            machine = Machine(self.config, dram, "program", max(1, filling))
            if filling == 1:  # the opposite of 0: no word is the same
                for words in (
                    machine.buffers[0].words,
                    machine.buffers[1].words,
                    machine.gate.words,
                    machine.weights,
                    machine.gradients,
                    machine.table,
                ):
                    words[:] = ~words
            try:
                machine.run(
                    case.program,
                    [base if base < SIZE else base - (1 << 48) for base in case.bases],
                    case.seed,
                    case.rate,
                )
            except (AssertionError, IndexError):
                if case.kind == "valid":
                    raise
                return None
            after.append(dram.view(np.uint16))
        result = after[0].view(np.uint8), np.repeat((after[0] == after[1]) & (after[0] == after[-1]), 2)
        if case.network:
            self.known[case.network] = result
        return result

    def run(self, number: int):
        """One case; raises Wrong."""
        case = make(self.config, self.seed, number)
        try:
            self.check(case, f"{self.seed}:{number}:run")
        except (Wrong, MemoryRuleBroken) as error:
            raise Wrong(f"{case.kind} program {number} ({', '.join(case.notes)}): {error}") from error

    def check(self, case: Case, seed, draw=faults.draw):
        """Runs a case with random memory timing and with the fault that `draw` gives, if any."""
        backend, rng, what = self.backend, random.Random(seed), verdict(case, self.config)
        if case.kind == "valid" and what.errors:
            raise Wrong(f"the oracle refuses a valid program: {sorted(what.errors)}")
        memory = replace(
            self.memory,
            latency=rng.choice([1, 2, 4, 8, 16, 40]),
            stall=rng.choice([0, 0, 0.3]),
            seed=rng.getrandbits(30),
        )
        backend.tune(memory)
        backend.dram[:] = case.image
        backend.allow(case.rights)
        fault = draw(rng, self, case)
        name = fault.name if fault else case.kind
        try:
            ending = self._ended(case, what, rng, fault)
        except Wrong as error:
            raise Wrong(f"{f'with {name}: ' if fault else ''}{error}") from error
        self._unchanged(case, what)
        self.tally[f"{name}: programs"] += 1
        if ending is None:
            self.tally[f"{name}: reset"] += 1
            return
        completes = ending == (0, 0)
        if completes and case.exact and not what.own:
            compared = self._compared(case, what)
            self.tally[f"{name}: compared with the model"] += bool(compared)
            self.tally["bytes compared"] += compared
        self.tally[f"{name}: {'completes' if completes else reg.ERRORS[ending[0]]}"] += 1
        self.tally["cycles"] += backend.read32(reg.COUNTERS)

    def _ended(self, case, what, rng, fault):
        """Runs it; (error code, instruction) of its end as registers tell it, (0, 0) when it completes, None when it
        was reset."""
        backend = self.backend
        values = {offset: 0 for n in range(4) for offset in reg.window(n, 0, 0, 0)}
        for n, window in enumerate(case.windows):
            values |= reg.window(n, *window)
        for offset, value in ((reg.PROG_BASE, case.program), *zip(reg.BASE, case.bases)):
            values |= {offset: value & 0xFFFFFFFF, offset + 4: value >> 32}
        values |= {reg.SEED: case.seed, reg.RATE: case.rate, reg.PROG_LENGTH: len(case.words), reg.WATCHDOG: 0}
        if fault:
            fault.arm(values)
        self.set(values)
        backend.write32(reg.CTRL, reg.START)
        backend.run(2)
        if fault and not fault.act():
            return None
        stopped = what.cycles > LONG or rng.random() < 0.02
        if stopped:
            backend.run(rng.randint(0, 4000))
            backend.write32(reg.CTRL, reg.STOP)
        if not backend.run(20_000 if stopped else 2 * what.cycles + 2000 * bool(fault)):
            raise Wrong(f"no interrupt after {2 * what.cycles} cycles, allowed {sorted(what.errors)}")
        status, error = backend.read32(reg.STATUS), backend.read32(reg.ERROR)
        address = backend.read32(reg.ERROR_ADDR) | backend.read32(reg.ERROR_ADDR + 4) << 32
        ending = error & 0xFF, error >> 8
        if (backend.outstanding and not status & reg.BUS_OPEN) or status & reg.BUSY:
            raise Wrong(f"{backend.outstanding} bursts outstanding at the interrupt, STATUS {status:#x}")
        traffic = backend.traffic
        backend.write32(reg.IRQ_STATUS, reg.IRQ_DONE | reg.IRQ_FAILED)
        backend.run(20)
        if backend.traffic != traffic and not status & reg.BUS_OPEN:
            raise Wrong("traffic after the end")
        anywhere = (fault.errors if fault else frozenset()) | ({STOPPED} if stopped else frozenset())
        if status & reg.DONE and not what.own and (what.errors or status & reg.FAILED or error):
            raise Wrong(
                f"completes, STATUS {status:#x}, ERROR {error:#x}, should fail with one of {sorted(what.errors)}"
            )
        if (
            status & reg.FAILED
            and not what.own
            and ending not in what.errors
            and not (ending[0] in anywhere and ending[1] <= len(case.words))
        ):
            wanted = f"fail with one of {sorted(what.errors)}" if what.errors else "complete"
            raise Wrong(f"fails with {ending} at {address:#x}, should {wanted}")
        if ending[0] in (READ, WRITE) and case.allows(address, {READ: reg.READ, WRITE: reg.WRITE}[ending[0]]):
            raise Wrong(f"error {ending} names {address:#x}, which a window allows")
        if fault:
            fault.settle(status, ending[0], address)
        elif status & reg.BUS_OPEN:
            raise Wrong("BUS_OPEN with a good memory")
        return ending

    def _unchanged(self, case, what):
        """No byte has changed that the program does not write."""
        changed = self.backend.dram != case.image
        for first, end in what.spans:
            changed[first:end] = False
        if changed.any():
            raise Wrong(f"byte {int(np.argmax(changed)):#x} has changed, which no instruction writes")

    def _compared(self, case, what) -> int:
        """Compares what the program has written with the model, where the model knows it; returns the number of
        bytes."""
        expected = self.expected(case)
        if not expected:
            return 0
        defined = np.zeros(SIZE, bool)
        for first, end in what.spans:
            defined[first:end] = True
        for first, end in what.rests:
            defined[first:end] = False
        defined &= expected[1]
        bad = (self.backend.dram != expected[0]) & defined
        if bad.any():
            raise Wrong(f"{int(bad.sum())} bytes differ from the model, first {int(np.argmax(bad)):#x}")
        return int(defined.sum())


def write(config: EngineConfig, engine: str, seed: int, number: int):
    """Leaves a case as a listing in build/fuzz/; returns its path."""
    case = make(config, seed, number)
    path = ROOT / "build" / "fuzz" / f"{engine}-seed{seed}-{number}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    what = verdict(case, config)
    lines = [
        f"{case.kind} {case.notes}",
        f"PROG_BASE {case.program:#x}, BASE {[hex(base) for base in case.bases]}, SEED {case.seed}, RATE {case.rate}",
        f"windows {[(hex(first), hex(end), rights) for first, end, rights in case.windows]}",
        f"allowed {sorted(what.errors) or 'complete'}, {what.cycles} cycles",
    ]
    for k, word in enumerate(case.words):
        instr, code = parsed(word, config)
        lines.append(
            f"{k}: {instr.opcode.name} { ({name: value for name, value in instr.fields.items() if value}) }"
            if instr
            else f"{k}: {word.hex()}, error {code}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path.relative_to(ROOT)
