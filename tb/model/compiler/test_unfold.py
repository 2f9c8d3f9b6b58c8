# SPDX-License-Identifier: Apache-2.0
"""Taps of a row of the first layer's kernel as input maps of WU, where the beats of all of them would take longer than
the array."""

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.compiler.unfold import TAPS_OF_A_ROW, unfold_images
from gradcore.isa.config import PRESETS, EngineConfig
from gradcore.isa.instruction import WU, Opcode
from gradcore.network.description import Network
from gradcore.network.net_toml import load
from gradcore.ops.convolution import Conv, Dense
from gradcore.sim.sources import ROOT
from tb.model.compiler.networks import same, train_on_machine
from tb.support.cases import first

CONFIG = EngineConfig(grid=4, cols=4, mem_bytes=8)  # four beats to a vector


def random_network(rng) -> Network:
    """A first layer of few maps, so that its input is most of what WU loads."""
    while True:
        shape = int(rng.integers(1, 4)), *(int(n) for n in rng.integers(4, 13, 2))
        kernel = tuple(int(rng.integers(2, 1 + min(5, size))) for size in shape[1:])
        pad = tuple(int(rng.integers(0, k)) for k in kernel)
        layers = (Conv(int(rng.integers(1, 5)), kernel, pad), Conv(int(rng.integers(1, 6)), (1, 1)), Dense(3))
        network = Network("rows", shape, layers, minibatch=int(rng.choice([1, 5, 17])))
        if compile_network(network, CONFIG).setting.choices.unfolded == TAPS_OF_A_ROW:
            return network


@pytest.mark.parametrize("seed", first(8, range(40)))
def test_random_networks_train_bit_exactly(seed):
    network = random_network(np.random.default_rng(seed))
    print(f"seed {seed}: {network}")
    train_on_machine(network, CONFIG, seed)


def test_the_host_unfolds_rows_as_the_definition_says(rng):
    for _ in range(30):
        network = random_network(rng)
        p, (maps, rows, columns) = network.parameters[0], network.shape
        x = rng.integers(-99, 99, (2, *network.shape))
        wide = p.conv_shape[2]
        expected = np.zeros((2, p.weight_shape[3] * maps, rows, wide), np.int64)
        for (n, k, y, ox), _ in np.ndenumerate(expected):
            c, at = k % maps, ox - p.pad[1] + k // maps
            expected[n, k, y, ox] = x[n, c, y, at] if 0 <= at < columns else 0
        same("the input of WU", unfold_images(x, p, rows=False), expected)


def test_as_many_steps_and_a_fifth_of_the_beats():
    """FCTE's CIFAR-10 network on 64x16: 15 input maps fill a group of 16 columns."""
    network = load(ROOT / "examples/fcte-cifar10/net.toml")
    compiled = compile_network(network, PRESETS["64x16"])
    assert compiled.setting.choices.unfolded == TAPS_OF_A_ROW
    assert compiled.memory.act[0].layout.channels == 15
    gradients = [op for op in compiled.train.ops if op.layer == "conv0" and op.instr.opcode == Opcode.COMPUTE]
    steps = sum(op.cycles for op in gradients if op.instr["mode"] == WU)
    assert steps <= 2 * 5 * 16 * 16 * network.minibatch, "column groups, taps, columns, blocks of 8x8 pixels"
