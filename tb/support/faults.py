# SPDX-License-Identifier: Apache-2.0
"""Faults at random moments of training on a simulated engine, and what must become of each: its code, and afterwards
the bits of the undisturbed reference. `Campaign.run` does one; ci/faults runs many.

A fault is *injected* when it has struck a running program: the memory has given the error response or has left a burst
unanswered, the driver's time-out has run out before the program's end, the stop, the reset or the writes came while the
engine was busy, the bits in DRAM differ. It is *seen* when the driver told it with the right code (of a write to a
locked register: STATUS.locked_write), *recovered* when LOSS and every word of weights and momenta equal the reference's
afterwards. All else that happens is wrong.
"""

import random
from collections import Counter

import numpy as np

from gradcore.host.control import EngineError, EngineHung, EngineReset, EngineTimeout
from gradcore.host.device import Device
from gradcore.host.integrity import IntegrityError
from gradcore.host.recovery import Trainer
from gradcore.isa import registers as reg
from gradcore.network.description import Network
from gradcore.ops.convolution import Conv, Dense
from gradcore.reference.trainer import STATE, ReferenceTrainer, initial_weights
from gradcore.sim.backend import Memory
from tb.support.injector import Injector
from tb.support.sim import ENGINES

NETWORK = Network("faults", (2, 5, 5), (Conv(4, 3, 1, pool=2), Dense(3)), minibatch=3, learning_rate=0.02)
SIZE = 1 << 18  # bytes of DRAM
WATCHDOG = 1500  # cycles, more than any answer takes
LATE = 0.03  # seconds of 100 000 cycles for which the driver waits for late answers
FRESH = 60  # minibatches after which training begins anew, lest the weights saturate
RACE = 200  # cycles: what comes later than so many before the end may come too late
FEWER = 4  # bursts by which one run of a program may have fewer than another
FAR = 1 << 40  # more bursts than any program has
CLASSES = ("slverr", "decerr", "silent", "timeout", "stop", "reset", "writes", "program")
ENDS = {1, 2, 3, 4, 5, 7, 8, 9, 10}  # codes with which a corrupted program may end
LOCKED = (
    *(base + part for base in (reg.PROG_BASE, *reg.BASE) for part in (0, 4)),
    reg.SEED,
    reg.RATE,
    reg.PROG_LENGTH,
    reg.WATCHDOG,
    *range(reg.WINDOW, reg.WINDOW + 4 * reg.WINDOW_BYTES, 4),
)


class Wrong(Exception):
    """A fault that was not told as it must be, or after which something differs."""


