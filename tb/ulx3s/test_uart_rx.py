# SPDX-License-Identifier: Apache-2.0
"""The serial line of boards/ulx3s, bit by bit."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from gradcore.files.places import ROOT
from tb.support.bench import cycles, start
from tb.support.runner import expect_elaboration_error, parameter, run

FILES = [ROOT / "boards" / "ulx3s" / f"gc_uart_{side}.v" for side in ("rx", "tx")]


def levels(byte, divisor):
    """The line in each cycle of a byte."""
    return [bit for bit in (0, *(byte >> k & 1 for k in range(8)), 1) for _ in range(divisor)]


async def play(dut, line, got):
    for level in line:
        dut.rx.value = level
        await ReadOnly()
        got += [int(dut.m_data.value)] if dut.m_valid.value else []
        await cycles(dut, 1)


@cocotb.test()
async def receives_bytes_at_once_behind_each_other_and_at_a_clock_that_is_off(dut):
    divisor = parameter("DIVISOR")
    await start(dut, rx=1)
    sent, got = [], []
    await play(dut, [1] * 8, got)
    for _ in range(60):
        byte = random.getrandbits(8)
        line = levels(byte, divisor)
        if divisor >= 16:  # 3 % too fast or too slow
            count = round(len(line) * random.uniform(0.97, 1.03))
            line = [line[k * len(line) // count] for k in range(count)]
        await play(dut, line + [1] * random.choice([0, 0, 1, 3 * divisor]), got)
        sent.append(byte)
    await play(dut, [1] * 2 * divisor, got)
    assert got == sent


@cocotb.test()
async def drops_what_is_no_byte(dut):
    divisor = parameter("DIVISOR")
    await start(dut, rx=1)
    got = []
    await play(dut, [1] * 8 + [0] * (divisor // 2 - 1) + [1] * 12 * divisor, got)  # a start bit that is too short
    assert got == []
    await play(dut, levels(0xA5, divisor)[: 9 * divisor] + [0] * divisor + [1] * 12 * divisor, got)  # no stop bit
    assert got == []
    await play(dut, levels(0x5A, divisor) + [1] * 2 * divisor, got)
    assert got == [0x5A]


@pytest.mark.parametrize("divisor", [4, 5, 16, 65])
def test_uart_rx(divisor):
    run("ram", "gc_uart_rx", {"DIVISOR": divisor}, models=FILES)


@pytest.mark.parametrize("module", ["gc_uart_rx", "gc_uart_tx"])
@pytest.mark.parametrize("divisor", [3, 65537])
def test_refuses(module, divisor):
    expect_elaboration_error("ram", module, {"DIVISOR": divisor}, "DIVISOR_must", models=FILES)
