# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.triggers import Timer

from tb.support.bits import pack
from tb.support.runner import parameter, run


@cocotb.test()
async def selects_one_word_or_zero(dut):
    number, width = parameter("N"), parameter("W")
    for select in [None, *range(number)] * 10:
        words = [random.getrandbits(width) for _ in range(number)]
        dut.s_data.value = pack(words, width)
        dut.s_select.value = 0 if select is None else 1 << select
        await Timer(1, "ns")
        assert int(dut.m_data.value) == (0 if select is None else words[select])


@pytest.mark.parametrize("number, width", [(1, 1), (3, 8), (7, 33)])
def test_one_hot_mux(number, width):
    run("dma", "gc_one_hot_mux", {"N": number, "W": width})
