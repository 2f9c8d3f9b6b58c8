# SPDX-License-Identifier: Apache-2.0
"""The engine on AXI trains a tiny network bit-exactly, with pauses on every channel, also after an error response."""

import itertools
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiResp

from tb.support.front import PARAMETERS, SIZE, Front
from tb.support.runner import run


def pauses(probability):
    return (random.random() < probability for _ in itertools.count())


async def boot(dut, pause):
    """Clock, reset, bus models; returns the front, the register master and the memory."""
    cocotb.start_soon(Clock(dut.aclk, 10, unit="ns").start())
    registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.aclk, dut.aresetn, reset_active_level=False)
    memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.aclk, dut.aresetn, reset_active_level=False, size=SIZE)
    channels = [
        memory.write_if.aw_channel,
        memory.write_if.w_channel,
        memory.write_if.b_channel,
        memory.read_if.ar_channel,
        memory.read_if.r_channel,
        registers.write_if.aw_channel,
        registers.write_if.w_channel,
        registers.read_if.r_channel,
    ]
    for channel in channels:
        if pause:
            channel.set_pause_generator(pauses(pause))
    dut.aresetn.value = 0
    await ClockCycles(dut.aclk, 4)
    dut.aresetn.value = 1
    await ClockCycles(dut.aclk, 2)
    return Front(registers.read_dword, registers.write_dword, memory, dut.irq), registers, memory


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.4])
async def trains_bit_exactly(dut, pause):
    front, _, _ = await boot(dut, pause)
    await front.identify()
    await front.prepare()
    await front.train()


@cocotb.test()
@cocotb.parametrize(channel=["r", "b"], response=[AxiResp.SLVERR, AxiResp.DECERR])
async def an_error_response_ends_the_program_and_the_next_one_runs(dut, channel, response):
    front, _, memory = await boot(dut, 0.2)
    port, words = (memory.read_if.r_channel, memory.write_if.b_channel)[channel == "b"], itertools.count()
    send, wrong = port.send, random.randint(9, 40) if channel == "r" else random.randint(0, 3)

    def send_with_an_error(word):
        setattr(word, f"{channel}resp", response if next(words) == wrong else AxiResp.OKAY)
        return send(word)

    port.send = send_with_an_error
    await front.prepare()
    await front.fail((16 if channel == "r" else 32) + response)
    issued = next(words)
    await ClockCycles(dut.aclk, 200)
    assert next(words) == issued + 1, "responses after the interrupt: the bus was not clean"
    front.repair()
    await front.train()


@cocotb.test()
async def register_bytes_are_written_alone(dut):
    front, registers, _ = await boot(dut, 0.2)
    channel = registers.write_if.w_channel
    send, chosen = channel.send, [15]

    def send_with_strobes(word):
        word.wstrb = chosen[-1]
        return send(word)

    async def write(offset, value, strobes):
        chosen.append(strobes)
        assert (await registers.write(offset, value.to_bytes(4, "little"))).resp == AxiResp.OKAY
        chosen.pop()

    channel.send = send_with_strobes
    await front.byte_writes(write)


def test_engine_axi():
    run("axi", "gc_engine_axi", PARAMETERS, sim="verilator")
