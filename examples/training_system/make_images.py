#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that the training system of this folder reads, for a tiny network: copy this file and change NETWORK,
ENGINE and the data.

    memory.hex    the RAM's content: weights and momenta, the training program, every minibatch with its targets
    commands.hex  what the command player writes and checks: windows and base registers, then per iteration SEED,
                  minibatch, start, LOSS
    expected.hex  address and value of every weight, bias and momentum word after the last iteration, from the
                  reference trainer
"""

import argparse
from pathlib import Path

import numpy as np

from gradcore.compiler.compile import compile_network
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.numerics.random_numbers import iteration_seed
from gradcore.ops.convolution import Conv, Dense
from gradcore.reference.trainer import ReferenceTrainer

# The same numbers as the parameters in gc_training_system.v; MEM_W = 8 * mem_bytes.
ENGINE = EngineConfig(grid=4, cols=4, mem_bytes=8, act_depth=512, wgt_depth=256, grad_depth=256, gate_depth=512)
RAM_BYTES = 1 << 16
NETWORK = Network(
    "stripes",
    (1, 8, 8),
    (Conv(5, (3, 3), (1, 1), pool=2), Dense(2)),
    loss="square_hinge",
    learning_rate=0.01,
    minibatch=4,
)
SEED, BATCHES = 1, 2  # the minibatches by turns
PAGE = 4096  # windows begin and end on such borders
END, WRITE, WAIT, CHECK = range(4)  # commands, as in gc_command_player.v


def minibatch(rng):
    """Noisy stripes: label 0 lying, 1 standing. Images are integers in the network's input format, 12 fraction bits by
    default."""
    labels = rng.integers(0, 2, NETWORK.minibatch)
    stripes = np.tile([-1.0, 1.0], 4)
    images = np.where(labels[:, None, None] == 1, stripes, stripes[:, None])[:, None] * 0.5 + 0.4 * rng.standard_normal(
        (len(labels), *NETWORK.shape)
    )
    return np.round(images * 4096).astype(np.int64), labels


def make(folder, iterations):
    rng, trainer, compiled = (
        np.random.default_rng(SEED),
        ReferenceTrainer(NETWORK, SEED),
        compile_network(NETWORK, ENGINE),
    )
    ram, free = np.zeros(RAM_BYTES, np.uint8), 0

    def place(data):
        """Copy `data` to the next free page; its address."""
        nonlocal free
        address, free = free, -(-(free + data.size) // PAGE) * PAGE
        assert free <= RAM_BYTES, f"the RAM is too small, {free} bytes are needed"
        ram[address : address + data.size] = data
        return address

    state = place(compiled.initial_image(trainer.weights()))  # behind BASE0: the only part that the engine writes
    program = place(compiled.train.binary)
    batches = [minibatch(rng) for _ in range(BATCHES)]
    places = [(place(compiled.pack_images(x)), place(compiled.pack_targets(labels))) for x, labels in batches]

    commands = [(CHECK, reg.ID, reg.ID_VALUE)]
    commands += [
        (CHECK, offset, value) for offset, value in zip((reg.CONFIG, reg.CONFIG2, reg.CONFIG3), ENGINE.config_registers)
    ]
    once = reg.window(0, state, program, reg.READ | reg.WRITE) | reg.window(1, program, free, reg.READ)
    once |= {
        reg.PROG_BASE: program,
        reg.PROG_LENGTH: len(compiled.train.instructions),
        reg.BASE[0]: state,
        reg.WATCHDOG: 1 << 16,
        reg.IRQ_ENABLE: reg.IRQ_DONE | reg.IRQ_FAILED,
    }
    once |= {high + 4: 0 for high in (reg.PROG_BASE, *reg.BASE)}
    commands += [(WRITE, offset, value) for offset, value in once.items()]
    for iteration in range(iterations):
        (x, labels), (images, targets) = batches[iteration % BATCHES], places[iteration % BATCHES]
        commands += [
            (WRITE, reg.SEED, iteration_seed(SEED, iteration)),
            (WRITE, reg.BASE[1], images),
            (WRITE, reg.BASE[2], targets),
            (WRITE, reg.CTRL, reg.START),
            (WAIT, 0, 0),
            (CHECK, reg.STATUS, reg.DONE),
            (WRITE, reg.IRQ_STATUS, reg.IRQ_DONE),
        ]
        loss = trainer.step(x, labels, iteration)
        commands += [(CHECK, reg.LOSS, loss & 0xFFFFFFFF), (CHECK, reg.LOSS + 4, loss >> 32)]
        print(f"iteration {iteration}: LOSS {loss}")
    commands.append((END, 0, 0))

    # Where are the state's elements? Those of a tensor of ones are not zero; what fills rows up to COLS and beats stays
    # unsaid.
    ones = [{key: np.ones_like(value) for key, value in layer.items()} for layer in trainer.weights()]
    used, final = (compiled.initial_image(layers).view("<u2") for layers in (ones, trainer.weights()))
    expected = [(state + 2 * at, int(final[at])) for at in np.flatnonzero(used)]

    (folder / "memory.hex").write_text("".join(f"{beat:016x}\n" for beat in ram.view("<u8")))
    (folder / "commands.hex").write_text(
        "".join(f"{op:01x}{offset:03x}{value:08x}\n" for op, offset, value in commands)
    )
    (folder / "expected.hex").write_text("".join(f"{address:08x}{value:04x}\n" for address, value in expected))
    print(f"{len(commands)} commands, {len(expected)} words of state, {free} bytes of RAM used")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=BATCHES)
    make(Path(__file__).parent, parser.parse_args().iterations)
