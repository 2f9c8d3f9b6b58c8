# SPDX-License-Identifier: Apache-2.0
"""The whole engine in a four-state simulator: registers and memories start unknown, and no unknown gets out of it or
into a result."""

import random

import cocotb
import numpy as np

from gradcore.compiler.compile import compile_network
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.numerics.random_numbers import iteration_seed
from gradcore.ops.convolution import Conv, Dense
from gradcore.reference.trainer import ReferenceTrainer
from tb.model.compiler.networks import stored
from tb.support.native import NativeEngine
from tb.support.register_map import words
from tb.support.runner import parameter, run

CONFIG = EngineConfig(grid=4, cols=4, mem_bytes=64, act_depth=128, wgt_depth=128, grad_depth=128, gate_depth=128)
PARAMETERS = {
    "GRID": 4,
    "COLS": 4,
    "MEM_W": 512,
    "ADDR_W": 40,
    "ACT_DEPTH": 128,
    "WGT_DEPTH": 128,
    "GRAD_DEPTH": 128,
    "GATE_DEPTH": 128,
}
# Partly filled groups of everything: images, rows and columns of pixels before and behind the pooling, output maps;
# words of half a beat. One image in a group of the first layer, 16 in those behind it, most of which nobody computes;
# what they make of that stays in its buffer for WU.
NETWORK = Network("tiny", (1, 3, 5), (Conv(5, (2, 2), (1, 1), pool=2), Dense(5), Dense(3)), minibatch=5)


async def known(engine, offsets):
    for offset in offsets:
        found = await engine.bits(offset)
        assert set(found) <= {"0", "1"}, f"register {offset:#x} reads as {found}"


@cocotb.test()
async def trains_without_an_unknown(dut):
    engine, registers = NativeEngine(dut, stall=0.2), words(ADDR_W=parameter("ADDR_W"))
    await engine.boot()
    # Registers without a reset value are unknown until they are written, the counters until the first start
    # (doc/registers.md).
    await known(
        engine,
        (
            offset
            for offset, word in registers.items()
            if offset < reg.COUNTERS and all(b.reset is not None or b.kind == "hw" for b in word.bits)
        ),
    )
    compiled, trainer, rng = (
        compile_network(NETWORK, CONFIG, keep=True),
        ReferenceTrainer(NETWORK, 1),
        np.random.default_rng(random.getrandbits(32)),
    )
    assert [folds.fp for folds in compiled.memory.folds] == [2, 0, 0]
    images, *minibatches = ((rng.integers(-4096, 4096, (5, *NETWORK.shape)), rng.integers(0, 3, 5)) for _ in range(2))
    trainer.step(*images, 0)  # so that momentum is not zero
    for tensor, data in compiled.pack_state(trainer.weights()):
        engine.memory.write(tensor.addr, data.tobytes())
    await engine.open_windows()
    for iteration, (x, labels) in enumerate(minibatches, 1):
        engine.memory.write(engine.IMAGES, compiled.pack_images(x).tobytes())
        engine.memory.write(engine.TARGETS, compiled.pack_targets(labels).tobytes())
        await engine.run(compiled.train.binary, iteration_seed(1, iteration))
        loss = await engine.read(reg.LOSS) | await engine.read(reg.LOSS + 4) << 32
        assert loss == trainer.step(x, labels, iteration)
        # Every byte of a row of parameters, with what is no parameter; every byte of a map, with what is no pixel and
        # no image.
        for tensor, data in compiled.pack_state(trainer.weights()):
            assert engine.memory.read(tensor.addr, tensor.layout.size) == data.tobytes(), tensor.name
        acts, deltas = trainer.last["act"][1:], [trainer.last["error"][1], *trainer.last["delta"][1:]]
        for tensor, wanted in (*zip(compiled.memory.act[1:], acts), *zip(compiled.memory.delta, deltas)):
            if not stored(compiled, tensor):
                continue
            assert engine.memory.read(tensor.addr, tensor.layout.size) == tensor.layout.pack(wanted).tobytes(), (
                tensor.name
            )
    assert not engine.memory.foreign, f"{len(engine.memory.foreign)} bytes read that nobody has written"
    await known(engine, registers)


def test_unknowns():
    run("engine", "gc_engine", PARAMETERS, sim="icarus")
