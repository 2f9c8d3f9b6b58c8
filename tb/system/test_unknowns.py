# SPDX-License-Identifier: Apache-2.0
"""The whole engine in a four-state simulator: memories and registers start unknown, no unknown gets out, and nothing is left for the next user."""

import random

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge, with_timeout

from gradcore import registers as reg
from gradcore.compiler import compile_network
from gradcore.config import EngineConfig
from gradcore.fixed import iteration_seed
from gradcore.network import Conv, Dense, Network
from gradcore.reference import ReferenceTrainer
from tb.support.bench import cycles, start
from tb.support.native import FourStateMemory, Registers, watch
from tb.support.register_map import words
from tb.support.runner import parameter, run

CONFIG = EngineConfig(grid=4, cols=4, mem_bytes=64, act_depth=256, wgt_depth=64, grad_depth=64, gate_depth=64)
PARAMETERS = {"GRID": 4, "COLS": 4, "MEM_W": 512, "ADDR_W": 40, "ACT_DEPTH": 256, "WGT_DEPTH": 64, "GRAD_DEPTH": 64, "GATE_DEPTH": 64}
# Partly filled groups of everything: images, rows and columns of pixels, before and behind the pooling, output maps; a word is half a beat.
NETWORK = Network("tiny", (2, 5, 5), (Conv(5, (3, 3), (1, 1), pool=2), Dense(3)), minibatch=3)
PROGRAM, IMAGES, TARGETS, SIZE = 0x8000, 0x10000, 0x14000, 1 << 17
SCRUB = 300         # cycles that a scrub takes at most


class Bench:
    def __init__(self, dut, stall=0.0):
        self.dut, self.registers, self.memory = dut, Registers(dut), FourStateMemory(dut, SIZE, stall)

    async def boot(self):
        """Clock and reset; the watch begins behind it."""
        await start(self.dut, s_reg_write=0, s_reg_read=0)
        cocotb.start_soon(watch(self.dut))

    async def open_windows(self):
        """Everything before PROGRAM may be written; the engine scrubs its memories."""
        values = reg.window(0, 0, PROGRAM, reg.READ | reg.WRITE) | reg.window(1, PROGRAM, SIZE, reg.READ)
        for offset, value in (values | reg.window(2, 0, 0, 0) | reg.window(3, 0, 0, 0)).items():
            await self.registers.write(offset, value)
        await self.registers.write(0x7C, 1)
        await cycles(self.dut, SCRUB)

    async def run(self, program, seed=0):
        """One program (bytes) to its end."""
        self.memory.write(PROGRAM, program.tobytes())
        values = {reg.PROG_BASE: PROGRAM, reg.PROG_LENGTH: len(program) // 128, reg.SEED: seed, reg.IRQ_ENABLE: reg.IRQ_DONE | reg.IRQ_FAILED, reg.IRQ_STATUS: 3}
        values |= dict(zip(reg.BASE, (0, IMAGES, TARGETS, 0))) | {base + 4: 0 for base in (*reg.BASE, reg.PROG_BASE)}
        for offset, value in (values | {reg.CTRL: reg.START}).items():
            await self.registers.write(offset, value)
        await with_timeout(RisingEdge(self.dut.irq), 100, "us")
        await cycles(self.dut, 1)
        assert await self.registers.read(reg.STATUS) == reg.DONE, hex(await self.registers.read(reg.ERROR))

    async def known(self, offsets):
        for offset in offsets:
            found = await self.registers.bits(offset)
            assert set(found) <= {"0", "1"}, f"register {offset:#x} reads as {found}"


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3])
async def trains_without_an_unknown(dut, stall):
    bench, registers = Bench(dut, stall), words(ADDR_W=parameter("ADDR_W"))
    await bench.boot()
    # Registers of which doc/registers.md says so are unknown until they are written, counters until the first start.
    await bench.known(offset for offset, word in registers.items() if offset < reg.COUNTERS and all(b.reset is not None or b.kind == "hw" for b in word.bits))
    compiled, trainer = compile_network(NETWORK, CONFIG, keep=True), ReferenceTrainer(NETWORK, 1)
    weights = [(tensor.addr, data.tobytes()) for tensor, data in compiled.pack_state(trainer.weights())]
    for address, data in weights:
        bench.memory.write(address, data)
    await bench.open_windows()
    for iteration in range(2):
        rng = np.random.default_rng(random.getrandbits(32))
        x, labels = rng.integers(-4096, 4096, (3, *NETWORK.shape)), rng.integers(0, 3, 3)
        bench.memory.write(IMAGES, compiled.pack_images(x).tobytes())
        bench.memory.write(TARGETS, compiled.pack_targets(labels).tobytes())
        await bench.run(compiled.train.binary, iteration_seed(1, iteration))
        loss = await bench.registers.read(reg.LOSS) | await bench.registers.read(reg.LOSS + 4) << 32
        assert loss == trainer.step(x, labels, iteration)
        state = compiled.unpack_state(lambda t: np.frombuffer(bench.memory.read(t.addr, t.layout.size), np.uint8))
        for own, reference in zip(state, trainer.weights()):
            for key in own:
                assert (own[key] == reference[key]).all(), key
        # What is no parameter, no pixel and no image stays zero.
        for tensor, data in compiled.pack_state(trainer.weights()):
            assert bench.memory.read(tensor.addr, tensor.layout.size) == data.tobytes(), tensor.name
        for tensor in (compiled.memory.act[1], *compiled.memory.delta):
            data = np.frombuffer(bench.memory.read(tensor.addr, tensor.layout.size), np.uint8)
            assert (tensor.layout.pack(tensor.layout.unpack(data)) == data).all(), tensor.name
    assert not bench.memory.foreign, f"{len(bench.memory.foreign)} bytes read that nobody has written"
    await bench.known(registers)


def test_unknowns():
    run("engine", "gc_engine", PARAMETERS, sim="icarus")
