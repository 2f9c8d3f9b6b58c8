# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.support.bench import cycles, start
from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
async def reads_the_old_word_and_holds_its_output(dut):
    width, depth, latency = parameter("WIDTH"), parameter("DEPTH"), 1 + parameter("OUT_REG")
    await start(dut, s_wr_en=0, s_rd_en=0)
    memory, pipe, output = {}, [None] * latency, None
    for _ in range(20 * depth + 200):
        write, read = random.random() < 0.7, random.random() < 0.7
        wr_addr, rd_addr, data = random.randrange(depth), random.randrange(depth), random.getrandbits(width)
        dut.s_wr_en.value, dut.s_wr_addr.value, dut.s_wr_data.value = int(write), wr_addr, data
        dut.s_rd_en.value, dut.s_rd_addr.value = int(read), rd_addr
        pipe = [memory.get(rd_addr) if read else ...] + pipe[:-1]
        if write:
            memory[wr_addr] = data
        await cycles(dut, 1)
        if pipe[-1] is not ...:
            output = pipe[-1]
        if output is not None:
            assert int(dut.m_rd_data.value) == output


@pytest.mark.parametrize("width, depth, out_reg", [(1, 2, 0), (16, 37, 1), (72, 64, 0), (9, 512, 1)])
def test_ram_sdp(width, depth, out_reg):
    for old_word in (0, 1):  # simulated, both give the old word
        run("ram", "gc_ram_sdp", {"WIDTH": width, "DEPTH": depth, "OUT_REG": out_reg, "OLD_WORD": old_word})


# Where the number of words in a row of UltraRAM changes, rows that are not full, a word in two memories.
LIMITS = [(1, 2), (9, 13), (10, 64), (18, 100), (19, 37), (36, 3), (37, 16), (72, 33), (73, 20)]


@pytest.mark.parametrize("width, depth", LIMITS)
def test_ultra(width, depth):
    """`width` and a random one."""
    for bits in (width, random.randint(1, 80)):
        run("ram", "gc_ram_sdp", {"WIDTH": bits, "DEPTH": depth, "OUT_REG": random.randint(0, 1), "ULTRA": 1})


@pytest.mark.parametrize(
    "parameters, reason",
    [
        ({"DEPTH": 1}, "DEPTH_below_2"),
        ({"WIDTH": 0}, "WIDTH_below_1"),
        ({"OUT_REG": 2}, "OUT_REG_not_0_or_1"),
        ({"OLD_WORD": 2}, "OLD_WORD_not_0_or_1"),
        ({"ULTRA": 2}, "ULTRA_not_0_or_1"),
    ],
)
def test_refuses(parameters, reason):
    expect_elaboration_error("ram", "gc_ram_sdp", parameters, reason)
