# SPDX-License-Identifier: Apache-2.0
"""Softmax with cross-entropy on the compiled RTL: training iterations of small random networks, of 1 to more than 64
classes and minibatches that fill their groups of images or not, in every bit as the reference trainer; LOSS, too.

`NETWORKS` sets how many networks each engine trains, `SEED` the first seed.
"""

import os
from dataclasses import replace

import numpy as np
import pytest

from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.ops.convolution import Dense
from gradcore.ops.loss import SOFTMAX
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import softmax_network, train
from tb.support.sim import ENGINES as FRONTS

ENGINES = {
    "small": FRONTS["sim"],
    "4x4x4-8bit": EngineConfig(
        grid=4, cols=4, data_width=8, mem_bytes=64, act_depth=1024, wgt_depth=2048, grad_depth=2048, gate_depth=4096
    ),
}
COUNT = int(os.environ.get("NETWORKS", "3"))
FIRST = int(os.environ.get("SEED", "1"))


@pytest.mark.parametrize("engine", ENGINES)
def test_rtl_trains_as_the_reference(engine):
    config = ENGINES[engine]
    for seed in range(FIRST, FIRST + COUNT):
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
