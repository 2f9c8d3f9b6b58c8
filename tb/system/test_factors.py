# SPDX-License-Identifier: Apache-2.0
"""Dropout and leaky ReLU on the compiled RTL: random networks in which every layer but the last has one, some
iterations, weights equal to the reference trainer in every bit."""

import numpy as np
import pytest

from gradcore.network.description import Network
from gradcore.numerics.fixed_point import MODES
from gradcore.ops.activation import LeakyReluLayer
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import train
from tb.support.cases import first
from tb.system.test_training_steps import ENGINES


@pytest.mark.parametrize("seed", first(2, range(1, 5)))
def test_rtl_trains_as_the_reference(seed):
    config, rng = ENGINES["4x4x8"], np.random.default_rng(seed)

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
    print(f"seed {seed}: {network}")
    memory = Memory(size=1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
    with SimBackend(build_engine(config)[0], memory) as backend:
        train(backend, network, config, seed, iterations=3)
