# SPDX-License-Identifier: Apache-2.0
"""Random networks with a strided first convolution, or with convolutions in groups, that the engine can compute."""

from contextlib import suppress
from dataclasses import replace

from gradcore.compiler.compile import compile_network
from gradcore.compiler.limits import CompileError
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.numerics.fixed_point import MODES
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense
from tb.model.compiler.networks import own_training


def with_stride(rng, network: Network, largest: int = 40) -> Network:
    """The same network behind a first convolution of any kernel, stride and padding that makes its input: of at most
    `largest` rows and columns."""
    while True:
        pool = 2 if rng.random() < 0.4 else None
        kernel, stride = ([int(n) for n in rng.integers(1, 12, 2)] for _ in range(2))
        if rng.random() < 0.5:
            stride = [min(n, 3) for n in stride]
        pad = [int(rng.integers(0, k)) for k in kernel]
        sums = [n * 2 + int(rng.integers(0, 2)) if pool else n for n in network.shape[1:]]
        # What a stride leaves over at the end of the map is not read.
        size = [(n - 1) * s + k - 2 * p + int(rng.integers(0, s)) for n, s, k, p in zip(sums, stride, kernel, pad)]
        if min(size) < 1 or max(size) > largest:
            continue
        relu, bias = (bool(rng.random() < 0.7) for _ in range(2))
        first = Conv(network.shape[0], tuple(kernel), tuple(pad), bias, relu, pool, stride=tuple(stride))
        shape = (int(rng.integers(1, 6)), *size)
        with suppress(NetworkError):
            return replace(network, shape=shape, layers=(first, *network.layers))
        network = replace(network, layers=network.layers[-1:])  # formats and sums that do not fit


def grouped_network(rng, config: EngineConfig, largest: int = 8) -> Network:
    """A network with one or two convolutions in groups of whole column groups, that the engine can compute; every third
    time with frozen layers and learning rates of its own."""
    cols, modes = config.cols, list(MODES)
    while True:
        groups, size = int(rng.integers(2, 4)), [int(n) for n in rng.integers(2, largest + 1, 2)]
        inputs, *outputs = (groups * cols * int(rng.integers(1, 3)) for _ in range(3))
        layers = [_grouped(rng, inputs, 1), *(_grouped(rng, maps, groups) for maps in outputs)]
        layers = (*layers[: int(rng.integers(2, 4))], Dense(int(rng.integers(2, 12))))
        maps = int(rng.integers(1, 5))
        if rng.random() < 0.2:  # a group first
            maps, layers = inputs, layers[1:]
        more = dict(rounding=str(rng.choice(modes)), optimiser=str(rng.choice(["sgd", "momentum"])))
        more |= dict(minibatch=int(rng.integers(1, 10)), data_width=config.data_width)
        with suppress(CompileError, NetworkError):
            network = Network("groups", (maps, *size), layers, **more)
            network = own_training(rng, network) if rng.random() < 0.3 else network
            compile_network(network, config)
            return network


def _grouped(rng, maps: int, groups: int) -> Conv:
    kernel = tuple(int(n) for n in rng.integers(1, 4, 2))
    pad, flags = tuple(int(rng.integers(0, k)) for k in kernel), (bool(rng.random() < 0.7) for _ in range(2))
    return Conv(maps, kernel, pad, *flags, pool=2 if rng.random() < 0.4 else None, groups=groups)
