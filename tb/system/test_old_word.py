# SPDX-License-Identifier: Apache-2.0
"""Memories with OLD_WORD 0 (rtl/ram) give a wrong word when one is read while it is written: engines train as the
reference trainer all the same."""

import numpy as np
import pytest

from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build, engine_parameters
from gradcore.sim.sources import sources
from tb.model.compiler.networks import large_network, train
from tb.model.compiler.test_vector import random_network
from tb.support.cases import long
from tb.support.engines import SMALL, TINY

READ = "if (s_rd_en) word_q <= memory[s_rd_addr];   // not while it is written"
WRONG = "if (s_rd_en) word_q <= memory[s_rd_addr] ^ {WIDTH{s_wr_en && s_wr_addr == s_rd_addr}};"


@pytest.mark.parametrize("config", [TINY, long(SMALL)], ids=["tiny", "small"])
def test_rtl_trains_as_the_reference(config, tmp_path):
    library = build(with_wrong_words(tmp_path), engine_parameters(config))[0]
    for seed in range(1, 4):
        rng = np.random.default_rng(seed)
        network = random_network(rng, config) if config is SMALL else large_network(rng, config.data_width, 200)
        print(f"seed {seed}: {network}")
        memory = Memory(1 << 26, latency=int(rng.integers(1, 100)), stall=float(rng.choice([0, 0.3])), seed=seed)
        with SimBackend(library, memory) as backend:
            train(backend, network, config, seed)


def with_wrong_words(folder) -> list:
    """The files of the engine, one of them changed."""
    files = {file.name: file for file in sources("engine")}
    text = files["gc_ram_sdp.v"].read_text()
    assert text.count(READ) == 1
    files["gc_ram_sdp.v"] = folder / "gc_ram_sdp.v"
    files["gc_ram_sdp.v"].write_text(text.replace(READ, WRONG))
    return list(files.values())
