# SPDX-License-Identifier: Apache-2.0
"""The engine's counters of saturations, equal to those of the machine model after every program."""

import numpy as np
import pytest

from gradcore.host.device import Device
from gradcore.machine.backend import MachineBackend
from gradcore.numerics.fixed_point import saturate
from gradcore.reference.trainer import initial_weights
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import fitting_network, minibatch
from tb.system.test_training_steps import ENGINES

KINDS = ("act", "delta", "update")


def counted(device) -> dict:
    counters = device.counters()
    return {kind: counters[f"saturated.{kind}"] for kind in KINDS}


@pytest.mark.parametrize("engine", ["4x4x8", "4x4x4-8bit"])
def test_counters_equal_the_models(engine):
    """Random networks, most of them with weights too large for their formats."""
    config, seen, quiet = ENGINES[engine], dict.fromkeys(KINDS, 0), 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        network = fitting_network(rng, config, most_images=9, largest=9)
        grow = int(rng.choice([0, 2, 4]))
        state = [
            {key: saturate(values << grow, network.data_width) for key, values in layer.items()}
            for layer in initial_weights(network, seed)
        ]
        backends = (
            SimBackend(build_engine(config)[0], Memory(size=1 << 26, seed=seed)),
            MachineBackend(config, 1 << 26, "random", seed),
        )
        engine_, model = (Device(backend, network, config, seed, state) for backend in backends)
        for iteration in range(2):
            x, labels = minibatch(rng, network, int(rng.integers(1, network.minibatch + 1)))
            assert engine_.step(x, labels, iteration) == model.step(x, labels, iteration)
            found = counted(model)
            assert counted(engine_) == found, f"seed {seed}, iteration {iteration}: {network}"
            seen = {kind: seen[kind] + found[kind] for kind in KINDS}
            quiet += not any(found.values())
        engine_.outputs(x, 2), model.outputs(x, 2)
        assert counted(engine_) == counted(model), "inference"
        backends[0].close()
    assert all(seen.values()), seen
    print(seen, quiet)
