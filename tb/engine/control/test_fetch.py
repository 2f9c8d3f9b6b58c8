# SPDX-License-Identifier: Apache-2.0
"""Programs from memory to the units: every instruction once, in order, to the unit of its opcode, up to the end."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import BYTES, ENGINE, ENGINES, Instruction, Opcode, decode, encode
from gradcore.isa.rules import problem
from tb.dma.memory import Memory, addresses, transfer
from tb.engine.control.test_instruction_check import almost_right
from tb.support.bench import PAUSES, cycles, reset, start
from tb.support.cases import first
from tb.support.runner import parameter, run

UNKNOWN, NO_END, MALFORMED = 1, 2, 3  # codes of ERROR


def config() -> EngineConfig:
    return EngineConfig(
        grid=parameter("GRID"),
        cols=parameter("COLS"),
        mem_bytes=parameter("MEM_W") // 8,
        wgt_depth=parameter("WGT_DEPTH"),
    )


def good() -> bytes:
    """An instruction that a unit may get."""
    while True:
        instr = almost_right(config())
        if instr.opcode != Opcode.END and not problem(instr, config()):
            return encode(instr)


def bad() -> tuple[bytes, int]:
    """An instruction that none may get, and its code."""
    if random.getrandbits(1):
        return bytes([random.randrange(7, 16)]) + random.randbytes(BYTES - 1), UNKNOWN
    while True:
        instr = almost_right(config())
        if problem(instr, config()):
            return encode(instr), MALFORMED


def program(how: str) -> tuple[list, int, int]:
    """(instructions, how many of them reach a unit, code of the error or 0)."""
    words, tail = [good() for _ in range(random.randint(0, 12))], [good() for _ in range(random.randint(0, 6))]
    reached = len(words)
    if how == "no end":
        return words, reached, NO_END
    if how == "end":
        return [*words, encode(Instruction(Opcode.END)), *tail], reached, 0
    word, code = bad()
    return [*words, word, *tail], reached, code


async def fetch(dut, memory, words: list, stall: float) -> list:
    """(unit, instruction) as they are pushed, each a cycle after its unit had room, until the fetch has finished. An
    instruction is the beats that came before its push, each in its place."""
    beat = parameter("MEM_W") // 8
    base = random.randrange(1 << 20) // beat * beat
    data = b"".join(words)
    memory.reads.clear()
    for at in range(0, len(data), beat):
        memory.data[base + at] = int.from_bytes(data[at : at + beat], "little")
    dut.cfg_prog_base.value, dut.cfg_prog_length.value = base, len(words)
    dut.start.value, dut.s_begin.value = 1, 1
    await cycles(dut, 1)
    dut.start.value = dut.s_begin.value = 0
    taken, before, beats = [], 0, {}
    for _ in range(4000):
        ready = sum((random.random() >= stall) << unit for unit in range(parameter("UNITS")))
        dut.m_ready.value = ready
        await ReadOnly()
        valid = int(dut.m_valid.value)
        assert valid & valid - 1 == 0, "two units at a time"
        assert not valid & ~before, "a push without room"
        if valid:
            assert int(dut.m_index.value) == len(taken)
            taken.append((valid.bit_length() - 1, b"".join(beats[place] for place in range(BYTES // beat))))
            beats = {}
        if dut.m_write.value:
            assert int(dut.m_place.value) == len(beats) % (BYTES // beat)
            if not int(dut.m_place.value):
                beats = {}  # of one behind the end
            beats[int(dut.m_place.value)] = int(dut.m_beat.value).to_bytes(beat, "little")
        before = ready
        finished = bool(dut.sts_finished.value)
        await cycles(dut, 1)
        if finished:
            break
    else:
        raise AssertionError("the fetch does not end")
    if words:
        asked = [addr + beat * i for addr, last in memory.reads for i in range(last + 1)]
        assert asked == addresses(transfer(base, len(data) // beat), beat)
    return taken


async def begin(dut, stall: float) -> Memory:
    await start(dut, start=0, s_begin=0, m_ready=0)
    return Memory(dut, parameter("MEM_W") // 8, stall, latency=(1, 30))


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES, how=["end", "no end", "bad"])
async def every_instruction_reaches_its_unit_up_to_the_end(dut, pauses, how):
    memory = await begin(dut, pauses[0])
    for _ in range(3):
        words, reached, code = program(how)
        taken = await fetch(dut, memory, words, pauses[1])
        assert taken == [(ENGINE[decode(word).opcode], word) for word in words[:reached]]
        await cycles(dut, 2)
        assert (bool(dut.sts_error.value), int(dut.sts_code.value)) == (code > 0, code)
        assert int(dut.sts_index.value) == reached


@cocotb.test()
async def a_reset_forgets_the_program(dut):
    memory = await begin(dut, 0.0)
    for _ in range(4):
        dut.cfg_prog_base.value, dut.cfg_prog_length.value = 0, 40
        dut.start.value, dut.s_begin.value = 1, 1
        await cycles(dut, 1)
        dut.start.value = dut.s_begin.value = 0
        await cycles(dut, random.randint(1, 60))
        await reset(dut, 3)
        assert not int(dut.m_valid.value) and not dut.sts_error.value
        words, reached, _ = program("end")
        assert len(await fetch(dut, memory, words, 0.2)) == reached


@pytest.mark.parametrize("grid, cols, width", first(2, [(8, 16, 512), (4, 4, 64), (8, 16, 256), (4, 8, 128)]))
def test_fetch(grid, cols, width):
    sizes = {"GRID": grid, "COLS": cols, "MEM_W": width, "WGT_DEPTH": 64}
    run("engine", "gc_fetch", sizes | {"ADDR_W": 32, "UNITS": len(ENGINES)})
