# SPDX-License-Identifier: Apache-2.0
"""Random instructions, most of them almost right: the RTL refuses exactly those that gradcore.isa.instruction.decode or
problem refuses."""

import random

import cocotb
import pytest

from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import (
    ADD,
    BYTES,
    CHOOSE,
    FIELDS,
    MAXIMUM,
    SUM,
    TABLE,
    Instruction,
    Opcode,
    decode,
    encode,
)
from gradcore.isa.rules import problem
from tb.support.bench import cycles, start
from tb.support.cases import first
from tb.support.runner import parameter, run

RARE = ("keep_in", "keep_out", "factor", "derive", "packed", "softmax")  # fields that few instructions may have
PARTS = ("has_vector", "has_softmax", "has_factor")
SEEN = {(opcode, bad) for opcode in Opcode for bad in (False, True)} - {(Opcode.END, True)}


def almost_right(config) -> Instruction:
    """Small counts and aligned addresses, then up to two fields at an edge or anywhere in their range."""
    instr = Instruction(random.choice(list(Opcode)))
    for name, place in FIELDS[instr.opcode].items():
        low, high = place.range
        if name.startswith("n") or name == "run_beats":
            instr[name] = random.randint(1, min(4, high))
        elif name.startswith(("stride", "advance", "addr", "index")) or name.endswith("addr"):
            instr[name] = config.mem_bytes * random.randrange(4)
        elif name == "split":
            instr[name] = int(config.split and instr["mode"] == 0 and random.getrandbits(1))
        elif "fold" in name or name in ("mode", "loss", "buffer"):
            instr[name] = random.randint(0, 1)
        elif name in RARE:
            instr[name] = 0
        elif name == "classes":
            instr[name] = random.randint(1, 4)
        elif name != "opcode":
            instr[name] = random.randint(low, high)
    choose(instr)
    if instr.opcode == Opcode.VECTOR:
        choose_vector(instr)
    for name in random.sample(sorted(set(FIELDS[instr.opcode]) - {"opcode"}), random.choice([0, 0, 1, 2])):
        low, high = FIELDS[instr.opcode][name].range
        edges = [
            0,
            1,
            2,
            3,
            config.cols,
            config.cols + 1,
            config.mem_bytes // 2,
            config.mem_bytes,
            1 << FIELDS[instr.opcode][name].bits - 1,
        ]
        instr[name] = random.choice([max(low, min(high, edge)) for edge in edges] + [random.randint(low, high)])
    return instr


def choose(instr):
    """Half of them with what only some instructions may have."""
    if random.getrandbits(1):
        return
    if instr.opcode == Opcode.COMPUTE and random.getrandbits(1):
        instr["factor"], instr["pool"] = random.randint(1, 3), random.getrandbits(1)
        instr["loss"] = random.choice([0, 0, 1, 2])
    elif instr.opcode == Opcode.COMPUTE:
        instr["keep_in"], instr["keep_out"] = random.choice([(0, 1), (1, 0), (1, 1)])
        for name in ("n_g", "n_by", "n_bx"):
            instr[name] = 1
        instr["mode"] = random.randrange(3)
        instr["split"] &= instr["mode"] == 0
    elif instr.opcode in (Opcode.LOAD, Opcode.STORE) and random.getrandbits(1):
        instr["buffer"] = 2
        instr["packed"] = 1 if instr.opcode == Opcode.STORE else random.getrandbits(1)
    elif instr.opcode == Opcode.LOAD:
        instr["upsample"] = instr["scale"] = 0
        if random.getrandbits(1):
            instr["derive"] = 1
        else:
            instr["softmax"], instr["n_b"], instr["n_y"], instr["n_x"] = 1, 1, 1, 1


