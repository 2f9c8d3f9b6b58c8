# SPDX-License-Identifier: Apache-2.0
"""A first convolution with a stride on the compiled RTL, in every bit as the reference trainer.

`NETWORKS=50` trains 50 networks on each engine.
"""

import numpy as np
import pytest

from gradcore.compiler.compile import CompileError, compile_network
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.convolutions import with_stride
from tb.model.compiler.networks import fitting_network, large_network, own_training, train
from tb.support.cases import seeds
from tb.system.test_own_training import ENGINES


def draw(rng, engine: str):
    """A random network with a stride that fits the engine, now and then with frozen layers."""
    config = ENGINES[engine]
    while True:
        if engine == "tiny":
            network = with_stride(rng, large_network(rng, config.data_width, 60), largest=24)
        else:
            network = with_stride(rng, fitting_network(rng, config, most_images=9, largest=6), largest=24)
        network = own_training(rng, network) if rng.random() < 0.3 else network
        try:
            compile_network(network, config)
            return network
        except CompileError:
            continue


@pytest.mark.parametrize("seed", seeds(3, 2))
@pytest.mark.parametrize("engine", ENGINES)
def test_rtl_trains_as_the_reference(engine, seed):
    rng = np.random.default_rng(seed)
    config, network = ENGINES[engine], draw(rng, engine)
    assert network.layers[0].stride != (1, 1)
    print(f"seed {seed}: {network}")
    memory = Memory(1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
    with SimBackend(build_engine(config)[0], memory) as backend:
        train(backend, network, config, seed, iterations=3)
