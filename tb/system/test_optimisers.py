# SPDX-License-Identifier: Apache-2.0
"""Weight decay and PyTorch's form of momentum on the compiled RTL, in every bit as the reference trainer.

`NETWORKS=50` trains 50 networks on each engine.
"""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.isa.instruction import Opcode
from gradcore.network import Conv, Dense, Network
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.model.compiler.networks import fitting_network, large_network, own_optimiser, own_training, train
from tb.support.cases import first, seeds
from tb.support.engines import SMALL, TINY

ENGINES = {"small": SMALL, "tiny": TINY}


def resident(network, config) -> set:
    """Where the UPDATEs of the network find their weights."""
    ops = compile_network(network, config).train.ops
    return {op.instr["resident"] for op in ops if op.instr.opcode == Opcode.UPDATE}


def trains(network, config, seed: int, iterations: int = 2) -> None:
    rng = np.random.default_rng(seed)
    memory = Memory(1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
    with SimBackend(build_engine(config)[0], memory) as backend:
        train(backend, network, config, seed, iterations)


@pytest.mark.parametrize("seed", seeds(3, 2))
@pytest.mark.parametrize("engine", ENGINES)
def test_rtl_trains_as_the_reference(engine, seed):
    config, rng = ENGINES[engine], np.random.default_rng(seed)
    if engine == "tiny":
        network = own_optimiser(rng, large_network(rng, config.data_width, 200))
    else:
        network = own_optimiser(rng, fitting_network(rng, config, most_images=9, largest=12))
    network = own_training(rng, network) if seed % 2 else network
    print(f"seed {seed}: {network}")
    trains(network, config, seed)


@pytest.mark.parametrize("rounding", first(1, ["stochastic", "half_even"]))
@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "pytorch_momentum"])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_optimiser_decays(engine, optimiser, rounding):
    """Three steps, the last of a smaller minibatch; weights from the buffer or from DRAM; a rate of a layer's own."""
    config = ENGINES[engine]
    maps = 4 if engine == "small" else 9
    layers = (Conv(maps, 3, 1, pool=2), replace(Dense(6, relu=True), learning_rate=0.2), Dense(3))
    more = dict(optimiser=optimiser, weight_decay=0.02, rounding=rounding, data_width=config.data_width)
    network = Network("t", (3, 6, 6), layers, minibatch=3, learning_rate=0.05, **more)
    assert resident(network, config) == {int(engine == "small")}
    trains(network, config, 5, 3)
