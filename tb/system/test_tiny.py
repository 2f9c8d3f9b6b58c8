# SPDX-License-Identifier: Apache-2.0
"""Networks of all sizes on an engine with each buffer at its smallest depth, on the compiled RTL, in every bit as the
reference trainer: a buffer that is too small costs cycles. Every second engine has its buffers in
UltraRAM, and all have bursts of another length than the rest of the benches.

`NETWORKS=50` trains 50 of them, among them maps of 40x40, 70 channels and minibatches of 40.
"""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build, engine_parameters
from gradcore.sim.sources import sources
from tb.model.compiler.networks import large_network, train
from tb.support.cases import seeds
from tb.support.engines import TINY
from tb.support.outside import Outside

# Every fifth network has one of them.
EXTREMES = [dict(size=(40, 40)), dict(maps=70), dict(images=40)]


@pytest.mark.parametrize("seed", seeds(2, 2))
def test_rtl_trains_as_the_reference(seed):
    config = replace(TINY, mem_bytes=64 if seed % 2 or seed < 3 else 8)
    rng = np.random.default_rng(seed)
    extreme = EXTREMES[seed // 5 % 3] if seed % 5 == 0 else {}
    network = large_network(rng, config.data_width, 200 if seed < 3 else 3000, **extreme)
    print(f"seed {seed}: {config} {network}")
    memory = Memory(1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
    ultra, burst = (0, 8) if seed % 2 else (15, 128)
    library, _ = build(sources("engine"), engine_parameters(config) | {"ULTRA": ultra, "BURST": burst})
    with SimBackend(library, memory) as backend:
        train(backend, network, config, seed, watch=Outside() if ultra else None)
