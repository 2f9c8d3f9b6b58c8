# SPDX-License-Identifier: Apache-2.0
"""The whole engine in a four-state simulator: registers and memories start unknown, and no unknown gets out of it or into a result."""

import random

import cocotb
import numpy as np

from gradcore import registers as reg
from gradcore.compiler import compile_network
from gradcore.config import EngineConfig
from gradcore.fixed import iteration_seed
from gradcore.network import Conv, Dense, Network
from gradcore.reference import ReferenceTrainer
from tb.support.native import NativeEngine
from tb.support.register_map import words
from tb.support.runner import parameter, run

CONFIG = EngineConfig(grid=4, cols=4, mem_bytes=64, act_depth=256, wgt_depth=64, grad_depth=64, gate_depth=64)
PARAMETERS = {"GRID": 4, "COLS": 4, "MEM_W": 512, "ADDR_W": 40, "ACT_DEPTH": 256, "WGT_DEPTH": 64, "GRAD_DEPTH": 64, "GATE_DEPTH": 64}
# Partly filled groups of everything: images, rows and columns of pixels before and behind the pooling, output maps; words of half a beat.
NETWORK = Network("tiny", (2, 5, 5), (Conv(5, (3, 3), (1, 1), pool=2), Dense(3)), minibatch=3)


async def known(engine, offsets):
    for offset in offsets:
        found = await engine.bits(offset)
        assert set(found) <= {"0", "1"}, f"register {offset:#x} reads as {found}"


@cocotb.test()
async def trains_without_an_unknown(dut):
    engine, registers = NativeEngine(dut, stall=0.2), words(ADDR_W=parameter("ADDR_W"))
    await engine.boot()
    # Registers without a reset value are unknown until they are written, the counters until the first start (doc/registers.md).
    await known(engine, (offset for offset, word in registers.items() if offset < reg.COUNTERS and all(b.reset is not None or b.kind == "hw" for b in word.bits)))
    compiled, trainer, rng = compile_network(NETWORK, CONFIG, keep=True), ReferenceTrainer(NETWORK, 1), np.random.default_rng(random.getrandbits(32))
    for tensor, data in compiled.pack_state(trainer.weights()):
        engine.memory.write(tensor.addr, data.tobytes())
    await engine.open_windows()
    for iteration in range(2):
        x, labels = rng.integers(-4096, 4096, (3, *NETWORK.shape)), rng.integers(0, 3, 3)
        engine.memory.write(engine.IMAGES, compiled.pack_images(x).tobytes())
        engine.memory.write(engine.TARGETS, compiled.pack_targets(labels).tobytes())
        await engine.run(compiled.train.binary, iteration_seed(1, iteration))
        loss = await engine.read(reg.LOSS) | await engine.read(reg.LOSS + 4) << 32
        assert loss == trainer.step(x, labels, iteration)
        # Every byte of a row of parameters, with what is no parameter; every byte of a map, with what is no pixel and no image.
        for tensor, data in compiled.pack_state(trainer.weights()):
            assert engine.memory.read(tensor.addr, tensor.layout.size) == data.tobytes(), tensor.name
        for tensor, wanted in ((compiled.memory.act[1], trainer.last["act"][1]), *zip(compiled.memory.delta, (trainer.last["error"][1], trainer.last["delta"][1]))):
            assert engine.memory.read(tensor.addr, tensor.layout.size) == tensor.layout.pack(wanted).tobytes(), tensor.name
    assert not engine.memory.foreign, f"{len(engine.memory.foreign)} bytes read that nobody has written"
    await known(engine, registers)


def test_unknowns():
    run("engine", "gc_engine", PARAMETERS, sim="icarus")
