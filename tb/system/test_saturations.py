# SPDX-License-Identifier: Apache-2.0
"""The engine's counters of saturations, equal to those of the machine model after every program."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.host.device import Device
from gradcore.isa.registers import SATURATIONS
from gradcore.machine.backend import MachineBackend
from gradcore.machine.transfers import Load
from gradcore.machine.vector import Vector
from gradcore.numerics.fixed_point import saturate
from gradcore.reference.trainer import initial_weights
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler import test_branches, test_vector
from tb.model.compiler.networks import fitting_network, minibatch, softmax_network
from tb.system.test_training_steps import ENGINES


def counted(device) -> dict:
    counters = device.counters()
    return {kind: counters[f"saturated.{kind}"] for kind in SATURATIONS}


@pytest.fixture
def transfers(monkeypatch) -> set:
    """(instruction, counter) of what LOADs and VECTORs of machine models have counted."""
    found = set()
    for work in (Load, Vector):

        def gather(self, gather=work.gather):
            before = dict(self.machine.saturated)
            values = gather(self)
            found.update((type(self), kind) for kind, count in self.machine.saturated.items() if count > before[kind])
            return values

        monkeypatch.setattr(work, "gather", gather)
    return found


def counters_equal_the_models(config, draw, seeds) -> dict:
    """Networks of `draw(rng, config)`, most of them with weights too large for their formats; returns the counts."""
    seen, quiet = dict.fromkeys(SATURATIONS, 0), 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        network = draw(rng, config)
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
            seen = {kind: seen[kind] + found[kind] for kind in SATURATIONS}
            quiet += not any(found.values())
        engine_.outputs(x, 2), model.outputs(x, 2)
        assert counted(engine_) == counted(model), "inference"
        backends[0].close()
    print(seen, quiet)
    return seen


@pytest.mark.parametrize("engine", ["4x4x8", "4x4x4-8bit"])
def test_counters_equal_the_models(engine):
    def draw(rng, config):
        return fitting_network(rng, config, most_images=9, largest=9)

    assert all(counters_equal_the_models(ENGINES[engine], draw, range(6)).values())


def stages(rng, config):
    """Stages behind layers, or branches. None of their tensors has vectors that fill up beats: VECTOR counts those,
    too, and nobody has defined their words."""
    while True:
        network = (test_vector, test_branches)[int(rng.integers(2))].random_network(rng, config)
        steps = [step for steps in compile_network(network, config).memory.stages for step in steps]
        if all(tensor.layout.pitch == tensor.layout.channels for step in steps for tensor in step.tensors):
            return network


def softmax(rng, config):
    """Its local gradient is beyond the format where an output is half of all."""
    network = softmax_network(rng, config, 20, 20)
    *before, last = network.layers
    return replace(network, layers=(*before, replace(last, formats={"delta": config.data_width})))


@pytest.mark.parametrize("engine", ["4x4x8", "4x4x4-8bit"])
def test_of_vector_and_softmax(engine, transfers):
    counters_equal_the_models(ENGINES[engine], stages, range(6))
    counters_equal_the_models(ENGINES[engine], softmax, range(2))
    assert transfers == {(Load, "delta"), (Vector, "act"), (Vector, "delta")}
