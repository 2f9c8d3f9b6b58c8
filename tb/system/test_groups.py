# SPDX-License-Identifier: Apache-2.0
"""Grouped convolutions on the compiled RTL, in every bit as the reference trainer.

`NETWORKS=50` trains 50 networks on each engine.
"""

import numpy as np
import pytest

from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.convolutions import grouped_network
from tb.model.compiler.networks import train
from tb.support.cases import seeds
from tb.system.test_own_training import ENGINES


@pytest.mark.parametrize("seed", seeds(3, 2))
@pytest.mark.parametrize("engine", ENGINES)
def test_rtl_trains_as_the_reference(engine, seed):
    config, rng = ENGINES[engine], np.random.default_rng(seed)
    network = grouped_network(rng, config, largest=6)
    print(f"seed {seed}: {network}")
    memory = Memory(1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
    with SimBackend(build_engine(config)[0], memory) as backend:
        train(backend, network, config, seed)
