# SPDX-License-Identifier: Apache-2.0
"""Address and window registers against integers that are written byte by byte."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import cycles, reset, start
from tb.support.runner import expect_elaboration_error, parameter, run


def written(old: int, word: int, data: int, strb: int) -> int:
    """A value of words of 32 bits after a write of some bytes of one."""
    for byte in range(4):
        if strb >> byte & 1:
            place = 32 * word + 8 * byte
            old = old & ~(0xFF << place) | (data >> 8 * byte & 0xFF) << place
    return old


@cocotb.test()
async def an_address_takes_the_bytes_that_are_strobed(dut):
    width, low = parameter("ADDR_W"), parameter("LOW")
    mask = (1 << width) - (1 << low)
    await start(dut, s_write=0, s_word=0, s_strb=0, s_wdata=0)
    value = 0
    for _ in range(400):
        write, words, strb, data = (random.getrandbits(bits) for bits in (1, 2, 4, 32))
        dut.s_write.value, dut.s_word.value, dut.s_strb.value, dut.s_wdata.value = write, words, strb, data
        for word in range(2):
            if write and words >> word & 1:
                value = written(value, word, data, strb) & mask
        await cycles(dut, 1)
        assert int(dut.m_addr.value) == value >> low
    await reset(dut)
    assert int(dut.m_addr.value) == 0


@cocotb.test()
async def windows_are_read_as_they_were_written(dut):
    """Every word of every window; those that do not exist stay zero. m_changed tells a write that has changed
    something."""
    width, count = parameter("ADDR_W"), parameter("WINDOWS")
    page = (1 << width) - (1 << 12)
    await start(dut, s_write=0, s_word=0, s_strb=0, s_wdata=0)
    bases, ends, changed = [0] * 8, [0] * 8, False
    for _ in range(800):
        write, window, word, strb = (
            random.getrandbits(1),
            random.randrange(8),
            random.randrange(4),
            random.getrandbits(4),
        )
        values, mask = (ends, page) if word & 2 else (bases, page | 3)
        now = values[window] >> 32 * (word & 1) & 0xFFFFFFFF
        data = random.choice([random.getrandbits(32), now])
        dut.s_write.value, dut.s_word.value, dut.s_strb.value, dut.s_wdata.value = write, window << 2 | word, strb, data
        await ReadOnly()
        assert int(dut.m_rdata.value) == now and bool(dut.m_changed.value) == changed
        changed = False
        if write:
            new = written(values[window], word & 1, data, strb) & mask
            # A write to a window that does not exist changes nothing, but may say so.
            changed = new != values[window]
            if window < count:
                values[window] = new
        await cycles(dut, 1)
        rights = [b & 1 for b in bases[:count]] + [b >> 1 & 1 for b in bases[:count]]
        pages = [value >> 12 for value in (*bases[:count], *ends[:count])]
        wanted = sum(value << (width - 12) * n for n, value in enumerate(pages))
        wanted |= sum(bit << 2 * count * (width - 12) + n for n, bit in enumerate(rights))
        assert int(dut.cfg_windows.value) == wanted


@pytest.mark.parametrize("width, low", [(32, 0), (33, 12), (48, 0), (48, 12)])
def test_address_register(width, low):
    run(
        "engine",
        "gc_address_register",
        {"ADDR_W": width, "LOW": low},
        testcase="an_address_takes_the_bytes_that_are_strobed",
    )


@pytest.mark.parametrize("width, windows", [(32, 1), (40, 5), (48, 8)])
def test_window_registers(width, windows):
    run(
        "engine",
        "gc_window_registers",
        {"ADDR_W": width, "WINDOWS": windows},
        testcase="windows_are_read_as_they_were_written",
    )


@pytest.mark.parametrize("windows", [0, 9])
def test_refuses(windows):
    expect_elaboration_error("engine", "gc_window_registers", {"WINDOWS": windows}, "WINDOWS_must_be_1_to_8")
