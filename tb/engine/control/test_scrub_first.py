# SPDX-License-Identifier: Apache-2.0
"""A scrub comes before the first program and before the first one behind a change of the windows, and no program begins
in it."""

import random

import cocotb
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, reset, start
from tb.support.runner import run

INPUTS = ("start", "s_misaligned", "s_abort", "s_scrub", "s_changed", "s_scrubbing")


class Engine:
    """The module with buffers that take some cycles to clear; busy from a start or a scrub to its end."""

    def __init__(self, dut):
        self.dut, self.left, self.scrubs, self.begins = dut, 0, 0, 0

    async def cycle(self, **inputs):
        """One cycle; counts pulses. Returns (m_scrub, m_begin, sts_waiting) of the cycle."""
        dut = self.dut
        for name in INPUTS:
            getattr(dut, name).value = int(inputs.get(name, self.left > 0 if name == "s_scrubbing" else 0))
        await ReadOnly()
        told = tuple(bool(port.value) for port in (dut.m_scrub, dut.m_begin, dut.sts_waiting))
        assert not (told[1] and (self.left or told[0])), "begins in a scrub"
        self.left = random.choice((0, 1, 2, 30)) if told[0] else max(0, self.left - 1)
        self.scrubs, self.begins = self.scrubs + told[0], self.begins + told[1]
        await cycles(dut, 1)
        return told

    async def program(self, scrubbed, **inputs):
        """A start: one begin, behind a scrub or at once."""
        before = self.scrubs, self.begins
        told = await self.cycle(start=1, **inputs)
        assert told == (scrubbed, not scrubbed, False)
        while scrubbed and not told[1]:
            told = await self.cycle()
            assert told[2] and told[1] == (self.dut.s_scrubbing.value == 0)
        for _ in range(3):
            assert await self.cycle() == (False, False, False)
        assert (self.scrubs, self.begins) == (before[0] + scrubbed, before[1] + 1)


async def begin(dut):
    await start(dut, **dict.fromkeys(INPUTS, 0))
    return Engine(dut)


@cocotb.test()
async def a_scrub_comes_after_a_reset_and_after_a_change_of_the_windows_alone(dut):
    engine = await begin(dut)
    for _ in range(20):
        await engine.program(True)
        for _ in range(random.randint(0, 3)):
            await engine.program(False)
        if random.random() < 0.5:
            for _ in range(random.randint(1, 3)):
                await engine.cycle(s_changed=1)
        else:
            await reset(dut, 1)


@cocotb.test()
async def the_host_asks_for_one(dut):
    engine = await begin(dut)
    for _due in (True, False, False):  # at once; a start behind it, when it has ended, needs none
        assert await engine.cycle(s_scrub=1) == (True, False, False)
        while engine.left:
            assert await engine.cycle() == (False, False, False)
        await engine.program(False)
    await engine.program(True, s_scrub=1)  # together with a start
    await engine.program(False)


@cocotb.test()
async def a_program_that_fails_before_does_not_begin(dut):
    engine = await begin(dut)
    for _ in range(3):
        assert await engine.cycle(s_misaligned=1) == (False, False, False)  # known before the start
        assert await engine.cycle(start=1, s_misaligned=1) == (False, False, False)
        for _ in range(5):
            assert await engine.cycle() == (False, False, False)
    await engine.program(True)  # still due
    for _ in range(5):  # stopped in the scrub
        await engine.cycle(s_changed=1)
        assert await engine.cycle(start=1) == (True, False, False)
        while engine.left:
            assert await engine.cycle(s_abort=1) == (False, False, True)
        assert not (await engine.cycle(s_abort=1))[1]
        for _ in range(5):
            assert await engine.cycle() == (False, False, False)
        await engine.program(False)


@cocotb.test()
async def a_reset_in_a_scrub_forgets_the_start(dut):
    engine = await begin(dut)
    await engine.cycle(start=1)
    await engine.cycle(s_scrubbing=1)
    await reset(dut, 1)
    engine.left = 0
    for _ in range(5):
        assert await engine.cycle() == (False, False, False)
    await engine.program(True)


def test_scrub_first():
    run("engine", "gc_scrub_first")
