# SPDX-License-Identifier: Apache-2.0
"""What may be done to a program of the fuzzer beside running it: faults of the memory, time-outs, stops, resets,
register writes while it runs.

A fault sets itself up before the start (`arm`), acts while the program runs (`act`), and judges how the program ended
and whether the engine is as new behind it (`settle`). The ending is judged with the `errors` that it adds to the
program's own, with any instruction.
"""

from gradcore.isa import registers as reg
from gradcore.ops.optimiser import RATE_ONE

PATIENCE = 3000  # cycles in which a memory that is not dead has answered everything
LOCKED = (
    reg.SEED,
    reg.RATE,
    reg.PROG_LENGTH,
    reg.WATCHDOG,
    *(base + part for base in (reg.PROG_BASE, *reg.BASE) for part in (0, 4)),
    *range(reg.WINDOW, reg.WINDOW + 4 * reg.WINDOW_BYTES, 4),
)


class Wrong(AssertionError):
    """A case that did not end as it must."""


def need(good, text: str) -> None:
    if not good:
        raise Wrong(text)


class Fault:
    """Nothing; `name` is that of the class in the tally."""

    errors = frozenset()  # codes that it may end the program with

    def __init__(self, rng, fuzzer, case):
        self.rng, self.fuzzer, self.backend, self.case = rng, fuzzer, fuzzer.backend, case

    @property
    def name(self) -> str:
        return type(self).__name__.lower()

    def arm(self, values: dict) -> None:
        """Before the start: `values` of registers can still be changed."""

    def act(self) -> bool:
        """Behind the start; False: the program is gone, nothing is left to judge but the memory."""
        return True

    def settle(self, status: int, code: int, address: int) -> None:
        """Behind the end."""
        need(not status & reg.BUS_OPEN, "BUS_OPEN with a good memory")

    def burst(self) -> tuple:
        """(kind, bursts of the kind before it) of a burst, mostly an early one."""
        kind = self.rng.choice(["read", "write"])
        return kind, self.rng.randrange(self.rng.choice([1, 8, 40] if kind == "read" else [1, 3, 8]))

    def run(self, most: int) -> bool:
        """Up to so many cycles, few as often as many; True: the program has ended."""
        return self.backend.run(self.rng.randint(0, self.rng.choice([10, 100, most]))) != 0

    def closed(self) -> bool:
        """Does BUS_OPEN fall in time, without another interrupt?"""
        self.backend.write32(reg.IRQ_STATUS, reg.IRQ_DONE | reg.IRQ_FAILED)
        need(self.backend.run(PATIENCE) == 0, "a second interrupt")
        return self.backend.read32(reg.STATUS) & reg.BUS_OPEN == 0


class Response(Fault):
    """An error response."""

    def arm(self, values):
        kind, after, response = *self.burst(), self.rng.choice([2, 3])
        self.code = (16 if kind == "read" else 32) + response
        self.errors, self.right = {self.code}, reg.READ if kind == "read" else reg.WRITE
        self.backend.fault(kind, after, response)

    def settle(self, status, code, address):
        super().settle(status, code, address)
        struck = self.backend.struck
        need(not (struck and status & reg.DONE), "an error response, but the program completes")
        need(struck or code != self.code, "an error response is told that nobody gave")
        if code == self.code:
            need(self.case.allows(address, self.right), f"error response at {address:#x}, which no window allows")
        self.backend.revive()


class Silence(Fault):
    """No answer, or not even a request taken; the watchdog ends it, or a stop."""

    def arm(self, values):
        kind, after, how, self.stops = *self.burst(), self.rng.choice(["silent", "deaf"]), self.rng.random() < 0.3
        self.errors = {5, 6} if self.stops else {5}
        values[reg.WATCHDOG] = self.rng.choice([250, 400])
        self.backend.fault(kind, after, how)

    def act(self):
        if self.stops and not self.run(500):
            self.backend.write32(reg.CTRL, reg.STOP)
        return True

    def settle(self, status, code, address):
        backend, struck = self.backend, self.backend.struck
        need(not (struck and status & reg.DONE), "a burst without an answer, but the program completes")
        need(not struck or status & reg.BUS_OPEN, "a burst without an answer, but not BUS_OPEN")
        if status & reg.BUS_OPEN:
            self.recover(status)
        backend.revive()

    def recover(self, status):
        backend = self.backend
        backend.write32(reg.CTRL, reg.START)
        backend.run(20)
        need(backend.read32(reg.STATUS) == status, "a start while BUS_OPEN")
        ways = [
            (backend.revive,),
            (self.force, backend.forget),
            (backend.forget, self.force),
            (self.force, backend.revive, self.late),
        ]
        way = self.rng.choice(ways)
        for step in way:
            step()
        need(self.closed(), f"BUS_OPEN stays after {[step.__name__ for step in way]}")

    def force(self):
        self.backend.write32(reg.CTRL, reg.FORCE)

    def late(self):
        """The answers that nobody waits for any more come; the next program must not take them for its own. What is
        left are write bursts whose beats do not come any more."""
        self.backend.run(5000)
        self.backend.forget()


