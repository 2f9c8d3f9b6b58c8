# SPDX-License-Identifier: Apache-2.0
"""The engine behind LiteDRAM: random networks train as the reference trainer does, the beats that its counters count
are those that the DRAM moved, and what the back end does not have is refused."""

import builtins
from dataclasses import replace

import numpy as np
import pytest

from gradcore.cli import main as cli
from gradcore.host.backends import EngineSession
from gradcore.isa.config import EngineConfig
from gradcore.report.bench import random_batches
from gradcore.sim import build
from gradcore.sim.backend import Memory, MemoryRuleBroken, SimBackend
from tb.support.cases import first, seeds
from tb.support.engines import DEEPER
from tb.system.test_training_steps import fitting_network, train

CONFIG = EngineConfig(grid=4, cols=4, mem_bytes=16, **DEEPER)
BEATS = [16, 8, 32, 64]  # bytes; an engine has to be built for each


def simulation(size=1 << 26, config=CONFIG):
    return SimBackend(build.build_engine(config, backend="sim-litedram")[0], Memory(size))


@pytest.mark.parametrize("seed", seeds(4, 1))
@pytest.mark.parametrize("mem_bytes", first(1, BEATS))
def test_it_trains_as_the_reference(mem_bytes, seed):
    config = replace(CONFIG, mem_bytes=mem_bytes)
    network = fitting_network(np.random.default_rng(seed), config, most_images=9, largest=12)
    print(f"seed {seed}: {network}")
    with simulation(config=config) as backend:
        train(backend, network, config, seed)
        assert backend.name == "sim-litedram"


def test_the_dram_moves_what_the_engine_counts():
    rng = np.random.default_rng(1)
    network = fitting_network(rng, CONFIG, most_images=9, largest=12)
    x, labels = next(random_batches(network, 1))
    session = EngineSession(simulation(), network, CONFIG, 1)
    try:
        session.step(x, labels, 0)
        before = session.device.backend.traffic
        session.step(x, labels, 1)
        counters = session.counters()
        moved = [now - then for now, then in zip(session.device.backend.traffic, before)]
    finally:
        session.close()
    assert moved == [counters["read_beats"], counters["write_beats"]] and min(moved) > 0


def test_rights_hold_here_too():
    network = fitting_network(np.random.default_rng(1), CONFIG, most_images=2, largest=6)
    with simulation() as backend:
        backend.allow(np.zeros((1 << 26) // 4096, np.uint8))
        with pytest.raises(MemoryRuleBroken, match="read without the right"):
            train(backend, network, CONFIG, 1)


def test_more_than_the_chips_hold():
    with pytest.raises(MemoryError, match="no 536870920 bytes in the DRAM of sim-litedram"):
        simulation((1 << 29) + 8)


@pytest.mark.parametrize(
    "words, said",
    [
        (["train", "digits", "--backend", "sim-litedram", "--stall", "0.1"], "--stall: the back end sim-litedram"),
        (["bench", "digits", "--backend", "sim-litedram", "--dram-latency", "9"], "--dram-latency: the back end"),
        (
            ["bench", "digits", "--backend", "sim-litedram", "--dram-bytes-per-cycle", "8"],
            "--dram-bytes-per-cycle: the",
        ),
    ],
)
def test_options_of_another_memory(capsys, words, said):
    assert cli.run(words) == 2
    assert said in capsys.readouterr().err


def test_without_litex(monkeypatch, capsys):
    real = builtins.__import__

    def missing(name, *rest):
        if name == "gradcore.litex.simulation":
            raise ImportError(name="litedram")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert cli.run(["bench", "digits", "--backend", "sim-litedram"]) == 3
    assert "error: litedram is not installed: pip install 'gradcore[litex]'" in capsys.readouterr().err
