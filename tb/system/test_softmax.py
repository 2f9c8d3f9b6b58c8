# SPDX-License-Identifier: Apache-2.0
"""Softmax with cross-entropy on the compiled RTL: training iterations of small random networks, of 1 to more than 64
classes and minibatches that fill their groups of images or not, in every bit as the reference trainer; LOSS, too.

`NETWORKS` sets how many networks each engine trains, `SEED` the first seed.
"""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.network.description import Network
from gradcore.ops.convolution import Dense
from gradcore.ops.loss import SOFTMAX
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import softmax_network, train
from tb.support.cases import seeds
from tb.support.engines import BYTES, SMALL

ENGINES = {"small": SMALL, "bytes": BYTES}


@pytest.mark.parametrize("seed", seeds(3, 2))
@pytest.mark.parametrize("engine", ENGINES)
def test_rtl_trains_as_the_reference(engine, seed):
    config = ENGINES[engine]
    rng = np.random.default_rng(seed)
    network = softmax_network(rng, config, 20)
    print(f"seed {seed}: {network}")
    memory = Memory(1 << 24, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
    with SimBackend(build_engine(config)[0], memory) as backend:
        train(backend, network, config, seed)


@pytest.mark.parametrize("classes, images", [(1, 3), (10, 40), (70, 17)])
def test_classes_and_groups_of_images(classes, images):
    config = ENGINES["small"]
    network = Network("t", (5, 1, 1), (Dense(classes),), SOFTMAX, "momentum", 0.5, 0.9, images)
    with SimBackend(build_engine(config)[0], Memory(1 << 24)) as backend:
        train(backend, replace(network, name=f"{classes}x{images}"), config, 1)
