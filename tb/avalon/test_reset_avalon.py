# SPDX-License-Identifier: Apache-2.0
"""Neither hosts nor agent show a command or an answer in a reset, from power-up on, before any clock edge. Icarus:
registers begin as X."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, Timer

from gradcore.isa import registers as reg
from tb.support.front import SCRUB, SMALLEST, program_registers
from tb.support.runner import run

VALIDS = ("avm_read_read", "avm_write_write", "avs_csr_readdatavalid", "avs_csr_writeresponsevalid")
INPUTS = (
    "avs_csr_read",
    "avs_csr_write",
    "avm_read_waitrequest",
    "avm_read_readdatavalid",
    "avm_write_waitrequest",
    "avm_write_writeresponsevalid",
)


async def seen(dut):
    """The pins as one string, after all that follows from the present inputs."""
    await ReadOnly()
    word = "".join(str(getattr(dut, name).value) for name in VALIDS)
    await Timer(1, unit="ns")
    return word


@cocotb.test(timeout_time=100, timeout_unit="us")
async def nothing_is_shown_in_reset(dut):
    for name in INPUTS:
        getattr(dut, name).value = 0
    dut.csi_clock_clk.value, dut.rsi_reset_reset.value = 0, 1
    assert await seen(dut) == "0000", "before the first clock edge"
    cocotb.start_soon(Clock(dut.csi_clock_clk, 10, unit="ns").start())
    clock = FallingEdge(dut.csi_clock_clk)
    for kind in random.sample(("read", "write"), 2) * 2:
        for _ in range(random.randint(2, 5)):
            await clock
            assert await seen(dut) == "0000"
        dut.rsi_reset_reset.value, dut.avm_read_waitrequest.value, dut.avs_csr_byteenable.value = 0, 1, 15
        for offset, value in (*program_registers().items(), (reg.CTRL, reg.START)):
            dut.avs_csr_write.value, dut.avs_csr_address.value, dut.avs_csr_writedata.value = 1, offset // 4, value
            await clock
        dut.avs_csr_write.value = 0
        for _ in range(30 + SCRUB):
            await clock
        getattr(dut, f"avs_csr_{kind}").value = 1  # an answer in each cycle
        for _ in range(4):
            await clock
        assert await seen(dut) == {"read": "1010", "write": "1001"}[kind]
        dut.rsi_reset_reset.value = 1
        assert await seen(dut) == "0000", "a reset takes them down at once"
        getattr(dut, f"avs_csr_{kind}").value = 0


def test_reset_avalon():
    run("avalon", "gc_engine_avalon", SMALLEST, sim="icarus")
