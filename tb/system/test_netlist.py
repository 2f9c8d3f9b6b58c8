# SPDX-License-Identifier: Apache-2.0
"""The netlist of the smallest engine, LUTs and flip-flops as Yosys has made them, trains as the reference trainer."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.sim.backend import Memory, SimBackend
from tb.model.compiler.networks import fitting_network, train
from tb.support.engines import BARE, TINY
from tb.support.netlist import build_netlist
from tb.support.outside import Outside

SMALLEST = replace(TINY, data_width=8, mem_bytes=8, has_vector=0, has_softmax=0, has_factor=0)


@pytest.mark.long
def test_the_netlist_learns():
    library = build_netlist(SMALLEST)
    for seed in range(1, 6):
        network = fitting_network(np.random.default_rng(seed), BARE, most_images=2, largest=6)
        print(f"seed {seed}: {network}")
        with SimBackend(library, Memory(1 << 26, latency=20, stall=0.2, seed=seed)) as backend:
            train(backend, network, SMALLEST, seed, watch=Outside())
