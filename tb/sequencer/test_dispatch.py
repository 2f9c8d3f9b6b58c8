# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
from cocotb.triggers import Timer

from tb.support.bench import cycles, start
from tb.support.runner import parameter, run

END, ENGINES, UNKNOWN_OPCODE, NO_END = 0, 5, 1, 2


async def program(dut, opcodes, pause=0.3, stall=0.3):
    """Run a program; returns the (engine, instruction) pairs that were given out and the words that were taken."""
    width, given, taken = parameter("INSTR_W"), [], 0
    words = [random.getrandbits(width - 4) << 4 | opcode for opcode in opcodes]
    dut.cfg_length.value, dut.start.value = len(words), 1
    await cycles(dut, 1)
    dut.start.value = 0
    for _ in range(100 * len(words) + 100):
        dut.s_valid.value = int(taken < len(words) and random.random() >= pause)
        dut.s_instruction.value = words[taken] if taken < len(words) else 0
        dut.m_ready.value = ready = sum((random.random() >= stall) << e for e in range(ENGINES))
        await Timer(1, "ns")
        valid = int(dut.m_valid.value)
        assert valid & (valid - 1) == 0, "more than one queue was offered the instruction"
        if dut.s_valid.value and dut.s_ready.value:
            if valid:
                assert valid & ready
                given.append((valid.bit_length() - 1, int(dut.m_instruction.value)))
            taken += 1
        await cycles(dut, 1)
        if dut.sts_finished.value:
            break
    dut.s_valid.value = 0
    assert dut.sts_finished.value == 1
    return words, given, taken


def until(opcodes, *stop):
    return next((i for i, opcode in enumerate(opcodes) if opcode in stop), len(opcodes))


@cocotb.test()
async def programs_reach_their_queues_and_leave_nothing_behind(dut):
    await start(dut, start=0, cfg_length=0, s_instruction=0)
    assert dut.sts_finished.value == 1
    for _ in range(60):
        opcodes = [random.randint(1, ENGINES) for _ in range(random.randint(0, 12))]
        for extra in random.choices(([END], [], [random.randint(ENGINES + 1, 15)]), k=random.randint(0, 2)):
            opcodes[random.randint(0, len(opcodes)):0] = extra
        words, given, taken = await program(dut, opcodes, *random.choice([(0, 0), (0.5, 0), (0, 0.5), (0.3, 0.3)]))
        end = until(opcodes, END, *range(ENGINES + 1, 16))
        assert given == [(opcode - 1, word) for opcode, word in zip(opcodes[:end], words)]
        assert taken == len(words), "instructions behind the end are left for the next program"
        code = NO_END if end == len(opcodes) else UNKNOWN_OPCODE if opcodes[end] != END else 0
        assert (bool(dut.sts_error.value), int(dut.sts_code.value)) == (code > 0, code)
        if code:
            assert int(dut.sts_index.value) == end


def test_dispatch():
    run("sequencer", "dispatch", {"INSTR_W": 40, "ENGINES": ENGINES})
