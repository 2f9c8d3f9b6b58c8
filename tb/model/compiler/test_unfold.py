# SPDX-License-Identifier: Apache-2.0
"""Taps of some rows of the first layer's kernel as input maps of WU, where the beats of all of them would take longer
than the array."""

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.compiler.unfold import column_groups, unfold_images
from gradcore.files.places import ROOT
from gradcore.isa.config import PRESETS, EngineConfig
from gradcore.isa.instruction import WU, Opcode
from gradcore.network.description import Network
from gradcore.network.net_toml import load
from gradcore.ops.convolution import Conv, Dense
from tb.model.compiler.networks import same, train_on_machine
from tb.support.cases import first

CONFIG = EngineConfig(grid=4, cols=4, mem_bytes=8)  # four beats to a vector


def random_network(rng, together: int) -> Network:
    """A first layer of few maps, so that its input is most of what WU loads, with `together` rows of the kernel
    unfolded, or more than one (0)."""
    while True:
        shape = int(rng.integers(1, 4 if together else 3)), *(int(n) for n in rng.integers(4, 13, 2))
        wide = min(6, shape[2]) if together else CONFIG.cols // 2 // shape[0]
        kernel = int(rng.integers(2, 1 + min(6, shape[1]))), int(rng.integers(1, 1 + wide))
        pad = tuple(int(rng.integers(0, k)) for k in kernel)
        stride = tuple(int(n) for n in rng.choice([1, 1, 1, 2, 3], 2))
        layers = (Conv(int(rng.integers(1, 9)), kernel, pad, stride=stride), Conv(int(rng.integers(1, 6)), (1, 1)))
        network = Network("rows", shape, (*layers, Dense(3)), minibatch=int(rng.choice([1, 5, 17, 33])))
        found = compile_network(network, CONFIG).setting.choices.unfolded
        if 0 < found < kernel[0] and (found == 1) == (together == 1):
            return network


@pytest.mark.parametrize("together", [0, 1])
@pytest.mark.parametrize("seed", first(8, range(20)))
def test_random_networks_train_bit_exactly(seed, together):
    network = random_network(np.random.default_rng(seed), together)
    print(f"seed {seed}: {network}")
    train_on_machine(network, CONFIG, seed)


def test_the_host_unfolds_rows_as_the_definition_says(rng):
    """WU finds pixel y*stride - pad + ky of the map in row y*stride - pad + above + ky - j of maps with tap j, and no
    row is missing."""
    for _ in range(60):
        network = random_network(rng, int(rng.integers(0, 2)))
        p, (maps, rows, columns) = network.parameters[0], network.shape
        x, (_, _, *kernel) = rng.integers(-99, 99, (2, *network.shape)), p.weight_shape
        together = int(rng.integers(1, kernel[0]))
        above = min(together - 1, p.pad[0])
        expected = np.zeros((2, together * kernel[1] * maps, rows + above, p.conv_shape[2]), np.int64)
        for (n, k, y, ox), _ in np.ndenumerate(expected):
            c, (j, kx) = k % maps, divmod(k // maps, kernel[1])
            at = y - above + j, ox * p.stride[1] - p.pad[1] + kx
            inside = 0 <= at[0] < rows and 0 <= at[1] < columns
            expected[n, k, y, ox] = x[n, c, *at] if inside else 0
        same("the input of WU", unfold_images(x, p, together), expected)


def test_as_many_steps_and_a_fifth_of_the_beats():
    """FCTE's CIFAR-10 network on 64x16: 15 input maps fill a group of 16 columns."""
    network = load(ROOT / "examples/fcte-cifar10/net.toml")
    compiled = compile_network(network, PRESETS["64x16"])
    assert compiled.setting.choices.unfolded == 1
    assert compiled.memory.act[0].layout.channels == 15
    gradients = [op for op in compiled.train.ops if op.layer == "conv0" and op.instr.opcode == Opcode.COMPUTE]
    steps = sum(op.cycles for op in gradients if op.instr["mode"] == WU)
    assert steps <= 2 * 5 * 16 * 16 * network.minibatch, "column groups, taps, columns, blocks of 8x8 pixels"


@pytest.mark.parametrize(
    "name, array, images, rows", [("fcte-cifar10", "64x32", 256, 2), ("fcte-mnist", "64x16", 128, 3)]
)
def test_rows_that_fill_the_columns(name, array, images, rows):
    """15 maps of a row in 32 columns, or 5 in 16: as many column groups as with all taps, in fewer beats."""
    network, config = load(ROOT / f"examples/{name}/net.toml").with_minibatch(images), PRESETS[array]
    compiled = compile_network(network, config)
    p, taken = network.parameters[0], compiled.setting.layers[0]
    (_, maps, *kernel), groups = p.weight_shape, column_groups(taken, config.cols)
    assert (compiled.setting.choices.unfolded, taken.tap_rows) == (rows, rows)
    assert groups == -(-maps * kernel[0] * kernel[1] // config.cols)
    gradients = [op for op in compiled.train.ops if op.layer == p.name and op.instr.opcode == Opcode.COMPUTE]
    steps = sum(op.cycles for op in gradients if op.instr["mode"] == WU)
    blocks = network.minibatch // 64 * p.conv_shape[1] * p.conv_shape[2]
    assert steps <= 1.01 * groups * p.weight_shape[0] * blocks, "column groups, output maps, pixels of 64 images"
