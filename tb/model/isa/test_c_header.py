# SPDX-License-Identifier: Apache-2.0
"""rtl/engine/gradcore_regs.h: as `gradcore regs` writes it, freestanding C99 and C++, each macro as in the map.

The C of doc/registers.md does what its comment says."""

import ctypes
import re
import subprocess

import pytest
from systemrdl import RDLCompiler

from gradcore.files.places import ROOT
from gradcore.isa import registers as reg
from gradcore.isa.c_header import c_header
from gradcore.isa.register_map import SOURCE, elaborate
from tb.support.register_map import words

HEADER = ROOT / "rtl" / "engine" / "gradcore_regs.h"
TEXT = HEADER.read_text()
FUNCTION_MACROS = {"GC_READ32", "GC_WRITE32"}
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror"]
C99 = ["cc", "-ffreestanding", "-std=c99", *STRICT, "-Wstrict-prototypes", "-I", HEADER.parent]
CPP = ["g++", "-std=c++11", *STRICT, "-I", HEADER.parent]
READ = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)


def compiled(folder, text, command=C99, *options):
    source = folder / f"source.{'cc' if command[0] == 'g++' else 'c'}"
    source.write_text(text)
    done = subprocess.run([*command, *options, source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def macros_of_the_map() -> dict:
    """Value by macro, from the words of the elaborated map; an array's element as GC_REG_NAME(n)."""
    found = {}

    def add(name, value):
        assert found.setdefault(name, value) == value, name

    for offset, word in words().items():
        name = word.path.replace(".", "_").upper().removesuffix("_LOW")
        if name.startswith("COUNTERS_"):
            if not name.endswith("_HIGH"):
                add(name.replace("COUNTERS_", "GC_COUNTER_"), offset)
            continue
        element = re.fullmatch(r"(\w+)\[(\d+)\](\w*)", name)
        add(f"GC_REG_{element[1]}{element[3]}({element[2]})" if element else f"GC_REG_{name}", offset)
        plain = "GC_" + re.sub(r"\[\d+\]", "", name)
        for bits in word.bits:
            macro = plain if bits.name == "value" else f"{plain}_{bits.name.upper()}"
            if bits.width == 1:
                add(macro, bits.mask)
            elif bits.width < 32:
                add(f"{macro}_MASK", bits.mask)
                add(f"{macro}_SHIFT", bits.low)
            if bits.reset:
                add(f"{macro}_RESET", bits.reset)
    found |= {"GC_BASE_COUNT": len(reg.BASE), "GC_BASE_STRIDE": reg.BASE[1] - reg.BASE[0]}
    return found | {"GC_WINDOW_COUNT": 4, "GC_WINDOW_STRIDE": reg.WINDOW_BYTES}


def test_it_is_up_to_date():
    command = "python -m gradcore regs && cp build/regs/gradcore_regs.h rtl/engine/"
    assert c_header(elaborate(), SOURCE.name) == TEXT, command


def test_it_needs_nothing_but_stdint():
    assert re.findall(r"#\s*include\s+(\S+)", TEXT) == ["<stdint.h>"]
    assert max(map(len, TEXT.splitlines())) <= 120


@pytest.mark.parametrize("command", [C99, CPP], ids=["C99", "C++"])
def test_it_compiles(command, tmp_path):
    """In two files of one program, included twice, every function called."""
    text = """
#include "gradcore_regs.h"
#include "gradcore_regs.h"
uint64_t NAME(volatile uint32_t *regs);
uint64_t NAME(volatile uint32_t *regs)
{
    gc_write64(regs, GC_REG_BASE(1), gc_counter(regs, GC_COUNTER_CYCLES));
    return gc_read64(regs, GC_REG_LOSS);
}
"""
    objects = [tmp_path / "one.o", tmp_path / "two.o"]
    for file in objects:
        compiled(tmp_path, text.replace("NAME", file.stem), command, "-c", "-fPIC", "-o", file)
    subprocess.run([command[0], "-shared", "-nostdlib", *objects, "-o", tmp_path / "both.so"], check=True)


def test_every_macro_is_the_map_s(tmp_path):
    expected = macros_of_the_map() | {f"GC_ERROR_CODE_{name}": code for name, code in error_codes().items()}
    defined = set(re.findall(r"^#define (\w+)", TEXT, re.M)) - FUNCTION_MACROS - {"GRADCORE_REGS_H"}
    assert defined == {name.partition("(")[0] for name in expected}
    lines = [f'    printf("%llu\\n", (unsigned long long){name});' for name in expected]
    program = ["#include <stdio.h>", '#include "gradcore_regs.h"', "int main(void) {", *lines, "    return 0;", "}", ""]
    compiled(tmp_path, "\n".join(program), C99, "-o", tmp_path / "main")
    printed = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True, timeout=10).stdout.split()
    assert dict(zip(expected, map(int, printed), strict=True)) == expected


def error_codes() -> dict:
    """{name: code} as the text of the map says, and the driver's texts."""
    found = re.findall(r"^\s+(\w+)\s*=\s*8'd(\d+)\s*{ name = \"(.*)\"; };", SOURCE.read_text(), re.M)
    assert {int(code): text for _, code, text in found if int(code)} == reg.ERRORS
    return {name.upper(): int(code) for name, code, _ in found}


COUNT = """
#include <stdint.h>
static uint32_t (*call)(void *, uint32_t);
#define GC_READ32(regs, offset) call((void *)(regs), offset)
#define GC_WRITE32(regs, offset, value) ((void)(offset), (void)(value))
#include "gradcore_regs.h"
uint64_t count(uint32_t (*read32)(void *, uint32_t), uint32_t counter);
uint64_t count(uint32_t (*read32)(void *, uint32_t), uint32_t counter)
{
    call = read32;
    return gc_counter(0, counter);
}
"""


def test_a_counter_that_counts_is_read_whole(tmp_path):
    """Its low word before its high one, which the registers keep at that moment; at a carry and beside it."""
    compiled(tmp_path, COUNT, C99, "-shared", "-fPIC", "-o", tmp_path / "count.so")
    count = ctypes.CDLL(str(tmp_path / "count.so")).count
    count.restype, count.argtypes = ctypes.c_uint64, [READ, ctypes.c_uint32]
    now = kept = 0

    @READ
    def access(_, offset):
        nonlocal now, kept
        now += 1
        if offset == reg.COUNTERS + 8:
            kept = now >> 32
            return now & 0xFFFFFFFF
        assert offset == reg.COUNTERS + 12
        return kept

    for value in (5, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 32, (1 << 48) - 3):
        now, kept = value - 1, 0xABCD
        assert count(access, reg.COUNTERS + 8) == value and now == value + 1


PROGRAM, LENGTH, FIRST, END = 0x9876_1234_5680, 0x123456, 0x4321_8765_4000, 0x5432_9876_5000


def test_c_program_of_the_document(tmp_path):
    """By pointer: what it writes where, and that it waits for nothing but DONE or FAILED."""
    (example,) = re.findall(r"```c\n(.*?)```", (ROOT / "doc" / "registers.md").read_text(), re.S)
    prototype = "uint32_t run(volatile void *, uint64_t, uint32_t, uint64_t, uint64_t);\n"
    program = example.replace("/* Runs", prototype + "/* Runs")
    compiled(tmp_path, program, C99, "-shared", "-fPIC", "-o", tmp_path / "run.so")
    run = ctypes.CDLL(str(tmp_path / "run.so")).run
    u, u64 = ctypes.c_uint32, ctypes.c_uint64
    run.restype, run.argtypes = u, [ctypes.c_void_p, u64, u, u64, u64]
    memory = (ctypes.c_uint32 * 1024)()
    memory[reg.STATUS // 4], memory[reg.ERROR // 4] = reg.FAILED, 0x1200 | 19
    assert run(memory, PROGRAM, LENGTH, FIRST, END) == 19 and reg.ERRORS[19] == "error response to a read (DECERR)"
    written = {4 * i: value for i, value in enumerate(memory) if value}
    assert written == reg.window(0, FIRST, END, reg.READ | reg.WRITE) | {
        reg.PROG_BASE: PROGRAM & 0xFFFFFFFF,
        reg.PROG_BASE + 4: PROGRAM >> 32,
        reg.PROG_LENGTH: LENGTH,
        reg.CTRL: reg.START,
        reg.STATUS: reg.FAILED,
        reg.ERROR: 0x1200 | 19,
    }


ONE = "reg { field {} a[31:0]; }"
TWO = f"regfile {{ {ONE} low; {ONE} high; }} R @ 0; {ONE} R_HIGH @ 8;"


@pytest.mark.parametrize(
    "body, words_of_it",
    [
        (TWO, "GC_REG_R_HIGH: two entries"),
        ("regfile { reg { field {} a[7:0]; } word[3]; } R @ 0;", "R.word.*array inside a group"),
        ("reg { field {} a[7:0]; } R[2][3] @ 0;", "R: .*array of arrays"),
    ],
)
def test_what_has_no_form_is_refused(body, words_of_it, tmp_path):
    (tmp_path / "odd.rdl").write_text(f"addrmap odd #(longint unsigned ADDR_W = 48) {{ {body} }};")
    compiler = RDLCompiler()
    compiler.compile_file(str(tmp_path / "odd.rdl"))
    with pytest.raises(ValueError, match=words_of_it):
        c_header(compiler.elaborate("odd").top, "odd.rdl")
