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
from gradcore.isa.config import PRESETS, EngineConfig
from gradcore.isa.instruction import BP, FP, MAXIMUM, SUM, WU, Opcode
from gradcore.network.description import Network
from gradcore.numerics.fixed_point import MODES
from gradcore.ops.activation import LeakyReluLayer, ReluLayer
from gradcore.ops.addition import Add
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.loss import SOFTMAX
from tb.model.compiler.networks import own_optimiser, own_training, random_factor, train_on_machine
from tb.model.compiler.test_vector import ENGINES, random_stage
from tb.support.cases import seeds
from tb.support.engines import TINY


def strided(rng, pixels: tuple, maps: int, most: int) -> tuple:
    """(a convolution with a stride of maps of `pixels`, pixels of its output): kernel and stride up to `most`."""
    while True:
        kernel, stride = ([int(n) for n in rng.integers(1, most + 1, 2)] for _ in range(2))
        pad = [int(rng.integers(0, k)) for k in kernel]
        size = tuple((n + 2 * p - k) // s + 1 for n, p, k, s in zip(pixels, pad, kernel, stride))
        if min(size) > 0 and stride != [1, 1]:
            return Conv(maps, tuple(kernel), tuple(pad), *map(bool, rng.random(2) < 0.7), stride=tuple(stride)), size


def random_layers(rng, pixels: tuple, data_width: int, stages: bool, most: int) -> list:
    """Up to five layers, at least one of them with a stride behind another one."""
    layers, done = [], 0
    while not done or (len(layers) < 6 and rng.random() < 0.4):
        maps = int(rng.integers(1, 12))
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
            layers += random_factor(rng, data_width, layer)
        elif stages and rng.random() < 0.25:
            layers.append(random_stage(rng, pixels))
            (_, *pixels) = layers[-1].operators([(1, *pixels)])[0][1].shape([(1, *pixels)])
    return layers


def random_network(rng, config: EngineConfig, most: int = 11, largest: int = 14) -> Network:
    """A network of `random_layers` that the engine has room for; a fully connected layer ends it, or one of its own."""
    while True:
        shape = int(rng.integers(1, 5)), *(int(n) for n in rng.integers(2, largest + 1, 2))
        layers = random_layers(rng, shape[1:], config.data_width, bool(rng.random() < 0.4), most)
        layers.append(Dense(int(rng.integers(2, 8)), bool(rng.random() < 0.5)))
        modes = {kind: str(rng.choice(list(MODES))) for kind in ("act", "delta", "param")}
        loss, images = str(rng.choice(["euclidean", "square_hinge", SOFTMAX])), int(rng.choice([1, 3, 7, 17, 70]))
        if np.prod(shape) * images > 5000:
            continue
        with suppress(NetworkError, CompileError):
            network = Network("strides", shape, tuple(layers), loss, "momentum", 0.5, 0.9, images, config.data_width, modes)
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
