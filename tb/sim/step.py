# SPDX-License-Identifier: Apache-2.0
"""One training iteration of a tiny network as gc_step_player plays it: memory, register accesses and, from the
reference trainer, LOSS and every weight, bias and momentum word."""

from dataclasses import replace

import numpy as np

from gradcore.compiler.compile import compile_network
from gradcore.files.places import ROOT
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.numerics.random_numbers import iteration_seed
from gradcore.ops.convolution import Conv, Dense
from gradcore.reference.trainer import ReferenceTrainer

# As the parameters of the engine in rtl/{engine,axi,avalon}/sim and the memory of gc_step_player.
ENGINE = EngineConfig(grid=4, cols=4, mem_bytes=8, act_depth=64, wgt_depth=64, grad_depth=64, gate_depth=64)
MEMORY_BYTES = 1 << 14
# Vectors of four images of this size are full: lanes that nobody has written are unknown in Icarus.
LAYERS = (Conv(3, (3, 3), (1, 1), pool=2), Dense(2))
NETWORK = Network("step", (1, 4, 4), LAYERS, loss="square_hinge", learning_rate=0.05, minibatch=4)
PLACE = ROOT / "tb" / "step" / "gc_step.hex"
PAGE = 4096
BEAT, WRITE, WAIT, CHECK, WORD = range(1, 6)  # commands of gc_step_player: the digit that a line begins with
UNKNOWN_OPCODE = 15


def text(engine: EngineConfig = ENGINE) -> str:
    """What gc_step_player plays; of `ENGINE` what PLACE has to hold. `engine` may differ in its widths."""
    network = replace(NETWORK, data_width=engine.data_width)
    rng, trainer, compiled = np.random.default_rng(1), ReferenceTrainer(network, 1), compile_network(network, engine)
    labels = np.arange(network.minibatch) % 2
    deviation = 2 ** (engine.data_width - 5)
    x = np.round(deviation * rng.standard_normal((network.minibatch, *network.shape))).astype(np.int64)
    memory, free, places = np.zeros(MEMORY_BYTES, np.uint8), 0, []
    bad = np.zeros(128, np.uint8)
    bad[0] = UNKNOWN_OPCODE
    data = compiled.pack_images(x), compiled.pack_targets(labels), bad
    contents = compiled.initial_image(trainer.weights()), compiled.train.binary, *data
    for data in contents:  # each from its own page on: windows end there
        places.append(free)
        memory[free : free + data.size] = data
        free += -(-data.size // PAGE) * PAGE if data is contents[0] else -(-data.size // 128) * 128
    assert free <= MEMORY_BYTES
    state, program, images, targets, other = places

    lines = [(BEAT, 8 * at, int(beat)) for at, beat in enumerate(memory.view("<u8")) if beat]
    lines += [(CHECK, reg.ID, reg.ID_VALUE)]
    config = zip((reg.CONFIG, reg.CONFIG2, reg.CONFIG3), engine.config_registers)
    lines += [(CHECK, offset, value) for offset, value in config]
    end = -(-free // PAGE) * PAGE
    once = reg.window(0, state, program, reg.READ | reg.WRITE) | reg.window(1, program, end, reg.READ)
    once |= {reg.IRQ_ENABLE: 3, reg.WATCHDOG: 1 << 16}
    once |= {reg.PROG_BASE: program, reg.PROG_LENGTH: len(compiled.train.instructions), reg.SEED: iteration_seed(1, 0)}
    once |= dict(zip(reg.BASE, (state, images, targets))) | {low + 4: 0 for low in (reg.PROG_BASE, *reg.BASE)}
    lines += [(WRITE, offset, value) for offset, value in once.items()]
    loss = trainer.step(x, labels, 0)
    lines += [(WRITE, reg.CTRL, reg.START), (WAIT, 0, 0), (CHECK, reg.STATUS, reg.DONE)]
    lines += [(WRITE, reg.IRQ_STATUS, reg.IRQ_DONE)]
    lines += [(CHECK, reg.LOSS, loss & 0xFFFFFFFF), (CHECK, reg.LOSS + 4, loss >> 32)]
    # Where are the state's elements? Those of a tensor of ones are not zero; what fills rows and beats stays unsaid.
    ones = [{key: np.ones_like(value) for key, value in layer.items()} for layer in trainer.weights()]
    used, final = (compiled.initial_image(layers).view("<u2") for layers in (ones, trainer.weights()))
    lines += [(WORD, state + 2 * at, int(final[at])) for at in map(int, np.flatnonzero(used))]
    # A program that the engine has to refuse.
    lines += [(WRITE, reg.PROG_BASE, other), (WRITE, reg.PROG_LENGTH, 1), (WRITE, reg.CTRL, reg.START), (WAIT, 0, 0)]
    lines += [(CHECK, reg.STATUS, reg.FAILED), (CHECK, reg.ERROR, 1), (WRITE, reg.IRQ_STATUS, reg.IRQ_FAILED)]
    head = "// SPDX-License-Identifier: Apache-2.0\n// Written by ci/vectors.\n"
    return head + "".join(f"{command:x}_{address:08x}_{value:016x}\n" for command, address, value in lines)
