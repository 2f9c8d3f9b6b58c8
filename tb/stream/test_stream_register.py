# SPDX-License-Identifier: Apache-2.0
import cocotb
import pytest

from tb.stream.test_stream_fifo import pass_words
from tb.support.bench import PAUSES, cycles, reset, start
from tb.support.runner import run


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def keeps_order_and_words(dut, pauses):
    await start(dut)
    await pass_words(dut, *pauses, 100)


@cocotb.test()
async def reset_in_mid_run_empties_it(dut):
    await start(dut)
    dut.s_data.value = 0
    dut.s_valid.value = 1
    await cycles(dut, 3)
    assert dut.s_ready.value == 0
    dut.s_valid.value = 0
    await reset(dut)
    assert dut.m_valid.value == 0 and dut.s_ready.value == 1
    await pass_words(dut, 0.3, 0.3, 20)


@pytest.mark.parametrize("width", [1, 17, 64])
def test_stream_register(width):
    run("stream", "gc_stream_register", {"WIDTH": width})
