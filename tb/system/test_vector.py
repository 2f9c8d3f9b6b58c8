# SPDX-License-Identifier: Apache-2.0
"""Networks with poolings by windows and with tables on the compiled RTL: some iterations of random ones, weights equal
to the reference trainer in every bit."""

import numpy as np
import pytest

from gradcore.compiler import moves
from gradcore.compiler.moves import MOST_CYCLES
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import train
from tb.model.compiler.test_vector import random_network
from tb.support.engines import BYTES, SMALL


@pytest.mark.parametrize("config, seeds", [(SMALL, range(101, 109)), (BYTES, range(201, 206))], ids=["small", "bytes"])
def test_rtl_trains_as_the_reference(config, seeds, monkeypatch):
    """Every second one in bands of one row."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        monkeypatch.setattr(moves, "MOST_CYCLES", 1 if seed % 2 else MOST_CYCLES)
        trains(random_network(rng, config), config, seed, rng)


def test_stages_before_softmax():
    for seed in range(301, 305):
        rng = np.random.default_rng(seed)
        while not (network := random_network(rng, SMALL)).parameters[-1].stages:
            pass
        trains(network, SMALL, seed, rng)


def trains(network, config, seed: int, rng):
    print(f"seed {seed}: {network}")
    memory = Memory(size=1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
    with SimBackend(build_engine(config)[0], memory) as backend:
        train(backend, network, config, seed, iterations=2)
