# SPDX-License-Identifier: Apache-2.0
"""Random networks of all operators at once on the compiled RTL: some iterations, weights equal to the reference trainer
in every bit. `NETWORKS=200` trains 200 of them on each of three engines."""

import numpy as np
import pytest

from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.mixed import mixed_network
from tb.model.compiler.networks import train
from tb.support.cases import seeds
from tb.support.engines import BYTES, SMALL, WIDE


@pytest.mark.parametrize("seed", seeds(10, 3))
@pytest.mark.parametrize("config", [SMALL, BYTES, WIDE], ids=["small", "bytes", "wide"])
def test_rtl_trains_as_the_reference(config, seed):
    rng = np.random.default_rng(seed)
    network = mixed_network(rng, config)
    print(f"seed {seed}: {network}")
    memory = Memory(size=1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
    with SimBackend(build_engine(config)[0], memory) as backend:
        train(backend, network, config, seed)
