# SPDX-License-Identifier: Apache-2.0
"""The instruction table agrees with doc/instructions.md, and encoding is reversible."""

import random
import re

import pytest

from gradcore.files.places import ROOT
from gradcore.isa.config import EngineConfig
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
from gradcore.isa.rules import problem

DOCUMENT = ROOT / "doc" / "instructions.md"
# Headings of the document and the opcodes that they are about.
SECTIONS = {
    "Format": (0, 1, 2, 3, 4, 5, 6),
    "DRAM side of LOAD, LOADW and STORE": (1, 2, 4),
    "LOAD and STORE: buffer side": (1, 4),
    "LOADW": (2,),
    "COMPUTE": (3,),
    "UPDATE": (5,),
    "VECTOR": (6,),
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


_TRANSFER = dict.fromkeys(("run_beats", "n1", "n2", "n_words", "n_b", "n_y", "n_x", "n_c"), 1)
_MAP = dict(height=1, width=1, n_valid=1)
_COMPUTE = dict.fromkeys(("n_g", "n_rg", "n_by", "n_bx", "n_ky", "n_kx", "n_c", "n_last"), 1)


@pytest.mark.parametrize(
    "opcode, fields, refused",
    [
        *((Opcode.COMPUTE, dict(mode=mode, keep_in=i, keep_out=o), "") for mode in (0, 1) for i, o in ((0, 1), (1, 1))),
        (Opcode.COMPUTE, dict(split=1, keep_in=1, keep_out=1), ""),
        (Opcode.COMPUTE, dict(n_ky=3, n_kx=3, n_c=999, bias=1, n_last=16, keep_in=1), ""),
        *((Opcode.COMPUTE, {"mode": 2, name: 1}, f"{name} is 1") for name in ("keep_in", "keep_out")),
        *(
            (Opcode.COMPUTE, {name: 2, keep: 1}, f"{keep} is 1")
            for name in ("n_g", "n_by", "n_bx")
            for keep in ("keep_in", "keep_out")
        ),
        *((Opcode.COMPUTE, dict(factor=factor, mode=mode), "") for factor in (1, 2, 3) for mode in (0, 1, 2)),
        *((Opcode.COMPUTE, dict(factor=factor, pool=1), "") for factor in (1, 2)),
        (Opcode.COMPUTE, dict(factor=3, pool=1), "factor is 3"),
        *((Opcode.COMPUTE, dict(factor=factor, loss=1), f"factor is {factor}") for factor in (1, 2, 3)),
        *((Opcode.LOAD, dict(derive=1, buffer=buffer), "") for buffer in (0, 1)),
        (Opcode.LOAD, dict(derive=1, buffer=2), "derive is 1"),
        (Opcode.LOAD, dict(derive=1, upsample=1), "derive is 1"),
        (Opcode.LOAD, dict(derive=1, scale=1), "derive is 1"),
        (Opcode.LOAD, dict(packed=1, buffer=2), ""),
        (Opcode.LOAD, dict(packed=1, buffer=2, upsample=1, scale=1), ""),
        *((Opcode.LOAD, dict(packed=1, buffer=buffer), "packed is 1") for buffer in (0, 1)),
        (Opcode.LOAD, dict(buffer=3), "buffer is 3"),
        (Opcode.LOAD, dict(buffer=3, packed=1), "buffer is 3"),
        (Opcode.STORE, _MAP | dict(packed=1, buffer=2, urgent=1), ""),
        *((Opcode.STORE, _MAP | dict(packed=1, buffer=buffer), "packed is 1") for buffer in (0, 1)),
        (Opcode.STORE, _MAP | dict(buffer=2), "buffer is 2"),
        (Opcode.STORE, _MAP | dict(buffer=3, packed=1), "packed is 1"),
    ],
)
def test_refuses_uses_that_mean_nothing(opcode, fields, refused):
    common = _COMPUTE if opcode == Opcode.COMPUTE else _TRANSFER
    assert problem(instruction(opcode, **common | fields), EngineConfig()) == refused


def test_field_range():
    assert Field(0, 0, 8, True).range == (-128, 127) and Field(0, 0, 3).range == (0, 7)
