# SPDX-License-Identifier: Apache-2.0
"""Access records: packed, taken apart, and as doc/architecture.md has them."""

import random
import re

import cocotb
import pytest
from cocotb.triggers import Timer

from gradcore.files.places import ROOT
from tb.support.access import ACCESS_W, FIELDS, fields, natural, record
from tb.support.runner import run


def accesses():
    """Fields: all zero, all ones, each alone, random."""
    yield dict.fromkeys(FIELDS, 0)
    yield {name: (1 << bits) - 1 for name, bits in FIELDS.items()}
    for name, bits in FIELDS.items():
        yield dict.fromkeys(FIELDS, 0) | {name: (1 << bits) - 1}
        yield dict.fromkeys(FIELDS, 0) | {name: 1 << random.randrange(bits)}
    for _ in range(200):
        yield {name: random.getrandbits(bits) for name, bits in FIELDS.items()}


@cocotb.test()
async def packs_every_field(dut):
    for access in accesses():
        for name, value in access.items():
            getattr(dut, f"s_{name}").value = value
        await Timer(1, "ns")
        assert int(dut.m_access.value) == record(**access), access


@cocotb.test()
async def takes_every_field_apart(dut):
    for access in accesses():
        dut.s_access.value = record(**access)
        await Timer(1, "ns")
        assert {name: int(getattr(dut, f"m_{name}").value) for name in FIELDS} == access


@cocotb.test()
async def is_a_whole_vector_in_its_fold(dut):
    for access in accesses():
        same = ("addr", "y0", "x0", "chan", "rot_y", "rot_x", "height", "width")
        given = {name: access[name] for name in same} | {"fold": access["fold_s"]}
        for name, value in given.items():
            getattr(dut, f"s_{name}").value = value
        await Timer(1, "ns")
        assert int(dut.m_access.value) == natural(**given), given


@pytest.mark.parametrize("module, case", [("pack", "packs_every_field"), ("unpack", "takes_every_field_apart")])
def test_record(module, case):
    run("engine", f"gc_access_{module}", {"ACCESS_W": ACCESS_W}, testcase=case)


def test_natural_access():
    run("engine", "gc_natural_access", {"ACCESS_W": ACCESS_W}, testcase="is_a_whole_vector_in_its_fold")


def test_the_document_and_the_engine_have_the_same_record():
    text = (ROOT / "doc" / "architecture.md").read_text()
    table = text[text.index("| bits | field | meaning") :].split("\n\n")[0]
    places = {}
    for line in table.splitlines()[2:]:
        bits, names, _ = (cell.strip() for cell in line.strip("|").split("|"))
        for place, name in zip(bits.split(", "), names.split(", "), strict=True):
            high, low = map(int, place.split(":"))
            places[name.strip("`")] = high, low
    assert list(places) == list(FIELDS)
    for name, (high, low) in places.items():
        ones = (1 << FIELDS[name]) - 1
        assert (
            high - low + 1 == FIELDS[name]
            and record(**{name: ones}) == ones << low
            and fields(ones << low)[name] == ones
        )
    said = re.search(r"localparam ACCESS_W = ([\d+* ]+);", (ROOT / "rtl" / "engine" / "gc_engine.v").read_text())[1]
    assert eval(said) == ACCESS_W
