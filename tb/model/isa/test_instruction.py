# SPDX-License-Identifier: Apache-2.0
"""The instruction table agrees with doc/instructions.md, and encoding is reversible."""

import random
import re

import pytest

from gradcore.isa.instruction import (
    BYTES,
    FIELDS,
    Field,
    Instruction,
    Opcode,
    assemble,
    decode,
    disassemble,
    encode,
    instruction,
)
from gradcore.sim.sources import ROOT

DOCUMENT = ROOT / "doc" / "instructions.md"
# Headings of the document and the opcodes that they are about.
SECTIONS = {
    "Format": (0, 1, 2, 3, 4, 5),
    "DRAM side of LOAD, LOADW and STORE": (1, 2, 4),
    "LOAD and STORE: buffer side": (1, 4),
    "LOADW": (2,),
    "COMPUTE": (3,),
    "UPDATE": (5,),
}


def documented(text: str) -> dict:
    """{(opcode, field): (first bit, bits)} of the tables: names in backticks, [high:low] before them, else one part of
    the first cell each."""
    found, section, only = {}, None, {}
    for line in text.splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        if of := re.search(r"(?:are fields|is a field) of (\w+) only\.", line):
            only |= dict.fromkeys(re.findall("`([^`]+)`", line), Opcode[of[1]])
        row = re.fullmatch(r"\| (h\d[^|]*) \| (.*) \|", line)
        if not row or section not in SECTIONS:
            continue
        parts = [[int(n) for n in re.findall(r"\d+", part)] for part in row[1].split(",")]
        if "[" in row[2]:
            fields = [
                (name, 16 * parts[0][0] + int(low), int(high or low) - int(low) + 1)
                for high, low, name in re.findall(r"\[(?:(\d+):)?(\d+)\] `(\w+)`", row[2])
            ]
        else:
            names = re.findall(r"`(\w+)`", row[2].split(":")[0])
            if len(names) != len(parts):  # one half-word each
                parts = [[half] for half in range(parts[0][0], parts[0][-1] + 1)]
            fields = [
                (name, 16 * part[0], 16 * (part[-1] - part[0] + 1)) for name, part in zip(names, parts, strict=True)
            ]
        for opcode in SECTIONS[section]:
            for name, first, bits in fields:
                if section != "LOAD and STORE: buffer side" or only.get(name, opcode) == opcode:
                    assert (opcode, name) not in found, (section, name)
                    found[opcode, name] = first, bits
    return found


def test_table_agrees_with_the_document():
    wanted = documented(DOCUMENT.read_text())
    mine = {(int(opcode), name): (f.first, f.bits) for opcode, names in FIELDS.items() for name, f in names.items()}
    assert wanted == mine
    assert len(mine) > 150


@pytest.mark.parametrize("opcode", list(Opcode))
def test_fields_do_not_overlap(opcode):
    used = set()
    for name, place in FIELDS[opcode].items():
        bits = set(range(place.first, place.first + place.bits))
        assert not used & bits and place.first + place.bits <= 8 * BYTES, name
        used |= bits


@pytest.mark.parametrize("opcode", list(Opcode))
def test_round_trip(opcode):
    rng = random.Random(int(opcode))
    for _ in range(50):
        fields = {
            name: rng.choice([*place.range, rng.randint(*place.range)])
            for name, place in FIELDS[opcode].items()
            if name != "opcode"
        }
        instr = instruction(opcode, **fields)
        assert decode(encode(instr)).fields == fields and len(encode(instr)) == 128
        assert disassemble(assemble([instr, instr]))[1].fields == fields


def test_one_instruction_by_hand():
    data = encode(
        instruction(Opcode.COMPUTE, wait=0b1001, signal=2, signal_read=1, mode=2, shift=33, disp_y0=-3, disp_x0=2)
    )
    half = [int.from_bytes(data[i : i + 2], "little") for i in range(0, 128, 2)]
    assert (
        half[0] == 3 | 0b1001 << 4 | 2 << 10
        and half[1] == 1
        and half[2] == 2
        and half[3] == 33 << 10
        and half[32] == 0x02FD
    )
    assert not any(half[4:32]) and not any(half[33:])


@pytest.mark.parametrize(
    "name, value", [("n_c", 65536), ("disp_y0", 128), ("disp_y0", -129), ("t_pos", 1 << 15), ("fold", 4), ("n_g", -1)]
)
def test_refuses_values_out_of_range(name, value):
    with pytest.raises(ValueError, match=name):
        encode(Instruction(Opcode.COMPUTE, {name: value}))
    with pytest.raises(ValueError, match="no field"):
        Instruction(Opcode.END, {"n_c": 1})


def test_refuses_other_words():
    with pytest.raises(ValueError, match="free"):
        decode(bytes([9]) + bytes(127))
    with pytest.raises(ValueError, match="unnamed"):
        decode(bytes(127) + b"\x80")
    with pytest.raises(ValueError, match="bytes"):
        decode(bytes(64))


def test_field_range():
    assert Field(0, 0, 8, True).range == (-128, 127) and Field(0, 0, 3).range == (0, 7)
