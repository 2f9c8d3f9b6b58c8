# SPDX-License-Identifier: Apache-2.0
"""Dropout and leaky ReLU on the compiled RTL: random networks in which every layer but the last has one, and dropout as
a stage; some iterations, weights equal to the reference trainer in every bit, then inference."""

import numpy as np
import pytest

from gradcore.network.description import Network
from gradcore.numerics.fixed_point import MODES
from gradcore.ops.activation import LeakyReluLayer, ReluLayer, Tanh
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.loss import SOFTMAX
from gradcore.ops.max_pooling import MaxPool
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import train
from tb.support.cases import first
from tb.system.test_training_steps import ENGINES


@pytest.mark.parametrize("seed", first(2, range(1, 5)))
def test_rtl_trains_as_the_reference(seed):
    rng = np.random.default_rng(seed)

    def factor() -> Dropout:
        return Dropout(p=float(rng.uniform(0, 0.9)))

    network = Network(
        "factors",
        (int(rng.integers(1, 3)), 5, 5),
        (
            *(Conv(int(rng.integers(1, 10)), 3, 1, relu=bool(rng.random() < 0.5), pool=2), factor()),
            *(Conv(int(rng.integers(1, 10)), 2, 1, relu=False), LeakyReluLayer(slope=float(rng.uniform(0, 1)))),
            *(Dense(int(rng.integers(2, 20)), relu=bool(rng.random() < 0.5)), factor()),
            Dense(4),
        ),
        minibatch=int(rng.integers(1, 4)),
        rounding=[*MODES][seed % 4],
    )
    trains(network, seed, rng)


# Of torchvision's AlexNet the end; LeNet with tanh; both places of a dropout beside a ReLU; before the loss.
STAGES = [
    (
        Conv(9, 3, 1, relu=True),
        MaxPool(window=(3, 3), stride=(2, 2)),
        Dropout(p=0.5),
        *(Dense(12, relu=True), Dropout(p=0.5)),
        *(Dense(10, relu=True), Dense(4)),
    ),
    (Conv(6, 3, 1, relu=False), Tanh(), AveragePool(), Dense(8), Tanh(), Dropout(p=0.3), Dense(4)),
    (
        Conv(6, 3, relu=False),
        Dropout(p=0.9),
        ReluLayer(),
        Dropout(p=0.1, formats=dict(act=8, delta=14)),
        MaxPool(),
        Dense(4),
    ),
    (Conv(6, 3, relu=True), Dense(4), Dropout(p=0.2)),
]


@pytest.mark.parametrize("seed", first(4, range(8)))
def test_dropout_as_a_stage(seed):
    """With two random numbers per word in every second one."""
    rng, layers = np.random.default_rng(seed), STAGES[seed % 4]
    modes = dict.fromkeys(("act", "delta", "param"), "half_even" if seed // 4 % 2 == seed % 2 else "stochastic")
    loss = SOFTMAX if isinstance(layers[-1], Dropout) else "euclidean"
    network = Network("stages", (2, 7, 6), layers, loss, minibatch=int(rng.choice([3, 20])), rounding=modes)
    trains(network, seed, rng)


def trains(network: Network, seed: int, rng):
    print(f"seed {seed}: {network}")
    config = ENGINES["4x4x8"]
    memory = Memory(size=1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
    with SimBackend(build_engine(config)[0], memory) as backend:
        train(backend, network, config, seed, iterations=3)
