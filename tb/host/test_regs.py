# SPDX-License-Identifier: Apache-2.0
"""`gradcore regs`: each format says what the register map says; the C program of doc/registers.md does what its comment says."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from gradcore import registers as reg
from gradcore.sources import ROOT
from tb.host.test_cli import gradcore, refused
from tb.support.register_map import words

WORDS = words()
HEADER = ROOT / "rtl" / "engine" / "gradcore_regs.h"
PROGRAM, COUNT, FIRST, END = 0x9876_1234_5680, 0x123456, 0x4321_8765_4000, 0x5432_9876_5000
HARNESS = """
#include <stddef.h>
#include <stdio.h>

int main(void)
{
    static union { gradcore_regs_t regs; uint32_t words[sizeof(gradcore_regs_t) / 4]; } map;
    OFFSETS
    map.regs.STATUS = GRADCORE_REGS__STATUS__FAILED_bm;
    map.regs.ERROR = 0x1200 | GRADCORE_REGS__ERROR__CODE__READ_DECERR;
    printf("%u ", (unsigned)run(&map.regs, ARGUMENTS));
    for (size_t i = 0; i < sizeof(map) / 4; i++) printf("%u ", (unsigned)map.words[i]);
    return 0;
}
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("regs") / "new"
    done = gradcore("regs", "--out", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(folder / name) for name in ("gradcore_regs.h", "gradcore_regs.xml", "html", "gradcore_regs")]
    return folder


def test_header_of_the_repository_is_up_to_date(out):
    assert HEADER.read_text() == (out / HEADER.name).read_text(), f"python -m gradcore regs && cp build/regs/{HEADER.name} rtl/engine/"


def test_c_program_of_the_document(tmp_path):
    example = re.search(r"```c\n(.*?)```", (ROOT / "doc" / "registers.md").read_text(), re.S)[1]
    offsets = "\n    ".join(f'printf("%u ", (unsigned)offsetof(gradcore_regs_t, {word.path}));' for word in WORDS.values())
    arguments = ", ".join(f"{value:#x}u" for value in (PROGRAM, COUNT, FIRST, END))
    (tmp_path / "main.c").write_text(example + HARNESS.replace("OFFSETS", offsets).replace("ARGUMENTS", arguments))
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-I", HEADER.parent, "main.c", "-o", "main"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = list(map(int, subprocess.run([tmp_path / "main"], capture_output=True, text=True, timeout=10).stdout.split()))
    assert printed[: len(WORDS)] == list(WORDS)
    code, *memory = printed[len(WORDS) :]
    assert code == 19 and reg.ERRORS[code] == "error response to a read (DECERR)"
    assert {4 * i: value for i, value in enumerate(memory) if value} == reg.window(0, FIRST, END, reg.READ | reg.WRITE) | {
        reg.PROG_BASE: PROGRAM & 0xFFFFFFFF, reg.PROG_BASE + 4: PROGRAM >> 32, reg.PROG_LENGTH: COUNT, reg.CTRL: reg.START, reg.STATUS: reg.FAILED,
        reg.ERROR: 0x1200 | code}


def test_ip_xact(out):
    def text(node, name, default=None):
        return node.findtext(f"{{*}}{name}", default)

    def registers(block, path="", base=0):
        for node in block:
            name, place = text(node, "name"), base + int(text(node, "addressOffset", "'h0")[2:], 16)
            if node.tag.endswith("}register"):
                yield path + name, place, [tuple(int(text(bits, key)) for key in ("bitOffset", "bitWidth")) for bits in node.iterfind("{*}field")]
            elif node.tag.endswith("}registerFile"):
                for n in range(count := int(text(node, "dim", "1"))):
                    index = f"[{n}]" if count > 1 else ""
                    yield from registers(node, f"{path}{name}{index}.", place + n * int(text(node, "range")[2:], 16))

    block = ET.parse(out / "gradcore_regs.xml").getroot().find(".//{*}addressBlock")
    assert list(registers(block)) == [(word.path, offset, [(bits.low, bits.width) for bits in word.bits]) for offset, word in WORDS.items()]


def test_python_package(out):
    """Its registers and fields through callbacks; the last one written is that of the map."""
    program = "\n".join([
        "from gradcore_regs.lib import NormalCallbackSet", "from gradcore_regs.reg_model.gradcore_regs import gradcore_regs_cls",
        "memory = {}",
        "def read(addr, width, accesswidth): return memory.get(addr, 0)",
        "def write(addr, width, accesswidth, data): memory[addr] = data",
        "m = gradcore_regs_cls(callbacks=NormalCallbackSet(read_callback=read, write_callback=write))",
        *(f"print(m.{word.path}.address)" for word in WORDS.values()),
        "m.CTRL.stop.write(1)", "m.WINDOW[3].end.high.write(0x1234)", "print(memory)"])
    done = subprocess.run([sys.executable, "-c", program], cwd=out, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *offsets, memory = done.stdout.splitlines()
    assert list(map(int, offsets)) == list(WORDS)
    assert memory == str({reg.CTRL: reg.STOP, reg.WINDOW + 3 * reg.WINDOW_BYTES + 12: 0x1234})


def test_pages(out):
    assert (out / "html" / "index.html").is_file()
    assert "DECERR" in "".join(page.read_text() for page in (out / "html").rglob("*") if page.suffix in (".html", ".js", ".json"))


def test_parameter_and_refusals(tmp_path):
    done = gradcore("regs", "--out", tmp_path, "--addr-w", 33)
    assert done.returncode == 0 and "HIGH_WORD__VALUE_bw 1\n" in (tmp_path / "gradcore_regs.h").read_text()
    done = gradcore("regs", "--out", tmp_path, "--addr-w", 32)
    header = (tmp_path / "gradcore_regs.h").read_text()
    assert done.returncode == 0 and "HIGH_WORD" not in header and "RESERVED_4_7" in header, "no high words"
    (tmp_path / "file").touch()
    refused(gradcore("regs", "--out", tmp_path / "file"), "--out", "file")
    for width in (31, 49):
        refused(gradcore("regs", "--out", tmp_path, "--addr-w", width), "--addr-w")


def test_without_peakrdl():
    program = "import sys; sys.modules['peakrdl_html'] = None; from gradcore.cli import run; sys.exit(run(['regs']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=str(ROOT / "model")))
    assert done.returncode == 3 and done.stderr.startswith("error: peakrdl_html is not installed: pip install ")
