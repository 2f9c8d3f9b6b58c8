# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest

from tb.support.bench import PAUSES, Sink, Source, cycles, reset, start
from tb.support.runner import expect_elaboration_error, parameter, run


async def pass_words(dut, pause, stall, count):
    width = parameter("WIDTH")
    sink = Sink(dut, "m_", ["data"], stall)
    words = [random.getrandbits(width) for _ in range(count)]
    await Source(dut, "s_", pause).send([{"data": w} for w in words])
    got = await sink.receive(count)
    assert [int(w["data"]) for w in got] == words
    await cycles(dut, 4)
    assert len(sink.words) == count


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def keeps_order_and_words(dut, pauses):
    await start(dut)
    await pass_words(dut, *pauses, 100)


@cocotb.test()
async def a_word_passes_an_empty_fifo_in_three_cycles(dut):
    await start(dut, m_ready=1)
    for _ in range(3):
        dut.s_valid.value, dut.s_data.value = 1, 1
        for expected in (0, 0, 1, 0):
            await cycles(dut, 1)
            dut.s_valid.value = 0
            assert dut.m_valid.value == expected


@cocotb.test()
async def fills_up_and_says_so(dut):
    depth = parameter("DEPTH")
    await start(dut)
    dut.s_valid.value = 1
    for i in range(3 * depth + 8):
        dut.s_data.value = i & ((1 << parameter("WIDTH")) - 1)
        await cycles(dut, 1)
    assert dut.s_ready.value == 0
    assert int(dut.sts_level.value) == depth


@cocotb.test()
async def reset_in_mid_run_empties_it(dut):
    await start(dut)
    dut.s_data.value = 0
    dut.s_valid.value = 1
    await cycles(dut, 5)
    dut.s_valid.value = 0
    await reset(dut)
    assert dut.m_valid.value == 0 and int(dut.sts_level.value) == 0
    await pass_words(dut, 0.3, 0.3, 20)


@pytest.mark.parametrize("width, depth", [(1, 2), (8, 4), (33, 16), (128, 64)])
def test_stream_fifo(width, depth):
    run("stream", "gc_stream_fifo", {"WIDTH": width, "DEPTH": depth})


def test_refuses_a_depth_that_is_no_power_of_two():
    expect_elaboration_error("stream", "gc_stream_fifo", {"DEPTH": 12}, "DEPTH_must_be_a_power_of_two")
