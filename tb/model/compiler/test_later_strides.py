# SPDX-License-Identifier: Apache-2.0
"""Convolutions with a stride behind other layers on the instruction-level model: training iterations of random
networks, in every bit as the reference trainer."""

import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.compiler.limits import CompileError
from gradcore.compiler.operation import compute_cycles
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import BP, FP, MAXIMUM, SUM, WU, Opcode
from gradcore.network.description import Network
from gradcore.network.layer_table import ideal_macs
from gradcore.numerics.fixed_point import MODES
from gradcore.ops.activation import LeakyReluLayer, ReluLayer
from gradcore.ops.addition import Add
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.loss import SOFTMAX
from gradcore.ops.max_pooling import MaxPool
from tb.model.compiler.networks import own_optimiser, own_training, random_factor, train_on_machine
from tb.model.compiler.test_vector import ENGINES, random_stage
from tb.support.cases import long, seeds
from tb.support.engines import TINY


def strided(rng, pixels: tuple, maps: int, most: int) -> tuple:
    """(a convolution with a stride of maps of `pixels`, pixels of its output): kernel and stride up to `most`."""
    while True:
        kernel, stride = ([int(n) for n in rng.integers(1, most + 1, 2)] for _ in range(2))
        pad = [int(rng.integers(0, k)) for k in kernel]
        size = tuple((n + 2 * p - k) // s + 1 for n, p, k, s in zip(pixels, pad, kernel, stride))
        if min(size) > 0 and stride != [1, 1]:
            return Conv(maps, tuple(kernel), tuple(pad), *map(bool, rng.random(2) < 0.7), stride=tuple(stride)), size


def random_layers(rng, pixels: tuple, config: EngineConfig, stages: bool, most: int) -> list:
    """Up to five layers, at least one of them with a stride behind another one; the maps between them mostly such that
    their vectors are whole beats."""
    layers, done, unit = [], 0, max(1, config.mem_bytes // config.vector_bytes)
    while not done or (len(layers) < 6 and rng.random() < 0.4):
        maps = int(rng.integers(1, 12))
        maps = -(-maps // unit) * unit if rng.random() < 0.9 else maps
        if layers and (done == 0 or rng.random() < 0.5):
            layer, pixels = strided(rng, pixels, maps, most if rng.random() < 0.3 else 3)
            done += 1
        else:
            kernel = int(rng.choice([1, 3]))
            layer = Conv(maps, kernel, kernel // 2, *map(bool, rng.random(2) < 0.7))
        if min(pixels) > 1 and rng.random() < 0.25:
            layer, pixels = replace(layer, pool=2), tuple(n // 2 for n in pixels)
        layers.append(layer)
        if rng.random() < 0.3 and not (layer.stride != (1, 1) and layer.pool):
            layers += random_factor(rng, config.data_width, layer)
        elif stages and rng.random() < 0.25:
            layers.append(random_stage(rng, pixels))
            (_, *pixels) = layers[-1].operators([(1, *pixels)])[0][1].shape([(1, *pixels)])
    return layers


def random_network(rng, config: EngineConfig, most: int = 11, largest: int = 14) -> Network:
    """A network of `random_layers` that the engine has room for; a fully connected layer ends it, or one of its own."""
    while True:
        shape = int(rng.integers(1, 5)), *(int(n) for n in rng.integers(2, largest + 1, 2))
        layers = random_layers(rng, shape[1:], config, bool(rng.random() < 0.4), most)
        layers.append(Dense(int(rng.integers(2, 8)), bool(rng.random() < 0.5)))
        modes = {kind: str(rng.choice(list(MODES))) for kind in ("act", "delta", "param")}
        loss, images = str(rng.choice(["euclidean", "square_hinge", SOFTMAX])), int(rng.choice([1, 3, 7, 17, 70]))
        more = loss, "momentum", 0.5, 0.9, images, config.data_width, modes
        with suppress(NetworkError, CompileError):
            network = Network("strides", shape, tuple(layers), *more)
            if ideal_macs(network) * images > 1000 * config.lanes * config.cols:
                continue
            network = own_training(rng, network) if rng.random() < 0.4 else network
            network = own_optimiser(rng, network) if rng.random() < 0.2 else network
            compile_network(network, config)
            return network


@pytest.mark.parametrize("seed", seeds(12, 3))
@pytest.mark.parametrize("engine", ENGINES)
def test_random_networks_train_bit_exactly(engine, seed):
    network = random_network(np.random.default_rng(seed), ENGINES[engine])
    print(f"seed {seed}: {network}")
    train_on_machine(network, ENGINES[engine], seed)


def network_of(*layers, images: int = 20, **more) -> Network:
    more = dict(rounding="half_even", minibatch=images, learning_rate=0.5) | more
    return Network("strides", (2, 9, 10), layers, **more)


FIRST, LAST = Conv(4, 3, 1, name="a"), Dense(3, name="z")
STRIDED = Conv(4, 3, 1, stride=2, name="s")


@pytest.mark.parametrize("rounding", ["stochastic", long("half_even")])
@pytest.mark.parametrize(
    "layers",
    [
        (FIRST, STRIDED, Conv(5, (2, 3), (0, 1), stride=(3, 2), name="t"), LAST),
        (replace(FIRST, pool=2), STRIDED, LAST),
        (FIRST, replace(STRIDED, pool=2), LAST),
        (FIRST, MaxPool(window=3, stride=1), STRIDED, MaxPool(window=(2, 3), stride=1), LAST),
        (FIRST, Conv(3, 11, 10, stride=11, name="s"), LAST),
        (FIRST, Conv(3, 1, stride=(11, 1), name="s"), LAST),
        (FIRST, Conv(3, (9, 10), stride=2, relu=False, name="z")),
        (Conv(4, 3, stride=2, name="a"), STRIDED, LAST),
        (replace(FIRST, relu=False), LeakyReluLayer(), STRIDED, Dropout(), LAST),
        # A residual block that halves its map.
        (
            FIRST,
            STRIDED,
            Conv(4, 3, 1, relu=False, name="b"),
            Conv(4, 1, stride=2, relu=False, name="c", inputs=("a",)),
            Add(inputs=("b", "c")),
            ReluLayer(),
            LAST,
        ),
    ],
)
def test_what_stands_beside_it(layers, rounding):
    for images, config in ((3, EngineConfig()), (20, EngineConfig(grid=4, cols=4, mem_bytes=16))):
        train_on_machine(network_of(*layers, images=images, rounding=rounding), config, 1)


@pytest.mark.parametrize("trained", ["asz", "az", "sz", "z", "a", "s", "as"])
def test_frozen_layers(trained):
    layers = [replace(layer, trainable=layer.name in trained) for layer in (FIRST, STRIDED, LAST)]
    for images in (3, 20):
        train_on_machine(network_of(*layers, images=images), EngineConfig(grid=4, cols=8), 1, iterations=3)


@pytest.mark.parametrize("seed", seeds(6, 2))
def test_networks_larger_than_the_buffers(seed):
    """Strips, tiles of maps, reductions in parts, rows of weights in pieces; both in one engine."""
    rng, config = np.random.default_rng(seed), replace(TINY, act_depth=256, mem_bytes=64 if seed % 2 else 8)
    maps = 4 * int(rng.integers(1, 4))
    while True:
        first, (layer, _) = Conv(maps, 1), strided(rng, (12, 13), int(rng.integers(1, 20)), 5)
        with suppress(CompileError, NetworkError):
            layers = first, layer, LAST
            network = Network("large", (3, 12, 13), layers, minibatch=int(rng.integers(1, 20)), rounding="stochastic")
            compile_network(network, config)
            break
    print(network)
    train_on_machine(network, config, seed)


def test_steps_and_price():
    """FP and WU take no zero: 9 taps of 4 maps. Of one image BP takes the map without the stride, with more pixels at
    once. As many VECTORs as rows of the result, with those of a column beside the map."""
    network, config = network_of(FIRST, STRIDED, LAST, images=1), EngineConfig(grid=4, cols=4, mem_bytes=16)
    compiled = compile_network(network, config)
    ops = [op.instr for op in compiled.train.ops if op.layer == "s"]
    steps = dict.fromkeys((FP, BP, WU), 0)
    for instr in (instr for instr in ops if instr.opcode == Opcode.COMPUTE):
        assert instr["mode"] == BP or (instr["n_ky"] == instr["n_kx"] == 1)
        steps[instr["mode"]] += compute_cycles(instr, config.cols)[1]
    across = -(-5 // 2 ** compiled.memory.folds[1].fp)
    assert steps[FP] == (9 * 4 + 1) * across**2
    assert steps[BP] <= 9 * 4 * 3 * 3
    vectors = [instr["operation"] for instr in ops if instr.opcode == Opcode.VECTOR]
    assert vectors == [MAXIMUM] * 5 * 2 + [SUM]
    line = (
        "s: stride 2x2, unfolded to 36 maps of 5x5 for FP and WU: 1800 beats of a minibatch, 720 as its input is; BP "
    )
    assert f"{line}takes a local gradient of 9x10 with zeros between 5x5\n" in compiled.listing


@pytest.mark.parametrize("seed", range(8))
def test_steps_of_the_phases(seed):
    """With as many images as lanes nothing is unfolded and BP takes no zero: a step per output map for each tap of a
    pixel that reaches the local gradient, and one tap or step for a pixel that none reaches."""
    rng, config = np.random.default_rng(seed), EngineConfig(grid=4, cols=4, mem_bytes=16)
    layer, size = strided(rng, (9, 10), int(rng.integers(1, 9)), 11)
    layer = replace(layer, name="s")
    compiled = compile_network(network_of(FIRST, layer, LAST, images=16), config)
    ops = [op.instr for op in compiled.train.ops if op.layer == "s"]
    backward = [instr for instr in ops if instr.opcode == Opcode.COMPUTE and instr["mode"] == BP]
    reached = [
        [sum((y + p - k) % s == 0 and 0 <= (y + p - k) // s < n for k in range(taps)) for y in range(pixels)]
        for pixels, taps, p, s, n in zip((9, 10), layer.kernel, layer.pad, layer.stride, size)
    ]
    most = sum(max(a, 1) * max(b, 1) for a in reached[0] for b in reached[1]) * layer.maps
    assert sum(reached[0]) * sum(reached[1]) * layer.maps <= sum(compute_cycles(i, 4)[1] for i in backward) <= most
    assert not any(instr.opcode == Opcode.VECTOR for instr in ops)
    forward = [instr for instr in ops if instr.opcode == Opcode.COMPUTE and instr["mode"] == FP]
    pixels, taps = np.prod(size), np.prod(layer.kernel)
    assert sum(compute_cycles(i, 4)[1] for i in forward) <= pixels * (taps * 4 + layer.bias) * -(-layer.maps // 4)
    line = f"s: stride {layer.stride[0]}x{layer.stride[1]}, nothing is unfolded; "
    assert f"{line}BP takes the pixels of its input in phases\n" in compiled.listing


@pytest.mark.parametrize("images", [1, 5, 20])
@pytest.mark.parametrize(
    "layers",
    [
        (replace(FIRST, maps=3), STRIDED, LAST),
        (replace(FIRST, maps=8), replace(STRIDED, maps=16, groups=2), LAST),
        (replace(FIRST, maps=8), Conv(8, (3, 2), (0, 1), stride=(3, 1), groups=2, pool=2, name="s"), LAST),
    ],
)
def test_what_cannot_be_unfolded(layers, images):
    """Maps that are no whole beats, groups: with any number of images in fold 0."""
    config = EngineConfig(grid=4, cols=4, mem_bytes=64)
    train_on_machine(network_of(*layers, images=images, rounding="stochastic"), config, 1)
    listing = compile_network(network_of(*layers, images=images), config).listing
    line = re.search(
        r"^s: stride \dx\d, nothing is unfolded; BP takes (the pixels of its input in phases|.*)$", listing, re.M
    )
    assert line and ("zeros between" in line[1]) == (images == 1)


def test_refuses_by_name():
    """A pooling in fold 0."""
    first = Conv(8, 3, 1, stride=2, groups=2, pool=2, name="s")
    layers, config = (first, LAST), EngineConfig(grid=4, cols=4, mem_bytes=64)
    what = "layer 's': the engine cannot compute a convolution of stride 2x2 of 4 maps in 2 groups, with a pooling yet"
    with pytest.raises(CompileError, match=what):
        compile_network(Network("strides", (8, 9, 10), layers), config)


@pytest.mark.parametrize("rounding", ["half_even", "stochastic"])
def test_dropout_behind_a_pooling_of_tensors(rounding):
    config = EngineConfig(grid=4, cols=4, mem_bytes=64)
    network = network_of(FIRST, replace(STRIDED, pool=2), Dropout(name="d"), LAST, rounding=rounding)
    assert [stage.name for stage in network.parameters[1].stages][-1] == "d"
    train_on_machine(network, config, 1)
