# SPDX-License-Identifier: Apache-2.0
"""Grouped convolutions on the machine model: every bit as the reference trainer, each group in the steps of a
convolution for itself."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler.compile import CompileError, compile_network
from gradcore.compiler.map_groups import map_groups
from gradcore.compiler.operation import compute_cycles
from gradcore.isa.config import PRESETS, EngineConfig
from gradcore.isa.instruction import BP, FP, WU, Opcode
from gradcore.network import Conv, Dense, Network
from tb.model.compiler.convolutions import grouped_network
from tb.model.compiler.networks import random_engine, train_on_machine
from tb.system.test_own_training import ENGINES


def steps(compiled, layer: str) -> dict:
    """Array steps of the passes of a layer, without those of a bias."""
    found = dict.fromkeys((FP, BP, WU), 0)
    for instr in (op.instr for op in compiled.train.ops if op.layer == layer and op.instr.opcode == Opcode.COMPUTE):
        found[instr["mode"]] += compute_cycles(instr, compiled.config.cols)[1]
    return found


@pytest.mark.parametrize("seed", range(16))
def test_random_networks(seed):
    rng = np.random.default_rng(seed)
    config = random_engine(rng)
    config = replace(config, cols=min(config.cols, 16))
    network = grouped_network(rng, config)
    print(config, network)
    train_on_machine(network, config, seed)


@pytest.mark.parametrize("seed", range(6))
def test_networks_larger_than_the_buffers(seed):
    """Tiles of output and of input maps, reductions in parts, rows of weights in pieces."""
    rng = np.random.default_rng(seed)
    depths = dict(act_depth=256, gate_depth=256, wgt_depth=64, grad_depth=64) if seed % 2 else {}
    width, beat = int(rng.choice([8, 16])), int(rng.choice([8, 16, 32, 64]))
    config = replace(ENGINES["tiny"], **dict(act_depth=128) | depths, data_width=width, mem_bytes=beat)
    network = grouped_network(rng, config, largest=5)
    print(config, network)
    train_on_machine(network, config, seed)


@pytest.mark.parametrize("trained", ["abcd", "bcd", "cd", "b", "ac"])
def test_frozen_layers(trained):
    """A group first among the trained layers has no BP; a frozen one passes its local gradient on."""
    kinds = (Conv(16, 1, name="a"), Conv(16, 3, 1, groups=4, pool=2, name="b"), Conv(8, 3, 1, groups=2, name="c"))
    layers = [replace(layer, trainable=layer.name in trained) for layer in (*kinds, Dense(3, name="d"))]
    network, config = Network("t", (2, 6, 5), layers, minibatch=3), EngineConfig(grid=4, cols=4)
    assert bool(steps(compile_network(network, config), "b")[BP]) == ("a" in trained)
    train_on_machine(network, config, 2)


def test_each_group_takes_its_own_maps_alone():
    """AlexNet's second convolution in its two towers: half of the steps of one group, and no others."""
    found = []
    for groups in (1, 2):
        layers = (Conv(96, 1), Conv(256, 5, 2, groups=groups, pool=2), Conv(16, 2), Conv(16, 3, pool=2), Dense(10))
        compiled = compile_network(Network("t", (16, 27, 27), layers, minibatch=16), PRESETS["64x16"])
        p = compiled.network.parameters[1]
        assert [group.sizes for group in map_groups(p)] == [(256 // groups, 96 // groups)] * groups
        found.append((steps(compiled, "conv1"), p.weight_shape))
    (whole, _), (towers, shape) = found
    assert shape == (256, 48, 5, 5)
    # FP has a step for the bias in every sum; the folds may be others.
    assert all(0.4 < towers[step] / whole[step] < 0.55 for step in whole), (towers, whole)


@pytest.mark.parametrize("cols", [4, 16])
def test_rows_of_a_group_begin_at_a_beat(cols):
    """Three column groups of rows, and of bias, are no whole beats."""
    layers = (Conv(2 * cols, 1), Conv(6 * cols, 1, groups=2, pool=2), Dense(3))
    network, config = Network("t", (2, 4, 4), layers, minibatch=3), EngineConfig(grid=4, cols=cols, mem_bytes=64)
    first, second, _ = (tensor.layout for tensor in compile_network(network, config).memory.weight)
    assert second.pieces and not first.pieces and second.bias_place(3) % 64 == 0
    train_on_machine(network, config, 5)


def test_refused_by_name():
    config = EngineConfig(grid=4, cols=8)
    for layer, message in (
        (
            Conv(24, groups=2),
            "'conv1': .* in 2 groups of 12 output and 8 input maps yet; .* multiples of 8 maps, the engine's columns",
        ),
        (Conv(32, groups=4), "'conv1': .* in 4 groups of 8 output and 4 input maps yet; nearest supported: 1 group"),
    ):
        with pytest.raises(CompileError, match=message):
            compile_network(Network("t", (2, 9, 9), (Conv(16), layer, Dense(2))), config)
