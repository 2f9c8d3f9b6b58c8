# SPDX-License-Identifier: Apache-2.0
"""doc/registers.md, gradcore.registers and rtl/engine/register_bank.v name the same registers."""

import re

from gradcore import registers as reg
from gradcore.isa import ENGINES
from gradcore.sources import ROOT

DOCUMENT = (ROOT / "doc" / "registers.md").read_text()
RTL = (ROOT / "rtl" / "engine" / "register_bank.v").read_text()
ROWS = [(int(offset, 16), name, access) for offset, name, access in re.findall(r"^\| (0x\w\w) \| (?:`(\w+)`)? ?\| (r|w|rw) \|", DOCUMENT, re.M)]


def words(line: str) -> set:
    """Offsets of the words 6'hNN that a line of the RTL selects."""
    return {4 * int(word, 16) for word in re.findall(r"6'h(\w\w)", line.split("rdata_q <=")[0].split("<= s_reg")[0])}


def test_names_and_offsets_are_those_of_the_package():
    names = ("ID", "VERSION", "CONFIG", "CONFIG2", "CTRL", "STATUS", "IRQ_ENABLE", "ERROR", "PROG_BASE", "SEED", "PROG_LENGTH", "LOSS", "ERROR_ADDR",
             "IRQ_STATUS", "WATCHDOG", "CONFIG3")
    mine = {name: getattr(reg, name) for name in names} | {f"BASE{n}": offset for n, offset in enumerate(reg.BASE)}
    assert {name: offset for offset, name, _ in ROWS if name} == mine
    wide = [offset for offset, name, _ in ROWS if not name]
    assert wide == [offset + 4 for offset in (reg.PROG_BASE, *reg.BASE, reg.LOSS, reg.ERROR_ADDR)]
    assert f"0x{reg.COUNTERS:X} | `COUNTERS`" in DOCUMENT


def test_accesses_are_those_of_the_rtl():
    lines = RTL.splitlines()
    read = set().union(*(words(line) for line in lines if "rdata_q <=" in line))
    written = set().union(*(words(line) for line in lines if "<= s_reg_wdata" in line))
    assert {offset for offset, _, access in ROWS if "r" in access} == read
    assert {offset for offset, _, access in ROWS if "w" in access} == written | {reg.CTRL, reg.IRQ_STATUS}
    assert f"32'h{reg.ID_VALUE:08X}" in RTL and f"32'h{reg.VERSION_VALUE:08X}" in RTL


def test_error_codes_and_status_bits():
    assert {int(code): text for code, text in re.findall(r"^\| (\d+) \| (.+) \|$", DOCUMENT, re.M)} == reg.ERRORS
    bits = (reg.BUSY, reg.DONE, reg.FAILED, reg.GRAD_OVERFLOW)
    status = re.search(r"`STATUS`.*", DOCUMENT)[0]
    assert re.findall(r"\[(\d)\] (\w+)", status) == [(str(bit.bit_length() - 1), name) for bit, name in zip(bits, ("busy", "done", "failed", "gradient"))]


def test_counters():
    found = {name: int(offset, 16) for offset, name in re.findall(r"^\| (0x\w{3}) \| `([a-z._]+)` \|", DOCUMENT, re.M)}
    head = re.search(r"^\| cause \|(.*)\|$", DOCUMENT, re.M)[1]
    assert re.findall(r"`(\w+)`", head) == list(ENGINES)
    for cause, cells in re.findall(r"^\| `(busy|idle|wait_\w+)` \|(.*)\|$", DOCUMENT, re.M):
        found |= {f"{engine}.{cause}": int(cell, 16) for engine, cell in zip(ENGINES, cells.split("|"), strict=True)}
    assert found == {name: reg.COUNTERS + 8 * index for index, name in reg.COUNTER_NAMES.items()}
