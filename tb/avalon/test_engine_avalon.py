# SPDX-License-Identifier: Apache-2.0
"""The engine on Avalon-MM trains a tiny network bit-exactly, with pauses on every interface, also after an error
response."""

import random
from types import SimpleNamespace

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb_bus.drivers.avalon import AvalonMaster

from tb.avalon.bus import AvalonHost, AvalonMemory
from tb.support.bench import cycles
from tb.support.front import CONFIG, PARAMETERS, SIZE, Front
from tb.support.runner import run


class ForeignHost:
    """The host of cocotb-bus at the registers; it sees no responses."""

    def __init__(self, dut, clock, prefix):
        self.host, self.clock = AvalonMaster(dut, prefix.rstrip("_"), clock.clk), clock

    async def read(self, offset):
        word = int(await self.host.read(offset // 4))
        await cycles(self.clock, 1)
        return word

    async def write(self, offset, value):
        await self.host.write(offset // 4, value)


async def boot(dut, pause, host_type=AvalonHost):
    """Clock, reset, bus models; returns the front, the register host, the memory and the clock."""
    clock = SimpleNamespace(clk=dut.csi_clock_clk)
    cocotb.start_soon(Clock(dut.csi_clock_clk, 10, unit="ns").start())
    dut.rsi_reset_reset.value = 1
    host = host_type(dut, clock, "avs_csr_")
    memory = AvalonMemory(dut, clock, CONFIG.mem_bytes, SIZE, pause)
    await cycles(clock, 4)
    dut.rsi_reset_reset.value = 0
    await cycles(clock, 2)
    return Front(host.read, host.write, memory, dut.ins_irq_irq), host, memory, clock


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.4], host_type=[AvalonHost, ForeignHost])
async def trains_bit_exactly(dut, pause, host_type):
    front, _, _, _ = await boot(dut, pause, host_type)
    await front.identify()
    await front.prepare()
    await front.train()


@cocotb.test()
@cocotb.parametrize(kind=["read", "write"], response=[2, 3])
async def an_error_response_ends_the_program_and_the_next_one_runs(dut, kind, response):
    front, _, memory, clock = await boot(dut, 0.2)
    await front.prepare()
    memory.faults = {(kind, random.randint(5, 15) if kind == "read" else random.randint(0, 3)): response}
    await front.fail((16 if kind == "read" else 32) + response)
    answers, memory.faults = memory.answers, {}
    await cycles(clock, 200)
    assert memory.answers == answers, "answers after the interrupt: the bus was not clean"
    front.repair()
    await front.train()


@cocotb.test()
async def register_bytes_are_written_alone(dut):
    front, host, _, _ = await boot(dut, 0)

    async def write(offset, value, strobes):
        assert (await host.access("write", offset, value, strobes))[0] == 0

    await front.byte_writes(write)


@pytest.mark.long
def test_engine_avalon():
    run("avalon", "gc_engine_avalon", PARAMETERS | {"ADDR_W": 33}, sim="verilator")
