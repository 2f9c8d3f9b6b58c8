# SPDX-License-Identifier: Apache-2.0
"""Bytes of a stream on the serial line: each level as long as it has to be."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import Source, cycles, start
from tb.support.runner import parameter, run
from tb.ulx3s.test_uart_rx import FILES, levels


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.7])
async def sends_each_byte_in_ten_bits(dut, pause):
    divisor = parameter("DIVISOR")
    await start(dut)
    sent = [random.getrandbits(8) for _ in range(20)]
    cocotb.start_soon(Source(dut, "s_", pause).send([{"data": byte} for byte in sent]))
    line = []
    for _ in range(20 * (10 * divisor + 40)):
        await ReadOnly()
        line.append(int(dut.tx.value))
        await cycles(dut, 1)
    for byte in sent:
        at = line.index(0)
        assert line[at : at + 10 * divisor] == levels(byte, divisor)
        line = line[at + 10 * divisor :]
    assert all(line), "the line rests high"


@pytest.mark.parametrize("divisor", [4, 7, 65])
def test_uart_tx(divisor):
    run("ram", "gc_uart_tx", {"DIVISOR": divisor}, models=FILES)
