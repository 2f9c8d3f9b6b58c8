# SPDX-License-Identifier: Apache-2.0
"""AXI A3.1.2: the engine's VALIDs are low as long as aresetn is, from power-up on, before any clock edge. Icarus:
registers begin as X."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, Timer

from gradcore.isa import registers as reg
from tb.support.front import SCRUB, SMALLEST, program_registers
from tb.support.runner import run

VALIDS = ("m_axi_arvalid", "m_axi_awvalid", "m_axi_wvalid", "s_axil_bvalid", "s_axil_rvalid")
INPUTS = (
    "s_axil_awvalid",
    "s_axil_wvalid",
    "s_axil_bready",
    "s_axil_arvalid",
    "s_axil_rready",
    "m_axi_awready",
    "m_axi_wready",
    "m_axi_bvalid",
    "m_axi_arready",
    "m_axi_rvalid",
)


async def seen(dut):
    """The VALIDs as one string, after all that follows from the present inputs."""
    await ReadOnly()
    word = "".join(str(getattr(dut, name).value) for name in VALIDS)
    await Timer(1, unit="ns")
    return word


@cocotb.test(timeout_time=100, timeout_unit="us")
async def no_valid_is_high_in_reset(dut):
    for name in INPUTS:
        getattr(dut, name).value = 0
    dut.aclk.value = dut.aresetn.value = 0
    assert await seen(dut) == "00000", "before the first clock edge"
    cocotb.start_soon(Clock(dut.aclk, 10, unit="ns").start())
    for _ in range(5):
        # A program that is fetched from a memory that takes nothing, a read answer and a write answer that wait.
        for _ in range(random.randint(2, 5)):
            await FallingEdge(dut.aclk)
            assert await seen(dut) == "00000"
        dut.aresetn.value = 1
        dut.s_axil_bready.value = 1
        for offset, value in (*program_registers().items(), (reg.CTRL, reg.START)):
            dut.s_axil_awvalid.value, dut.s_axil_wvalid.value, dut.s_axil_wstrb.value = 1, 1, 15
            dut.s_axil_awaddr.value, dut.s_axil_wdata.value = offset, value
            await FallingEdge(dut.aclk)
            dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 0
            for _ in range(4):
                await FallingEdge(dut.aclk)
        dut.s_axil_bready.value = 0
        dut.s_axil_awvalid.value, dut.s_axil_wvalid.value, dut.s_axil_arvalid.value, dut.s_axil_araddr.value = (
            1,
            1,
            1,
            reg.ID,
        )
        dut.s_axil_awaddr.value = reg.SEED
        for _ in range(30 + SCRUB):
            await FallingEdge(dut.aclk)
        assert await seen(dut) == "10011"
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = dut.s_axil_arvalid.value = 0
        dut.aresetn.value = 0
        assert await seen(dut) == "00000", "a reset takes them down at once"


def test_reset_axi():
    run("axi", "gc_engine_axi", SMALLEST, sim="icarus")
