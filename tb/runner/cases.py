# SPDX-License-Identifier: Apache-2.0
"""Cases for the test of the runner; not tests themselves."""

import os
import random

import cocotb
import pytest

from tb.support.bench import Sink, Source, start


@cocotb.test()
async def passes(dut):
    await start(dut, s_wr_en=0, s_rd_en=0)


@cocotb.test()
async def fails(dut):
    await start(dut, s_wr_en=0, s_rd_en=0)
    raise AssertionError("told_to_fail")


@cocotb.test()
async def raises(dut):
    dut.no_such_signal.value = 1


@cocotb.test()
async def draws(dut):
    with open(os.environ["DRAWN"], "w") as file:
        file.write(str([random.random() for _ in range(4)]))


@cocotb.test()
async def stream_ends_give_up(dut):
    """On a stream_register whose output nobody takes, the third word cannot enter; the two inside come out, no more."""
    await start(dut)
    with pytest.raises(AssertionError, match="not taken for 50 cycles"):
        await Source(dut, "s_").send([{"data": 1}] * 3, limit=50)
    dut.s_valid.value = 0
    with pytest.raises(AssertionError, match="2 of 4 words"):
        await Sink(dut, "m_", ["data"]).receive(4, limit=50)