def choose_vector(instr):
    """An operation with what it may have."""
    kind = instr["operation"] = random.randrange(8)
    back = kind == CHOOSE or (kind == SUM and random.getrandbits(1))
    instr["transpose"], instr["rounding"], instr["shift"] = int(back), random.randrange(4), random.randrange(48)
    instr["height"], instr["width"] = random.randint(1, 32767), random.randint(1, 32767)
    for name in ("y", "x"):
        window = 1 if kind >= TABLE else random.choice([1, 2, 3, 127, 128])
        instr["n_k" + name], instr["step_" + name] = window, random.randint(1, window)
        instr["phase_" + name] = random.randrange(instr["step_" + name]) if back else random.randrange(256)
    if kind != MAXIMUM and random.randrange(4):
        instr["index_behind"] = 0
    if kind != SUM and random.randrange(4):
        instr["keep_threshold"] = 0
    if kind == ADD:
        instr["shift_a"], instr["shift_b"] = random.randrange(16), random.randrange(16)


def right(opcode, config) -> Instruction:
    """One that is not refused."""
    drawn = iter(lambda: almost_right(config), None)
    return next(instr for instr in drawn if instr.opcode == opcode and not problem(instr, config))


def present() -> list[Opcode]:
    """The opcodes that the engine has a part for."""
    return [opcode for opcode in Opcode if opcode != Opcode.VECTOR or parameter("HAS_VECTOR")]


def engine() -> EngineConfig:
    """The engine of the parameters."""
    return EngineConfig(
        grid=parameter("GRID"),
        cols=parameter("COLS"),
        mem_bytes=parameter("MEM_W") // 8,
        wgt_depth=parameter("WGT_DEPTH"),
        **{name: parameter(name.upper()) for name in PARTS},
    )


async def verdict(dut, word: bytes) -> bool:
    """What it says of an instruction, two cycles later."""
    dut.s_instruction.value = int.from_bytes(word, "little")
    await cycles(dut, 2)
    return bool(dut.m_bad.value)


@cocotb.test()
async def refuses_what_the_model_refuses(dut):
    await start(dut)
    config = engine()
    seen = set()
    for _ in range(5000):
        instr = almost_right(config)
        bad = bool(problem(instr, config))
        assert await verdict(dut, encode(instr)) == bad, f"{instr}: {problem(instr, config)}"
        seen.add((instr.opcode, bad))
        seen |= {(name, bad) for name in RARE if instr.fields.get(name)}
    never = {part for part, name in zip((Opcode.VECTOR, "softmax", "factor"), PARTS) if not parameter(name.upper())}
    assert seen == (SEEN | {(name, bad) for name in RARE for bad in (False, True)}) - {(part, False) for part in never}


@cocotb.test()
async def refuses_what_the_model_refuses_of_zeros(dut):
    await start(dut)
    config = engine()
    for opcode in present():
        good = right(opcode, config)
        for name in FIELDS[opcode]:
            instr = Instruction(opcode, good.fields | ({name: 0} if name != "opcode" else {}))
            assert await verdict(dut, encode(instr)) == bool(problem(instr, config)), f"{opcode.name} {name}"


@cocotb.test()
async def refuses_every_bit_without_a_name(dut):
    await start(dut)
    config = engine()
    for opcode in present():
        good = encode(right(opcode, config))
        for bit in range(4, 8 * BYTES):
            word = (int.from_bytes(good, "little") | 1 << bit).to_bytes(BYTES, "little")
            try:
                bad = bool(problem(decode(word), config))
            except ValueError:
                bad = True
            assert await verdict(dut, word) == bad, f"{opcode.name} bit {bit}"


@pytest.mark.parametrize(
    "grid, cols, mem_w, wgt_depth", first(2, [(8, 64, 128, 8192), (4, 4, 64, 16), (8, 16, 512, 64), (8, 8, 128, 32)])
)
def test_instruction_check(grid, cols, mem_w, wgt_depth):
    parts = {name.upper(): 1 for name in PARTS}
    parts |= {random.choice(list(parts)): 0, random.choice(list(parts)): random.randrange(2)}
    sizes = {"GRID": grid, "COLS": cols, "MEM_W": mem_w, "WGT_DEPTH": wgt_depth}
    run("engine", "gc_instruction_check", sizes | parts)
