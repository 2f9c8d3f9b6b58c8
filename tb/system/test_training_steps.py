# SPDX-License-Identifier: Apache-2.0
"""Whole training iterations of random networks on the compiled RTL, equal to the reference trainer in every bit.

`NETWORKS` sets how many networks each engine trains, `SEED` the first seed; `pytest -k 'seed7 and 8x8x16'` repeats one.
"""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler import search as compiler
from gradcore.compiler.compile import compile_network
from gradcore.isa.config import EngineConfig
from gradcore.network.description import Network
from gradcore.ops.convolution import Conv, Dense
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import fitting_network, splitting_network, train, train_on_machine
from tb.support.cases import first, long, seeds
from tb.support.engines import BARE, BYTES, DEEPER, WIDE
from tb.support.sim import ENGINES as FRONTS
from tb.support.sim import simulation

ENGINES = {
    "8x8x16": EngineConfig(),
    "4x4x4-8bit": BYTES,
    "4x4x8": WIDE,
    "4x4x4-bare": BARE,
    "4x4x16-11bit": EngineConfig(grid=4, cols=16, data_width=11, mem_bytes=32, **DEEPER),
}
DEEP = replace(WIDE, gate_depth=1 << 20)


@pytest.mark.parametrize("seed", seeds(8, 2))
@pytest.mark.parametrize("engine", first(4, ENGINES))
def test_rtl_trains_as_the_reference(engine, seed):
    config = ENGINES[engine]
    rng = np.random.default_rng(seed)
    network = fitting_network(rng, config, most_images=9, largest=12)
    print(f"seed {seed}: {network}")
    memory = Memory(size=1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
    with SimBackend(build_engine(config)[0], memory) as backend:
        train(backend, network, config, seed)


@pytest.mark.parametrize("seed", seeds(4, 2))
@pytest.mark.parametrize("front", ["sim-axi", "sim-avalon"])
def test_trains_through_a_front_with_back_pressure(front, seed):
    rng = np.random.default_rng(seed)
    network = fitting_network(rng, FRONTS[front], most_images=9, largest=12)
    print(f"seed {seed}: {network}")
    stall, latency, jitter = float(rng.choice([0.05, 0.3, 0.6])), int(rng.integers(0, 50)), int(rng.integers(0, 100))
    with simulation(front, 1 << 26, latency=latency, jitter=jitter, stall=stall, seed=seed) as backend:
        train(backend, network, FRONTS[front], seed)


@pytest.mark.parametrize("seed", seeds(4, 2))
@pytest.mark.parametrize("engine", [*ENGINES][:3] + [long("8x8x8")])
def test_groups_of_lanes_share_the_channels(engine, seed):
    config = ENGINES.get(engine, EngineConfig(cols=8, **DEEPER))
    rng = np.random.default_rng(seed)
    network = splitting_network(rng, config)
    print(f"seed {seed}: {network}")
    with SimBackend(
        build_engine(config)[0], Memory(size=1 << 26, latency=int(rng.integers(1, 100)), seed=seed)
    ) as backend:
        train(backend, network, config, seed)


def test_last_taps_of_the_second_layer_after_the_first_layer():
    config = ENGINES["4x4x8"]
    network = Network(
        "last", (3, 16, 16), (Conv(4, (3, 3), (1, 1)), Conv(4, (3, 3), (1, 1), pool=2), Dense(3)), minibatch=1
    )
    parts = [
        op.text for op in compile_network(network, config).train.ops if op.layer == "conv1" and op.text.startswith("WU")
    ]
    assert len(parts) == 2
    train_on_machine(network, config, 1)
    with SimBackend(build_engine(config)[0], Memory(size=1 << 26)) as backend:
        train(backend, network, config, 1)


def test_dense_over_a_large_map_in_the_finest_fold():
    """Displacements of many storage blocks."""
    config = ENGINES["4x4x8"]
    network = Network("large", (1, 40, 40), (Dense(2),), minibatch=16)
    with SimBackend(build_engine(config)[0], Memory(size=1 << 26)) as backend:
        train(backend, network, config, 1)


@pytest.mark.parametrize("bit", first(1, [19, 18, 17, 16]))
def test_gates_beyond_16_bits(bit, monkeypatch):
    """Gates of the first two layers and targets around address 2^bit, the others at the start of the buffer, where
    addresses that lose this bit would meet them. Every user of the gate buffer is there: LOAD writes and reads it,
    COMPUTE writes and reads it."""
    network = Network(
        "gates",
        (2, 12, 12),
        (Conv(3, (3, 3), (1, 1)), Conv(5, (3, 3), (1, 1), pool=2), Conv(9, (3, 3), (1, 1)), Dense(6)),
        minibatch=5,
    )
    plan = compiler.memory_map

    def spread(*arguments):
        memory = plan(*arguments)
        low = memory.gate[2].first
        assert memory.gate[3] is None and low > 20
        high = (1 << bit) - 20
        first, second, third = memory.gate[:3]
        first, second = (replace(one, first=high + one.first) for one in (first, second))
        gate = first, second, replace(third, first=0), None
        return replace(memory, gate=gate, target_gate=replace(memory.target_gate, first=high + low))

    monkeypatch.setattr(compiler, "memory_map", spread)
    train_on_machine(network, DEEP, bit)
    with SimBackend(build_engine(DEEP)[0], Memory(size=1 << 26, seed=bit)) as backend:
        train(backend, network, DEEP, bit)
