# SPDX-License-Identifier: Apache-2.0
"""One engine's gate against its rules, cycle by cycle."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, reset, start
from tb.support.runner import expect_elaboration_error, parameter, run


class Gate:
    """Drives the ports and compares every output in every cycle."""

    def __init__(self, dut):
        self.dut, self.producers = dut, parameter("PRODUCERS")
        self.busy, self.started, self.current = False, False, None

    async def cycle(self, instruction=None, available=0, done=0):
        """Returns whether the unit will start. Without an instruction the bus carries noise."""
        dut = self.dut
        word = random.getrandbits(parameter("INSTR_W")) if instruction is None else instruction
        dut.s_valid.value, dut.s_instruction.value = instruction is not None, word
        dut.s_available.value, dut.s_done.value = available, done
        wanted = word >> 4 & ((1 << self.producers) - 1)
        missing = [p for p in range(self.producers) if wanted >> p & 1 and not available >> p & 1]
        waiting = instruction is not None and not self.busy
        go = waiting and not missing
        await ReadOnly()
        assert bool(dut.s_ready.value) == self.started
        assert int(dut.m_take.value) == (wanted if go else 0)
        assert bool(dut.m_start.value) == self.started
        assert not self.busy or int(dut.m_instruction.value) == self.current
        assert bool(dut.sts_active.value) == self.busy
        assert bool(dut.sts_busy.value) == (self.busy or go)
        assert int(dut.sts_waits.value) == (1 << missing[0] if waiting and missing else 0)
        assert bool(dut.sts_idle.value) == (not self.busy and instruction is None)
        await cycles(dut, 1)
        self.started = go
        self.current = word if go else self.current
        self.busy = go or (self.busy and not done)
        return go


async def begin(dut):
    await start(dut, s_instruction=0, s_available=0, s_done=0)
    return Gate(dut)


def instruction(wait):
    """A random instruction with this wait field."""
    producers, width = parameter("PRODUCERS"), parameter("INSTR_W")
    mask = ((1 << producers) - 1) << 4
    return random.getrandbits(width) & ~mask | wait << 4


@cocotb.test()
@cocotb.parametrize(density=[0.3, 1.0], tokens=[0.2, 0.7])
async def random_instructions_wait_start_and_end(dut, density, tokens):
    gate, producers, head = await begin(dut), parameter("PRODUCERS"), None
    for _ in range(500):
        if head is None and random.random() < density:
            head = instruction(random.getrandbits(producers) & random.getrandbits(producers))
        available = sum((random.random() < tokens) << p for p in range(producers))
        leaves = gate.started
        await gate.cycle(head, available, random.random() < 0.3)
        if leaves:
            head = None


@cocotb.test()
async def names_the_first_missing_producer(dut):
    gate, producers = await begin(dut), parameter("PRODUCERS")
    everything = (1 << producers) - 1
    word = instruction(everything)
    for ready in range(producers):
        assert not await gate.cycle(word, (1 << ready) - 1)
    assert await gate.cycle(word, everything)
    assert not await gate.cycle(instruction(0))  # m_start; the engine is busy
    assert not await gate.cycle(instruction(0), 0, done=1)
    assert await gate.cycle(instruction(0))  # one cycle after s_done, without tokens


@cocotb.test()
async def an_engine_that_ends_in_its_first_cycle(dut):
    gate = await begin(dut)
    for _ in range(4):
        assert await gate.cycle(instruction(0))
        assert not await gate.cycle(instruction(0), 0, done=1)  # beside m_start
    await gate.cycle()
    await gate.cycle(done=1)
    await gate.cycle(done=1)  # without effect: nothing runs
    await gate.cycle()


@cocotb.test()
async def reset_frees_the_engine(dut):
    gate = await begin(dut)
    for idle in (0, 2):
        assert await gate.cycle(instruction(0))
        for _ in range(idle):
            await gate.cycle()
        dut.s_valid.value = 0
        await reset(dut, 1)
        gate.busy = gate.started = False
        await gate.cycle()


@pytest.mark.parametrize("width, producers", [(16, 6), (5, 1), (1024, 6)])
def test_instruction_gate(width, producers):
    run("sequencer", "gc_instruction_gate", {"INSTR_W": width, "PRODUCERS": producers})


@pytest.mark.parametrize("bad, reason", [({"PRODUCERS": 0}, "PRODUCERS_"), ({"INSTR_W": 9}, "INSTR_W_")])
def test_refuses(bad, reason):
    expect_elaboration_error("sequencer", "gc_instruction_gate", bad, reason)
