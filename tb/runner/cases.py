# SPDX-License-Identifier: Apache-2.0
"""Cases for the test of the runner; not tests themselves."""

import os
import random

import cocotb
from tb.support.bench import start


@cocotb.test()
async def passes(dut):
    await start(dut, s_wr_en=0, s_rd_en=0)


@cocotb.test()
async def fails(dut):
    await start(dut, s_wr_en=0, s_rd_en=0)
    assert False, "told_to_fail"


@cocotb.test()
async def raises(dut):
    dut.no_such_signal.value = 1


@cocotb.test()
async def draws(dut):
    with open(os.environ["DRAWN"], "w") as file:
        file.write(str([random.random() for _ in range(4)]))
