# SPDX-License-Identifier: Apache-2.0
"""Convolutions with a stride behind other layers on the compiled RTL, in every bit as the reference trainer."""

import numpy as np
import pytest

from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import train
from tb.model.compiler.test_later_strides import random_network
from tb.support.cases import seeds
from tb.support.engines import SMALL, TINY

ENGINES = {"small": SMALL, "tiny": TINY}


@pytest.mark.parametrize("seed", seeds(4, 2))
@pytest.mark.parametrize("engine", ENGINES)
def test_rtl_trains_as_the_reference(engine, seed):
    rng = np.random.default_rng(seed)
    config, network = ENGINES[engine], random_network(rng, ENGINES[engine], most=5, largest=8)
    print(f"seed {seed}: {network}")
    memory = Memory(1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
    with SimBackend(build_engine(config)[0], memory) as backend:
        train(backend, network, config, seed, iterations=2)
