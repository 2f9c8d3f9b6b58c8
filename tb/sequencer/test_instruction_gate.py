# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
from cocotb.triggers import Timer

from tb.support.bench import cycles, start
from tb.support.runner import parameter, run


@cocotb.test()
async def starts_when_free_and_all_tokens_are_there(dut):
    width, producers = parameter("INSTR_W"), parameter("PRODUCERS")
    await start(dut, s_available=0, s_done=0, s_instruction=0)
    busy, running, current = False, 0, None
    for _ in range(3000):
        valid, word = random.random() < 0.8, random.getrandbits(width) & ~(random.getrandbits(producers) << 4)
        available, done = random.getrandbits(producers) | random.getrandbits(producers), busy and running > 1 and random.random() < 0.3
        dut.s_valid.value, dut.s_instruction.value, dut.s_available.value, dut.s_done.value = int(valid), word, available, int(done)
        await Timer(1, "ns")
        wanted = word >> 4 & ((1 << producers) - 1)
        missing = wanted & ~available
        go = valid and not busy and not missing
        assert bool(dut.s_ready.value) == (not busy and not missing)
        assert int(dut.m_take.value) == (wanted if go else 0)
        assert bool(dut.sts_busy.value) == (busy or go)
        assert bool(dut.sts_idle.value) == (not busy and not valid)
        assert int(dut.sts_waits.value) == (missing & -missing if valid and not busy else 0)
        await cycles(dut, 1)
        assert bool(dut.m_start.value) == go
        if go:
            current = word
        if current is not None:
            assert int(dut.m_instruction.value) == current
        busy = True if go else busy and not done
        running = running + 1 if busy and not go else 0


def test_instruction_gate():
    run("sequencer", "instruction_gate", {"INSTR_W": 32, "PRODUCERS": 6})
