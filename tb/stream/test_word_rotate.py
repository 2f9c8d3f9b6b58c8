# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.triggers import Timer

from tb.support.runner import expect_elaboration_error, parameter, run


@cocotb.test()
async def rotates_by_every_number(dut):
    n, width = parameter("N"), parameter("W")
    for rot in [*range(n), *(random.randrange(n) for _ in range(50))]:
        words = [random.getrandbits(width) for _ in range(n)]
        dut.s_rot.value = rot
        dut.s_data.value = sum(word << width * j for j, word in enumerate(words))
        await Timer(1, "ns")
        expected = words[rot:] + words[:rot]
        assert int(dut.m_data.value) == sum(word << width * j for j, word in enumerate(expected))


@pytest.mark.parametrize("n, width", [(2, 1), (4, 17), (8, 5), (16, 16), (64, 8)])
def test_word_rotate(n, width):
    run("stream", "gc_word_rotate", {"N": n, "W": width})


@pytest.mark.parametrize("bad, reason", [({"N": 12}, "N_must_be_a_power_of_two"), ({"W": 0}, "W_below_1")])
def test_refuses(bad, reason):
    expect_elaboration_error("stream", "gc_word_rotate", bad, reason)


def test_a_digit_has_one_or_two_bits():
    for bits in (0, 3):
        expect_elaboration_error("stream", "gc_rotate_digit", {"DIGIT_W": bits}, "DIGIT_W_not_1_or_2")
