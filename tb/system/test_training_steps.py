# SPDX-License-Identifier: Apache-2.0
"""Whole training iterations of random networks on the compiled RTL, equal to the reference trainer in every bit.

`NETWORKS` sets how many networks each engine trains, `SEED` the first seed; `pytest -k 'seed7 and 8x8x16'` repeats one.
"""

import os

import numpy as np
import pytest

from gradcore.config import EngineConfig
from gradcore.network import Dense, Network
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.compiler.networks import fitting_network, train

SMALL = dict(act_depth=1024, wgt_depth=2048, grad_depth=2048, gate_depth=4096)
ENGINES = {
    "8x8x16": EngineConfig(),
    "4x4x4-8bit": EngineConfig(grid=4, cols=4, data_width=8, mem_bytes=8, **SMALL),
    "4x4x8": EngineConfig(grid=4, cols=8, data_width=16, mem_bytes=16, **SMALL),
    "4x4x16-11bit": EngineConfig(grid=4, cols=16, data_width=11, mem_bytes=32, **SMALL),
}
COUNT = int(os.environ.get("NETWORKS", "8"))
FIRST = int(os.environ.get("SEED", "1"))


@pytest.mark.parametrize("seed", [pytest.param(s, id=f"seed{s}") for s in range(FIRST, FIRST + COUNT)])
@pytest.mark.parametrize("engine", ENGINES)
def test_rtl_trains_as_the_reference(engine, seed):
    config = ENGINES[engine]
    rng = np.random.default_rng(seed)
    network = fitting_network(rng, config, most_images=9, largest=12)
    print(f"seed {seed}: {network}")
    memory = Memory(size=1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
    with SimBackend(build_engine(config)[0], memory) as backend:
        train(backend, network, config, seed)


def test_dense_over_a_large_map_in_the_finest_fold():
    """Displacements of many storage blocks."""
    config = ENGINES["4x4x8"]
    network = Network("large", (1, 40, 40), (Dense(2),), minibatch=16)
    with SimBackend(build_engine(config)[0], Memory(size=1 << 26)) as backend:
        train(backend, network, config, 1)
