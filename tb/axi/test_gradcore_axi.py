# SPDX-License-Identifier: Apache-2.0
"""The engine on AXI trains a tiny network bit-exactly, with pauses on every channel.

Verilator, because vectors of a map that does not fill the grid carry lanes nobody has written, which are X on Icarus.
"""

import itertools
import random

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiResp

from gradcore import registers as reg
from gradcore.compiler import compile_network
from gradcore.config import EngineConfig
from gradcore.fixed import iteration_seed
from gradcore.network import Conv, Dense, Network
from gradcore.reference import ReferenceTrainer
from tb.support.runner import run

CONFIG = EngineConfig(grid=4, cols=4, mem_bytes=16, act_depth=256, wgt_depth=256, grad_depth=256, gate_depth=256)
NETWORK = Network("tiny", (2, 5, 5), (Conv(5, (3, 3), (1, 1), pool=2), Dense(3)), minibatch=3)
PROGRAM, IMAGES, TARGETS = 0x8000, 0x10000, 0x14000


def pauses(probability):
    return (random.random() < probability for _ in itertools.count())


async def boot(dut, pause):
    """Clock, reset, bus models; returns the register master and the memory."""
    cocotb.start_soon(Clock(dut.aclk, 10, unit="ns").start())
    registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.aclk, dut.aresetn, reset_active_level=False)
    memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.aclk, dut.aresetn, reset_active_level=False, size=1 << 17)
    channels = [memory.write_if.aw_channel, memory.write_if.w_channel, memory.write_if.b_channel, memory.read_if.ar_channel,
                memory.read_if.r_channel, registers.write_if.aw_channel, registers.write_if.w_channel, registers.read_if.r_channel]
    for channel in channels:
        if pause:
            channel.set_pause_generator(pauses(pause))
    dut.aresetn.value = 0
    await ClockCycles(dut.aclk, 4)
    dut.aresetn.value = 1
    await ClockCycles(dut.aclk, 2)
    return registers, memory


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.4])
async def trains_bit_exactly(dut, pause):
    registers, memory = await boot(dut, pause)
    compiled, trainer = compile_network(NETWORK, CONFIG), ReferenceTrainer(NETWORK, 1)
    rng = np.random.default_rng(random.getrandbits(32))
    x, labels = rng.integers(-4096, 4096, (3, *NETWORK.shape)), rng.integers(0, 3, 3)
    for address, data in ((0, compiled.initial_image(trainer.weights())), (PROGRAM, compiled.train.binary),
                          (IMAGES, compiled.pack_images(x)), (TARGETS, compiled.pack_targets(labels))):
        memory.write(address, data.tobytes())
    assert await registers.read_dword(reg.ID) == reg.ID_VALUE
    assert (await registers.read_dword(reg.CONFIG), await registers.read_dword(reg.CONFIG2)) == CONFIG.config_registers
    values = {reg.PROG_BASE: PROGRAM, reg.PROG_LENGTH: len(compiled.train.instructions), reg.SEED: iteration_seed(1, 0), reg.IRQ_ENABLE: 1}
    values |= dict(zip(reg.BASE, (0, IMAGES, TARGETS, 0))) | {base + 4: 0 for base in (*reg.BASE, reg.PROG_BASE)}
    for offset, value in values.items():
        await registers.write_dword(offset, value)
    await registers.write_dword(reg.CTRL, reg.START)
    await with_timeout(RisingEdge(dut.irq), 400, "us")
    assert await registers.read_dword(reg.STATUS) == reg.DONE
    loss = await registers.read_dword(reg.LOSS) | await registers.read_dword(reg.LOSS + 4) << 32
    assert loss == trainer.step(x, labels, 0)
    state = compiled.unpack_state(lambda t: np.frombuffer(memory.read(t.addr, t.layout.size), np.uint8))
    for own, reference in zip(state, trainer.weights()):
        for key in own:
            assert (own[key] == reference[key]).all(), key
    assert dut.bus_error.value == 0


@cocotb.test()
async def an_error_response_stays_at_the_pins(dut):
    registers, memory = await boot(dut, 0)
    send, words = memory.read_if.r_channel.send, itertools.count()

    def send_with_an_error(word):
        word.rresp = AxiResp.SLVERR if next(words) == 3 else AxiResp.OKAY
        return send(word)

    memory.read_if.r_channel.send = send_with_an_error
    compiled = compile_network(NETWORK, CONFIG)
    memory.write(PROGRAM, compiled.train.binary.tobytes())
    assert dut.bus_error.value == 0
    for offset, value in ((reg.PROG_BASE, PROGRAM), (reg.PROG_BASE + 4, 0), (reg.PROG_LENGTH, len(compiled.train.instructions)), (reg.CTRL, reg.START)):
        await registers.write_dword(offset, value)
    await with_timeout(RisingEdge(dut.bus_error), 10, "us")
    first = next(words)
    await ClockCycles(dut.aclk, 100)
    assert next(words) > first + 20     # more responses, all of them good
    assert (dut.bus_error.value, dut.bus_resp.value) == (1, AxiResp.SLVERR)


@cocotb.test()
async def narrow_register_writes_are_refused(dut):
    registers, _ = await boot(dut, 0)
    await registers.write_dword(reg.SEED, 0x12345678)
    assert (await registers.write(reg.SEED, b"\xff")).resp == AxiResp.SLVERR
    assert await registers.read_dword(reg.SEED) == 0x12345678


def test_gradcore_axi():
    run("axi", "gradcore_axi", {"GRID": 4, "COLS": 4, "MEM_W": 128, "ADDR_W": 40, "ACT_DEPTH": 256, "WGT_DEPTH": 256,
                                "GRAD_DEPTH": 256, "GATE_DEPTH": 256}, sim="verilator")
