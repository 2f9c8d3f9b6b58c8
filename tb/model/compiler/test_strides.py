# SPDX-License-Identifier: Apache-2.0
"""A first convolution with a stride on the machine model: every bit as the reference trainer, in KY*KX*C steps per sum;
the input that the host unfolds; what the listing says of it."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler.compile import CompileError, compile_network
from gradcore.compiler.operation import compute_cycles
from gradcore.compiler.unfold import unfold_images
from gradcore.isa.config import PRESETS, EngineConfig
from gradcore.isa.instruction import BP, FP, Opcode
from gradcore.network import Conv, Dense, Network
from gradcore.report.large_layers import LAYERS
from tb.model.compiler.convolutions import with_stride
from tb.model.compiler.networks import (
    fitting_network,
    large_network,
    own_training,
    random_engine,
    train_on_machine,
)
from tb.support.engines import TINY
from tb.support.sim import ENGINES as SMALL

REST = (Conv(5, 3, 1, pool=2, name="b"), Dense(3, name="c"))


def computes(compiled, layer: str) -> list:
    """(pass, instruction) of the COMPUTEs of a layer."""
    ops = [op.instr for op in compiled.train.ops if op.layer == layer and op.instr.opcode == Opcode.COMPUTE]
    return [(instr["mode"], instr) for instr in ops]


@pytest.mark.parametrize("seed", range(40))
def test_random_networks(seed):
    rng = np.random.default_rng(seed)
    config = SMALL["sim"] if seed % 4 == 3 else random_engine(rng)
    while True:
        network = with_stride(rng, fitting_network(rng, config, most_images=9, largest=8))
        try:
            compile_network(network, config)
        except CompileError:
            continue
        break
    network = own_training(rng, network) if seed % 2 else network
    print(config, network)
    train_on_machine(network, config, seed, iterations=3)


@pytest.mark.parametrize("seed", range(12))
def test_networks_larger_than_the_buffers(seed):
    """Strips, tiles of output maps, reductions in parts, rows of weights in pieces."""
    rng = np.random.default_rng(seed)
    config = replace(TINY, mem_bytes=64 if seed % 2 else 8)
    network = with_stride(rng, large_network(rng, config.data_width, 60), largest=24)
    network = own_training(rng, network) if seed % 3 == 2 else network
    print(config, network)
    train_on_machine(network, config, seed)


@pytest.mark.parametrize("trained", ["abc", "a", "bc", "c"])
@pytest.mark.parametrize("images", [1, 7, 40])
def test_frozen_layers(trained, images):
    """The first layer alone is trained, or it is not."""
    layers = (Conv(6, 5, 2, stride=(3, 2), name="a"), *REST)
    layers = [replace(layer, trainable=layer.name in trained) for layer in layers]
    network, config = Network("t", (2, 14, 13), layers, minibatch=images), EngineConfig(grid=4, cols=8)
    compiled = compile_network(network, config)
    unfolded = compiled.setting.forward[0] is not compiled.network.parameters[0]
    assert (compiled.memory.act[0] is compiled.memory.images) == (unfolded or "a" not in trained)
    assert unfolded == (images < 40)
    assert BP not in dict(computes(compiled, "a"))
    train_on_machine(network, config, images, iterations=3)


@pytest.mark.parametrize("bias", [False, True])
def test_the_only_layer(bias):
    layer = Conv(7, (4, 5), (1, 2), bias, relu=False, stride=(11, 9))
    network = Network("t", (3, 6, 8), (layer,), minibatch=21, optimiser="momentum")
    assert network.parameters[0].conv_shape == (7, 1, 1)
    for cols in (8, 64):
        train_on_machine(network, EngineConfig(cols=cols), 3, iterations=3)


def test_groups_of_lanes_share_the_taps():
    """4 taps of 4 maps are a multiple of LANES."""
    network = Network("t", (4, 3, 6), (Conv(9, 2, stride=(2, 3)), Dense(3)), minibatch=2)
    config = EngineConfig(grid=4, cols=4)
    assert all(instr["split"] for mode, instr in computes(compile_network(network, config), "conv0") if mode == FP)
    train_on_machine(network, config, 4)


def test_the_host_unfolds_as_the_definition_says(rng):
    for _ in range(60):
        network = with_stride(rng, Network("t", (1, *(int(n) for n in rng.integers(1, 6, 2))), (Dense(2),)))
        p, (maps, rows, columns) = network.parameters[0], network.shape
        x = rng.integers(-99, 99, (2, *network.shape))
        got = unfold_images(x, p, p.weight_shape[2])
        (_, _, ky_n, kx_n), (_, high, wide) = p.weight_shape, p.conv_shape
        assert got.shape == (2, ky_n * kx_n * maps, high, wide)
        for (n, k, oy, ox), value in np.ndenumerate(got):
            (tap, c), y = divmod(k, maps), oy * p.stride[0] - p.pad[0]
            y, i = y + tap // kx_n, ox * p.stride[1] - p.pad[1] + tap % kx_n
            assert value == (x[n, c, y, i] if 0 <= y < rows and 0 <= i < columns else 0), (k, oy, ox)


@pytest.mark.parametrize("engine", ["64x16", "64x32", "64x64"])
def test_steps_are_taps_times_maps(engine):
    """The first convolution of AlexNet: no step for pixels that the stride leaves out."""
    network, config = LAYERS["conv-96-227-s4"](), PRESETS[engine]
    compiled = compile_network(network, config)
    instructions = [instr for mode, instr in computes(compiled, "conv0") if mode == FP]
    steps = sum(compute_cycles(instr, config.cols)[1] for instr in instructions)
    groups, vectors = -(-96 // config.cols), 7 * 7 * network.minibatch
    assert steps == (11 * 11 * 3 + 1) * groups * vectors, "with a step for the bias"
    line = "conv0: stride 4x4, unfolded to 363 maps of 55x55 for FP and WU: 35574 beats of a minibatch, 5046 as the"
    assert line in compiled.listing


def test_weights_lie_as_without_a_stride(rng):
    """In rows by output group, ky, kx, input map; checkpoints and files of weights do not know the stride."""
    config = EngineConfig(grid=4, cols=4)
    plain, strided = (
        compile_network(Network("t", (3, 9, 9), (Conv(6, 4, stride=stride), Dense(2)), minibatch=2), config)
        for stride in (1, 2)
    )
    one, other = (compiled.memory.weight[0].layout for compiled in (plain, strided))
    weights, bias = rng.integers(-99, 99, (6, 3, 4, 4)), rng.integers(-99, 99, 6)
    assert (one.pack(weights, bias) == other.pack(weights, bias)).all()
    assert (other.unpack(one.pack(weights, bias))[0] == weights).all()
    assert "stride" in strided.listing and "stride" not in plain.listing
