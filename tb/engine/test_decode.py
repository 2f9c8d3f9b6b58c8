# SPDX-License-Identifier: Apache-2.0
"""The decoders have every field of gradcore.isa in its place, and no bit of it anywhere else."""

import random
import re
from functools import cache

import cocotb
import pytest
from cocotb.triggers import Timer

from gradcore.files.places import ROOT
from gradcore.isa.instruction import BYTES, FIELDS, Opcode
from tb.support.bench import cycles, start
from tb.support.runner import run

BITS = 8 * BYTES
DRAM = (Opcode.LOAD, Opcode.LOADW, Opcode.STORE)
# Decoder: opcodes whose fields it has. Together they have all.
DECODERS = {
    "common": tuple(Opcode),
    "dram": DRAM,
    "load": (Opcode.LOAD,),
    "store": (Opcode.STORE,),
    "loadw": (Opcode.LOADW,),
    "update": (Opcode.UPDATE,),
    "compute": (Opcode.COMPUTE,),
    "vector": (Opcode.VECTOR,),
    "operands": (Opcode.COMPUTE,),
    "results": (Opcode.COMPUTE,),
}


@cache
def outputs(name: str) -> dict:
    """Bits of the outputs of a module, by their names without m_."""
    (file,) = (ROOT / "rtl" / "engine").glob(f"*/gc_{name}.v")
    ports = re.findall(r"output wire\s+(?:\[(\d+):0\])?\s*m_(\w+)", file.read_text())
    return {port: int(top or 0) + 1 for top, port in ports}


def places(name: str) -> dict:
    """Fields of a decoder."""
    known = {field: place for opcode in DECODERS[name] for field, place in FIELDS[opcode].items()}
    return {field: known[field] for field in outputs(f"decode_{name}")}


def words():
    """All zeros, all ones, walking ones and zeros, random."""
    full = (1 << BITS) - 1
    yield from (0, full)
    for bit in range(BITS):
        yield from (1 << bit, full ^ 1 << bit)
    for _ in range(300):
        yield random.getrandbits(BITS)


@cocotb.test()
async def fields_are_where_isa_has_them(dut):
    fields = places(dut._name.removeprefix("gc_decode_"))
    for word in words():
        dut.s_instruction.value = word
        await Timer(1, "ns")
        for field, place in fields.items():
            assert int(getattr(dut, f"m_{field}").value) == word >> place.first & (1 << place.bits) - 1, field


@cocotb.test()
async def bits_without_a_name_are_those_that_no_field_has(dut):
    named = {op: sum((1 << place.bits) - 1 << place.first for place in FIELDS[op].values()) for op in Opcode}
    sparse = [random.getrandbits(BITS) & mask for mask in named.values() for _ in range(20)]
    await start(dut)
    for word in (*words(), *sparse):
        dut.s_instruction.value = word
        await cycles(dut, 1)
        for op, mask in named.items():
            assert bool(getattr(dut, f"m_{op.name.lower()}").value) == bool(word & ~mask), op.name


@pytest.mark.parametrize("name", DECODERS)
def test_decoder(name):
    run("engine", f"gc_decode_{name}", testcase="fields_are_where_isa_has_them")


def test_spare():
    run("engine", "gc_decode_spare", testcase="bits_without_a_name_are_those_that_no_field_has")


def test_the_decoders_have_every_field_and_its_width():
    for opcode in Opcode:
        own = {field for name, opcodes in DECODERS.items() if opcode in opcodes for field in outputs(f"decode_{name}")}
        assert own >= set(FIELDS[opcode])
    for name in DECODERS:
        assert {field: place.bits for field, place in places(name).items()} == outputs(f"decode_{name}")


def test_nobody_else_slices_an_instruction():
    files = [f for f in (ROOT / "rtl" / "engine").rglob("*.v") if "gc_decode_" not in f.name and f.parent.name != "sim"]
    assert len(files) > 20
    slices = re.compile(r"\bh\[|instruction\[\w+\*16|instruction\[16|instruction\[\d")
    assert not [f.name for f in files if slices.search(f.read_text())]
