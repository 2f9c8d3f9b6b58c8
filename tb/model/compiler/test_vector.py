# SPDX-License-Identifier: Apache-2.0
"""Layers that VECTOR computes on the instruction-level model: training iterations of random networks, in every bit as
the reference trainer."""

import os

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.compiler.limits import CompileError
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.ops.activation import Sigmoid, Tanh
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.loss import SOFTMAX
from gradcore.ops.max_pooling import MaxPool
from tb.model.compiler.networks import train_on_machine

COUNT = int(os.environ.get("NETWORKS", "8"))
FIRST = int(os.environ.get("SEED", "1"))
ENGINES = {
    "default": EngineConfig(),
    "small": EngineConfig(grid=4, cols=4, mem_bytes=64, act_depth=1024, wgt_depth=256, grad_depth=256, gate_depth=512),
    "narrow": EngineConfig(grid=4, cols=8, data_width=8, mem_bytes=64, act_depth=1024),
    "tiny": EngineConfig(grid=4, cols=4, mem_bytes=8, act_depth=256, wgt_depth=64, grad_depth=64, gate_depth=256),
}


def random_stage(rng, shape: tuple, tables: bool):
    """A table activation or a pooling that fits maps of `shape`."""
    kind = rng.random()
    if tables and kind < 0.4:
        return Sigmoid() if kind < 0.2 else Tanh()
    window = tuple(int(rng.integers(1, min(5, size) + 1)) for size in shape)
    stride = tuple(int(rng.integers(1, size + 2)) for size in window)
    pad = tuple(int(rng.integers(0, size // 2 + 1)) for size in window)
    if kind < 0.7 or not tables:
        return MaxPool(window=window, stride=stride, pad=pad, ceil_mode=bool(rng.random() < 0.4))
    return AveragePool(window=window, stride=stride, pad=pad)


def random_network(rng, config: EngineConfig) -> Network:
    """Convolutions and fully connected layers with up to two stages behind each but the last. Stochastic rounding only
    where all stages are maximum poolings."""
    while True:
        stochastic = rng.random() < 0.2
        shape = int(rng.integers(1, 6)), int(rng.integers(2, 13)), int(rng.integers(2, 13))
        layers, pixels, stages = [], shape[1:], 0
        for _ in range(int(rng.integers(1, 4))):
            kernel = tuple(int(rng.integers(1, min(3, size) + 1)) for size in pixels)
            pad = tuple(int(rng.integers(0, k)) for k in kernel)
            pixels = tuple(n + 2 * p - k + 1 for n, p, k in zip(pixels, pad, kernel))
            pool = 2 if min(pixels) > 1 and rng.random() < 0.2 else None
            layers.append(Conv(int(rng.integers(1, 14)), kernel, pad, relu=bool(rng.random() < 0.5), pool=pool))
            pixels = tuple(n // 2 for n in pixels) if pool else pixels
            for _ in range(int(rng.choice([0, 1, 1, 2]))):
                layers.append(random_stage(rng, pixels, not stochastic))
                (_, *pixels) = layers[-1].operators([(1, *pixels)])[0][1].shape([(1, *pixels)])
                stages += 1
        if rng.random() < 0.3:
            layers.append(Dense(int(rng.integers(1, 12)), relu=bool(rng.random() < 0.5)))
            if not stochastic:
                layers.append(Tanh())
                stages += 1
        layers.append(Dense(int(rng.integers(2, 8))))
        images = int(rng.choice([1, 3, 17, 70]))
        plain = ["truncate", "half_up", "half_even"]
        modes = {kind: "stochastic" if stochastic else str(rng.choice(plain)) for kind in ("act", "delta")}
        modes["param"] = "stochastic"
        loss = str(rng.choice(["euclidean", "square_hinge", SOFTMAX]))
        more = (loss, "momentum", 0.5, 0.9, images, config.data_width, modes)
        try:
            network = Network("stages", shape, tuple(layers), *more)
            if stages and np.prod(shape) * images < 6000:
                compile_network(network, config)
                return network
        except (NetworkError, CompileError):
            continue


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
@pytest.mark.parametrize("engine", ENGINES)
def test_random_networks_train_bit_exactly(engine, seed):
    network = random_network(np.random.default_rng(seed), ENGINES[engine])
    print(f"seed {seed}: {network}")
    train_on_machine(network, ENGINES[engine], seed)