class Campaign:
    """Training on the back end `name` with faults; `tally[class, what]` counts what became of them."""

    def __init__(self, name: str, seed: int):
        self.name, self.seed, self.tally, self.iteration, self.events, self.said = name, seed, Counter(), 0, [], []
        rng = random.Random(f"{seed} {name}")
        stall = rng.choice([0, 0.2]) if name == "sim" else 0.2
        self.backend = Injector(
            name,
            Memory(
                SIZE,
                ENGINES[name].mem_bytes,
                latency=rng.randint(1, 40),
                stall=stall,
                seed=rng.randrange(1 << 30),
                jitter=int(100 * stall),
            ),
        )
        self.device = Device(self.backend, NETWORK, ENGINES[name], seed, watchdog=WATCHDOG, say=self.said.append)
        self.device.late = LATE
        self.trainer, self.reference = Trainer(self.device, say=self._event), ReferenceTrainer(NETWORK, seed)
        self.data, self.by_hand = np.random.default_rng(seed), None
        # An undisturbed minibatch: its bursts and cycles.
        for kind in ("read", "write"):
            self.backend.fault(kind, FAR, 2)
        self._step()
        self.bursts = {kind: FAR + 1 - self.backend.until_fault(kind) for kind in ("read", "write")}
        self.backend.revive()
        self.cycles = self.device.counters()["cycles"]
        self.timeout = self.device.timeout = 20 * self.cycles / self.backend.cycles_per_second

    def close(self):
        """Free the simulation."""
        self.device.close()

    def run(self, kind: str, number: int) -> bool:
        """Fault `number` of class `kind`; was it injected? Raises Wrong, after which this simulation is of no more
        use."""
        rng = random.Random(f"{self.seed} {self.name} {kind} {number}")
        self.events.clear()
        self.said.clear()
        self.by_hand = None
        try:
            judge = getattr(self, "_" + kind)(rng)
            self._step()
            struck = judge()
        except Exception as error:
            told = [*map(str, self.events), *self.said]
            raise Wrong(f"{kind} {number}: {type(error).__name__}: {error}; told: {told}") from error
        self.tally[kind, "tried"] += 1
        self.tally[kind, "injected"] += struck
        self.tally[kind, "code " + self._code()] += struck
        return struck

    def _event(self, event):
        self.events.append(event)
        self.device.timeout = self.timeout

    def _code(self) -> str:
        if not self.events:
            return "none"
        error = self.events[0].error
        return str(error.code) if error.code is not None else type(error).__name__

    def _step(self):
        """Train one minibatch on both and compare LOSS and every word. Raises Wrong."""
        if self.iteration % FRESH == 0:
            state = initial_weights(NETWORK, self.seed + self.iteration)
            self.trainer.load(state)
            self.reference.load(state)
        x = self.data.integers(-4096, 4096, (NETWORK.minibatch, *NETWORK.shape))
        labels = self.data.integers(0, NETWORK.classes, NETWORK.minibatch)
        try:
            loss = self.trainer.step(x, labels, self.iteration)
        except EngineHung:
            if not self.by_hand:
                raise
            self.by_hand()
            loss = self.trainer.step(x, labels, self.iteration)
        expected = self.reference.step(x, labels, self.iteration)
        self.iteration += 1
        if loss != expected:
            raise Wrong(f"LOSS is {loss}, of the reference {expected}")
        for layer, (mine, theirs) in enumerate(zip(self.device.weights(), self.reference.state, strict=True)):
            for key in STATE:
                if (mine[key] != theirs[key]).any():
                    raise Wrong(f"{int((mine[key] != theirs[key]).sum())} words of {key} of layer {layer} differ")
        if self.backend.outstanding or self.backend.read32(reg.STATUS) & (reg.BUSY | reg.BUS_OPEN):
            raise Wrong("the engine is not quiet")

    def _told(self, *kinds, code=None):
        """One error, of this kind and code. Raises Wrong."""
        if len(self.events) != 1:
            raise Wrong(f"{len(self.events)} errors")
        error = self.events[0].error
        if type(error) not in (kinds or (EngineError,)) or (code is not None and error.code != code):
            raise Wrong(f"the wrong error, {type(error).__name__} {error.code}, not {code}")

    def _untold(self):
        if self.events or self.said:
            raise Wrong("an error without a fault")

    # The classes: each arms a fault and gives the function that judges what has become of it: True when it has struck.

    def _response(self, rng, response: int):
        kind = rng.choice(["read", "write"])
        self.backend.fault(kind, rng.randrange(self.bursts[kind]), response)

        def judge():
            if self.backend.until_fault(kind):  # fewer bursts this time
                self.backend.revive()
                self._untold()
                return False
            self._told(code={"read": 16, "write": 32}[kind] + response)
            return True

        return judge

    def _slverr(self, rng):
        return self._response(rng, 2)

    def _decerr(self, rng):
        return self._response(rng, 3)

    def _silent(self, rng):
        """No answer to a burst, or no request taken any more; then the memory answers late, is reset and the engine
        forced, or both are reset."""
        kind, how, way = (rng.choice(text.split()) for text in ("read write", "silent deaf", "late force reset"))
        self.backend.fault(kind, rng.randrange(self.bursts[kind] - FEWER), how)
        if way == "late":
            self.backend.late = rng.randrange(int(LATE * 50_000))

        def force():
            self.backend.forget()
            done = self.device.recover(force=True)
            if done != ["forgot the answers that the memory owes"]:
                raise Wrong(f"recovered by {done}")

        self.by_hand = {"late": None, "force": force, "reset": self.backend.reset}[way]

        def judge():
            self._told(code=5)
            done = self.events[0].done
            if way == "late" and (self.backend.late is not None or done != ("late answers of the memory have come",)):
                raise Wrong(f"recovered by {done}")
            return True

        return judge

    def _timeout(self, rng):
        """Shorter than the program takes."""
        limit = rng.randrange(1, self.cycles)
        self.device.timeout = limit / self.backend.cycles_per_second

        def judge():
            self.device.timeout = self.timeout
            if not self.events:
                if self.device.counters()["cycles"] > limit + RACE:
                    raise Wrong("no time-out")
                return False
            self._told(EngineTimeout)
            if self.events[0].error.code not in (6, None):  # None: the program ended before the stop
                raise Wrong(f"code {self.events[0].error.code}")
            return True

        return judge

    def _while_busy(self, rng, action):
        """Call `action` at a random moment; gives a list that then holds what it returned, and the cycle."""
        found = []

        def act():
            if self.backend.busy:
                found.extend((action(), self.backend.cycles))

        self.backend.plan = rng.randrange(self.cycles), act
        return found

    def _stop(self, rng):
        found = self._while_busy(rng, lambda: self.backend.write32(reg.CTRL, reg.STOP))

        def judge():
            if not found or (not self.events and self.backend.end - found[1] < RACE):
                self._untold()
                return False
            self._told(code=6)
            return True

        return judge

    def _reset(self, rng):
        found = self._while_busy(rng, self.backend.reset)

        def judge():
            if not found:
                self._untold()
                return False
            self._told(EngineReset)
            return True

        return judge

    def _writes(self, rng):
        """Every locked register gets another value while the program runs."""

        def write():
            changed = []
            for offset in rng.sample(LOCKED, len(LOCKED)):
                before = self.backend.read32(offset)
                self.backend.write32(offset, before ^ 1 << rng.randrange(32))
                if self.backend.read32(offset) != before:
                    changed.append(f"{offset:#x}")
            return changed, self.backend.read32(reg.STATUS)

        found = self._while_busy(rng, write)

        def judge():
            self._untold()
            if not found:
                return False
            changed, status = found[0]
            if not status & reg.BUSY:  # the program ended in between; the driver sets WATCHDOG only after a reset
                self.backend.write32(reg.WATCHDOG, WATCHDOG)
                return False
            if changed or not status & reg.LOCKED_WRITE:
                raise Wrong(f"STATUS {status:#x} after the writes, changed {changed}")
            return True

        return judge

    def _program(self, rng):
        """Bits of the training program in DRAM change before the driver looks at it, between that and the start, or
        while it runs."""
        address, program = self.device._programs[NETWORK.minibatch, "train"]
        bits = rng.sample(range(8 * program.binary.size), rng.choice([1, 1, 1, 2, 4, 8]))
        when = rng.choice(["before", "start", "running"])

        def flip():
            for bit in bits:
                self.backend.dram[address + bit // 8] ^= 1 << bit % 8

        found = [True]
        if when == "before":
            flip()
        elif when == "start":
            self.backend.at_start = flip
        else:
            found = self._while_busy(rng, flip)

        def judge():
            if not found:
                self._untold()
                return False
            again = [text for text in (*self.said, *map(str, self.events)) if "had changed in memory" in text]
            if when == "before":
                if self.events or len(self.said) != 1 or not again:
                    raise Wrong("not found before the run")
                return True
            self._told(EngineError, EngineTimeout, IntegrityError)
            error = self.events[0].error
            if type(error) is EngineError and error.code not in ENDS or not again:
                raise Wrong(f"code {error.code}")
            return True

        return judge
