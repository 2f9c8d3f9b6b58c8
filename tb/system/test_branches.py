# SPDX-License-Identifier: Apache-2.0
"""Networks with branches and additions on the compiled RTL: some iterations of random ones, weights equal to the
reference trainer in every bit."""

import numpy as np
import pytest

from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import train
from tb.model.compiler.test_branches import random_network
from tb.support.cases import long
from tb.support.engines import BYTES, SMALL

CASES = [(SMALL, range(301, 303)), long(SMALL, range(303, 312)), (BYTES, range(401, 403)), long(BYTES, range(403, 411))]


@pytest.mark.parametrize("config, seeds", CASES)
def test_rtl_trains_as_the_reference(config, seeds):
    library = build_engine(config)[0]
    for seed in seeds:
        rng = np.random.default_rng(seed)
        network = random_network(rng, config)
        print(f"seed {seed}: {network}")
        memory = Memory(size=1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
        with SimBackend(library, memory) as backend:
            train(backend, network, config, seed, iterations=2)
