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
PROGRAM, IMAGES, TARGETS, SIZE = 0x8000, 0x10000, 0x14000, 1 << 17


def pauses(probability):
    return (random.random() < probability for _ in itertools.count())


async def boot(dut, pause):
    """Clock, reset, bus models; returns the register master and the memory."""
    cocotb.start_soon(Clock(dut.aclk, 10, unit="ns").start())
    registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.aclk, dut.aresetn, reset_active_level=False)
    memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.aclk, dut.aresetn, reset_active_level=False, size=SIZE)
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


async def prepare(registers, memory, compiled, trainer):
    """Weights, program and a random minibatch in the memory, everything but the start in the registers; returns images and labels."""
    rng = np.random.default_rng(random.getrandbits(32))
    x, labels = rng.integers(-4096, 4096, (3, *NETWORK.shape)), rng.integers(0, 3, 3)
    for address, data in ((0, compiled.initial_image(trainer.weights())), (PROGRAM, compiled.train.binary),
                          (IMAGES, compiled.pack_images(x)), (TARGETS, compiled.pack_targets(labels))):
        memory.write(address, data.tobytes())
    values = {reg.PROG_BASE: PROGRAM, reg.PROG_LENGTH: len(compiled.train.instructions), reg.SEED: iteration_seed(1, 0),
              reg.IRQ_ENABLE: reg.IRQ_DONE | reg.IRQ_FAILED}
    values |= dict(zip(reg.BASE, (0, IMAGES, TARGETS, 0))) | {base + 4: 0 for base in (*reg.BASE, reg.PROG_BASE)}
    values |= reg.window(0, 0, PROGRAM, reg.READ | reg.WRITE) | reg.window(1, PROGRAM, SIZE, reg.READ)
    for offset, value in values.items():
        await registers.write_dword(offset, value)
    return x, labels


async def train(dut, registers, memory, compiled, trainer, x, labels):
    """One training iteration, compared with the reference."""
    await registers.write_dword(reg.CTRL, reg.START)
    await with_timeout(RisingEdge(dut.irq), 400, "us")
    assert await registers.read_dword(reg.STATUS) == reg.DONE
    loss = await registers.read_dword(reg.LOSS) | await registers.read_dword(reg.LOSS + 4) << 32
    assert loss == trainer.step(x, labels, 0)
    state = compiled.unpack_state(lambda t: np.frombuffer(memory.read(t.addr, t.layout.size), np.uint8))
    for own, reference in zip(state, trainer.weights()):
        for key in own:
            assert (own[key] == reference[key]).all(), key


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.4])
async def trains_bit_exactly(dut, pause):
    registers, memory = await boot(dut, pause)
    assert await registers.read_dword(reg.ID) == reg.ID_VALUE
    assert tuple([await registers.read_dword(offset) for offset in (reg.CONFIG, reg.CONFIG2, reg.CONFIG3)]) == CONFIG.config_registers
    compiled, trainer = compile_network(NETWORK, CONFIG), ReferenceTrainer(NETWORK, 1)
    x, labels = await prepare(registers, memory, compiled, trainer)
    await train(dut, registers, memory, compiled, trainer, x, labels)


@cocotb.test()
@cocotb.parametrize(channel=["r", "b"], response=[AxiResp.SLVERR, AxiResp.DECERR])
async def an_error_response_ends_the_program_and_the_next_one_runs(dut, channel, response):
    registers, memory = await boot(dut, 0.2)
    port, words = (memory.read_if.r_channel, memory.write_if.b_channel)[channel == "b"], itertools.count()
    send, wrong = port.send, random.randint(9, 40) if channel == "r" else random.randint(0, 3)

    def send_with_an_error(word):
        setattr(word, f"{channel}resp", response if next(words) == wrong else AxiResp.OKAY)
        return send(word)

    port.send = send_with_an_error
    compiled, trainer = compile_network(NETWORK, CONFIG), ReferenceTrainer(NETWORK, 1)
    x, labels = await prepare(registers, memory, compiled, trainer)
    await registers.write_dword(reg.CTRL, reg.START)
    await with_timeout(RisingEdge(dut.irq), 400, "us")
    assert await registers.read_dword(reg.STATUS) == reg.FAILED
    error = await registers.read_dword(reg.ERROR)
    assert error & 0xFF == (16 if channel == "r" else 32) + response and error >> 8 < len(compiled.train.instructions)
    assert reg.ERRORS[error & 0xFF]
    issued = next(words)
    await ClockCycles(dut.aclk, 200)
    assert next(words) == issued + 1, "responses after the interrupt: the bus was not clean"
    memory.write(0, compiled.initial_image(trainer.weights()).tobytes())
    await train(dut, registers, memory, compiled, trainer, x, labels)


@cocotb.test()
async def narrow_register_writes_are_refused(dut):
    registers, _ = await boot(dut, 0)
    await registers.write_dword(reg.SEED, 0x12345678)
    assert (await registers.write(reg.SEED, b"\xff")).resp == AxiResp.SLVERR
    assert await registers.read_dword(reg.SEED) == 0x12345678


def test_gradcore_axi():
    run("axi", "gradcore_axi", {"GRID": 4, "COLS": 4, "MEM_W": 128, "ADDR_W": 40, "ACT_DEPTH": 256, "WGT_DEPTH": 256,
                                "GRAD_DEPTH": 256, "GATE_DEPTH": 256}, sim="verilator")
