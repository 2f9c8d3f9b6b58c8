# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.triggers import Timer

from tb.support.bench import cycles, reset, start
from tb.support.runner import expect_elaboration_error, parameter, run

END, UNKNOWN_OPCODE, NO_END, MALFORMED = 0, 1, 2, 3


def instruction(opcode):
    return random.getrandbits(parameter("INSTR_W") - 4) << 4 | opcode


def most():
    """The highest opcode that is known."""
    return parameter("ENGINES") + bool(parameter("SHARED"))


def queue(opcode):
    return parameter("SHARED") if opcode > parameter("ENGINES") else opcode


async def begin(dut):
    await start(dut, start=0, cfg_length=0, s_instruction=0, s_bad=0)


async def launch(dut, length):
    dut.cfg_length.value, dut.start.value = length, 1
    await cycles(dut, 1)
    dut.start.value = 0


async def program(dut, opcodes, pause=0.3, stall=0.3, bad=None):
    """Run a program whose instruction `bad` is malformed; returns its words, the (engine, instruction) pairs that were
    given out, and how many words were taken."""
    given, taken, words = [], 0, [instruction(opcode) for opcode in opcodes]
    await launch(dut, len(words))
    for _ in range(100 * len(words) + 100):
        dut.s_valid.value = int(taken < len(words) and random.random() >= pause)
        dut.s_instruction.value = words[taken] if taken < len(words) else 0
        dut.s_bad.value = int(taken == bad)
        dut.m_ready.value = ready = sum((random.random() >= stall) << e for e in range(parameter("ENGINES")))
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
    await begin(dut)
    assert dut.sts_finished.value == 1
    unknown = list(range(most() + 1, 16))
    for _ in range(60):
        opcodes = [random.randint(1, most()) for _ in range(random.randint(0, 12))]
        for extra in random.choices(([END], [], random.sample(unknown, min(1, len(unknown)))), k=random.randint(0, 2)):
            opcodes[random.randint(0, len(opcodes)) : 0] = extra
        words, given, taken = await program(dut, opcodes, *random.choice([(0, 0), (0.5, 0), (0, 0.5), (0.3, 0.3)]))
        end = until(opcodes, END, *unknown)
        assert given == [(queue(opcode) - 1, word) for opcode, word in zip(opcodes[:end], words)]
        assert taken == len(words), "instructions behind the end are left for the next program"
        code = NO_END if end == len(opcodes) else UNKNOWN_OPCODE if opcodes[end] != END else 0
        assert (bool(dut.sts_error.value), int(dut.sts_code.value)) == (code > 0, code)
        if code:
            assert int(dut.sts_index.value) == end


@cocotb.test()
async def every_unknown_opcode_is_named(dut):
    await begin(dut)
    for opcode in range(most() + 1, 16):
        await program(dut, [1, opcode, END])
        assert (int(dut.sts_code.value), int(dut.sts_index.value)) == (UNKNOWN_OPCODE, 1)


@cocotb.test()
async def a_malformed_instruction_goes_nowhere(dut):
    await begin(dut)
    for _ in range(20):
        opcodes = [random.randint(1, parameter("ENGINES")) for _ in range(random.randint(1, 8))] + [END]
        bad = random.randrange(len(opcodes) - 1)
        words, given, taken = await program(dut, opcodes, bad=bad)
        assert given == [(opcode - 1, word) for opcode, word in zip(opcodes[:bad], words)] and taken == len(words)
        assert (dut.sts_error.value, int(dut.sts_code.value), int(dut.sts_index.value)) == (1, MALFORMED, bad)


@cocotb.test()
async def one_instruction_per_cycle(dut):
    await begin(dut)
    await launch(dut, 51)
    dut.s_valid.value, dut.m_ready.value = 1, (1 << parameter("ENGINES")) - 1
    for opcode in [random.randint(1, parameter("ENGINES")) for _ in range(50)] + [END]:
        dut.s_instruction.value = instruction(opcode)
        await Timer(1, "ns")
        assert dut.s_ready.value == 1 and int(dut.m_valid.value) == (1 << opcode) >> 1
        await cycles(dut, 1)
    assert dut.sts_finished.value == 1 and dut.sts_error.value == 0


@cocotb.test()
async def a_full_queue_holds_all_that_stand_behind(dut):
    engines = parameter("ENGINES")
    await begin(dut)
    await launch(dut, engines + 1)
    for opcode in range(1, engines + 1):
        own = 1 << (opcode - 1)
        dut.s_valid.value, dut.s_instruction.value = 1, instruction(opcode)
        dut.m_ready.value = (1 << engines) - 1 - own  # all others have room
        for _ in range(3):
            await cycles(dut, 1)
            assert dut.s_ready.value == 0 and int(dut.m_valid.value) == own
        assert int(dut.sts_index.value) == opcode - 1
        dut.m_ready.value = own
        await cycles(dut, 1)
        assert int(dut.sts_index.value) == opcode


@cocotb.test()
async def reset_ends_the_program(dut):
    await begin(dut)
    for _ in range(2):
        await launch(dut, 5)
        dut.s_valid.value, dut.s_instruction.value, dut.m_ready.value = 1, instruction(1), 1
        await cycles(dut, 2)
        assert dut.sts_finished.value == 0 and int(dut.m_valid.value) == 1
        await reset(dut, 1)
        assert dut.sts_finished.value == 1 and int(dut.m_valid.value) == 0
        dut.s_valid.value = 0
        _, given, _ = await program(dut, [1, END])
        assert len(given) == 1


@pytest.mark.parametrize("width, engines, shared", [(40, 5, 0), (8, 1, 1), (1024, 5, 4), (32, 15, 0)])
def test_dispatch(width, engines, shared):
    run("sequencer", "gc_dispatch", {"INSTR_W": width, "ENGINES": engines, "SHARED": shared})


@pytest.mark.parametrize(
    "bad, reason",
    [
        ({"ENGINES": 0}, "ENGINES_"),
        ({"ENGINES": 16}, "ENGINES_"),
        ({"INSTR_W": 3}, "INSTR_W_"),
        ({"SHARED": 6}, "SHARED_"),
    ],
)
def test_refuses(bad, reason):
    expect_elaboration_error("sequencer", "gc_dispatch", bad, reason)
