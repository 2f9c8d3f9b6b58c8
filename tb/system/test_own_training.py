# SPDX-License-Identifier: Apache-2.0
"""Learning rates of single layers and frozen layers on the compiled RTL, in every bit as the reference trainer;
frozen layers spare the cycles that the compiler says.

`NETWORKS=50` trains 50 networks on each engine.
"""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.host.device import Device
from gradcore.network import Conv, Dense, Network
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import fitting_network, large_network, minibatch, own_training, train
from tb.support.cases import seeds
from tb.support.engines import SMALL, TINY

ENGINES = {"small": SMALL, "tiny": TINY}


@pytest.mark.parametrize("seed", seeds(3, 2))
@pytest.mark.parametrize("engine", ENGINES)
def test_rtl_trains_as_the_reference(engine, seed):
    config, rng = ENGINES[engine], np.random.default_rng(seed)
    if engine == "tiny":
        network = own_training(rng, large_network(rng, config.data_width, 200))
    else:
        network = own_training(rng, fitting_network(rng, config, most_images=9, largest=12))
    print(f"seed {seed}: {network}")
    memory = Memory(1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
    with SimBackend(build_engine(config)[0], memory) as backend:
        train(backend, network, config, seed)


def test_a_frozen_half_spares_the_cycles_of_the_estimate():
    config, rng, found = ENGINES["small"], np.random.default_rng(1), []
    layers = (Conv(8, 3, 1), Conv(8, 3, 1, pool=2), Conv(16, 3, 1), Dense(4))
    for frozen in (0, 2):
        chosen = tuple(replace(layer, trainable=number >= frozen) for number, layer in enumerate(layers))
        network = Network("half", (3, 12, 12), chosen, minibatch=8)
        with SimBackend(build_engine(config)[0], Memory(1 << 26)) as backend:
            device = Device(backend, network, config, 1)
            for iteration in range(2):
                device.step(*minibatch(rng, network, 8), iteration)
            found.append((device.counters()["cycles"], device._compiled[8].train.cycles))
    print(found)
    (all_cycles, all_expected), (cycles, expected) = found
    assert cycles < 0.75 * all_cycles
    assert cycles / all_cycles == pytest.approx(expected / all_expected, rel=0.1)
