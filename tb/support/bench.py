# SPDX-License-Identifier: Apache-2.0
"""Clock, reset and stream ends for cocotb tests."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge, Timer

PAUSES = [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.4, 0.4)]  # (source pauses, sink stalls)


MOST_CYCLES = 3_000_000  # of a test


async def start(dut, **inputs) -> None:
    """Start the clock, set inputs (default: every s_*valid and *ready to 0), reset for three cycles. The test fails
    after `MOST_CYCLES`."""
    for name in dir(dut):
        if (name.startswith("s_") and name.endswith("valid")) or (name.startswith("m_") and name.endswith("ready")):
            getattr(dut, name).value = 0
    for name, value in inputs.items():
        getattr(dut, name).value = value
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    cocotb.start_soon(end())
    await reset(dut)


async def end() -> None:
    """Fail a test that waits for what never comes."""
    await Timer(10 * MOST_CYCLES, "ns")
    raise AssertionError(f"the test does not end within {MOST_CYCLES} cycles")


async def reset(dut, cycles: int = 3) -> None:
    """Hold rst for some cycles; returns just after a falling edge, with rst low."""
    if hasattr(dut, "rst"):
        dut.rst.value = 1
        for _ in range(cycles):
            await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
        dut.rst.value = 0
    else:
        await FallingEdge(dut.clk)


async def cycles(dut, count: int) -> None:
    """Wait for `count` rising edges and the falling edge after the last."""
    for _ in range(count):
        await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)


class Source:
    """Drives a stream `prefix`valid/ready/...; words are dicts of payload signals, whose names begin with `payload`, if
    not with the prefix. Inputs change at falling edges."""

    def __init__(self, dut, prefix: str, pause: float = 0.0, payload: str | None = None):
        self.dut, self.prefix, self.pause = dut, prefix, pause
        self.payload = prefix if payload is None else payload

    async def send(self, words, limit: int = 20_000) -> None:
        """Send the words; fails when one of them waits longer than `limit` cycles."""
        dut, valid = self.dut, getattr(self.dut, self.prefix + "valid")
        ready = getattr(dut, self.prefix + "ready", None)
        for word in words:
            while random.random() < self.pause:
                valid.value = 0
                await cycles(dut, 1)
            valid.value = 1
            for name, value in word.items():
                getattr(dut, self.payload + name).value = value
            for _ in range(limit):
                await ReadOnly()
                taken = ready is None or bool(ready.value)
                await cycles(dut, 1)
                if taken:
                    break
            else:
                raise AssertionError(f"{self.prefix}: a word was not taken for {limit} cycles")
        valid.value = 0


class Sink:
    """Takes a stream; `words` collects dicts of payload values. Checks that a stalled word does not change."""

    def __init__(self, dut, prefix: str, names, stall: float = 0.0):
        self.dut, self.prefix, self.names, self.stall = dut, prefix, names, stall
        self.words: list[dict] = []
        self.task = cocotb.start_soon(self._run())

    async def _run(self) -> None:
        dut, valid = self.dut, getattr(self.dut, self.prefix + "valid")
        ready = getattr(dut, self.prefix + "ready", None)
        held = None
        while True:
            if ready is not None:
                ready.value = int(random.random() >= self.stall)
            await ReadOnly()
            if not valid.value.is_resolvable or dut.rst.value:
                held = None
            elif valid.value:
                word = {n: getattr(dut, self.prefix + n).value for n in self.names}
                assert held is None or held == word, f"{self.prefix} changed while stalled"
                taken = ready is None or bool(ready.value)
                if taken:
                    self.words.append(word)
                held = None if taken else word
            else:
                assert held is None, f"{self.prefix}valid fell while stalled"
            await cycles(dut, 1)

    async def receive(self, count: int, limit: int = 100_000) -> list[dict]:
        """Wait until `count` words have come; fails after `limit` cycles."""
        for _ in range(limit):
            if len(self.words) >= count:
                return self.words
            await cycles(self.dut, 1)
        raise AssertionError(f"{self.prefix}: {len(self.words)} of {count} words after {limit} cycles")