class Impatience(Fault):
    """A watchdog that is shorter than the memory's latency."""

    errors = frozenset({5})

    def arm(self, values):
        values[reg.WATCHDOG] = self.rng.randint(1, 60)

    def settle(self, status, code, address):
        need(not status & reg.BUS_OPEN or self.closed(), "BUS_OPEN stays though the memory answers")


class Stop(Fault):
    errors = frozenset({6})

    def act(self):
        if not self.run(1000):
            self.backend.write32(reg.CTRL, reg.STOP)
        return True


class Reset(Fault):
    """A hardware reset, of the memory, too: every register is zero, but for RATE, and the windows are closed."""

    def act(self):
        self.run(1000)
        self.fuzzer.reset()
        for offset in self.rng.sample(
            (*LOCKED, reg.STATUS, reg.ERROR, reg.IRQ_STATUS, reg.LOCK, reg.COUNTERS, reg.LOSS), 6
        ):
            value = RATE_ONE if offset == reg.RATE else 0
            need(self.backend.read32(offset) == value, f"register {offset:#x} is not {value} after a reset")
        need(self.backend.run(50) == 0, "an interrupt after a reset")
        return False


class Writes(Fault):
    """Registers that are locked, and commands that mean nothing to a running program."""

    def act(self):
        self.backend.write32(reg.CTRL, reg.START)
        for _ in range(self.rng.randint(1, 12)):
            if self.run(100):
                break
            offset, before = self.rng.choice((reg.CTRL, *LOCKED)), None
            if offset == reg.CTRL:
                self.backend.write32(reg.CTRL, reg.FORCE)
            else:
                before = self.backend.read32(offset)
                self.backend.write32(offset, self.rng.getrandbits(32))
                if self.backend.read32(reg.STATUS) & (reg.BUSY | reg.BUS_OPEN) == reg.BUSY:  # so it was busy then
                    need(
                        self.backend.read32(offset) == before,
                        f"register {offset:#x} has changed under a running program",
                    )
                    need(
                        self.backend.read32(reg.STATUS) & (reg.LOCKED_WRITE | reg.DONE | reg.FAILED),
                        "a write to a locked register is not told",
                    )
        self.fuzzer.written.clear()  # the program may have ended before the last write
        return True


class Lock(Fault):
    """The windows are locked and others written; a reset behind the program opens them."""

    def arm(self, values):
        self.fuzzer.set(values)
        self.backend.write32(reg.LOCK, reg.LOCK_WINDOWS)
        for _ in range(4):
            self.backend.write32(
                self.rng.choice(range(reg.WINDOW, reg.WINDOW + 4 * reg.WINDOW_BYTES, 4)), self.rng.getrandbits(32)
            )

    def settle(self, status, code, address):
        super().settle(status, code, address)
        self.fuzzer.reset()


class Misaligned(Fault):
    """PROG_BASE or a BASE that is no multiple of the beat: nothing happens at all."""

    errors = frozenset({9})

    def arm(self, values):
        offset = self.rng.choice((reg.PROG_BASE, *reg.BASE))
        values[offset] += self.rng.randrange(1, self.backend.beat_bytes)
        self.address, self.traffic = values[offset] | values[offset + 4] << 32, self.backend.traffic

    def settle(self, status, code, address):
        super().settle(status, code, address)
        told = code, address, self.backend.traffic, self.backend.read32(reg.ERROR) >> 8
        need(told == (9, self.address, self.traffic, 0), f"misaligned {self.address:#x} ends with {told}")


KINDS = (Response, Response, Silence, Silence, Impatience, Stop, Reset, Writes, Writes, Lock, Misaligned)


def draw(rng, fuzzer, case) -> Fault | None:
    """A fault for one program of eight."""
    return rng.choice(KINDS)(rng, fuzzer, case) if rng.random() < 1 / 8 else None
