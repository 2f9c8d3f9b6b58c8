# SPDX-License-Identifier: Apache-2.0
"""The netlist of the smallest engine, LUTs and flip-flops as Yosys has made them, trains as the reference trainer."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.sim.backend import Memory, SimBackend
from tb.model.compiler.networks import fitting_network, train
from tb.support.engines import BARE, TINY
from tb.support.netlist import build_netlist, record, replay
from tb.support.outside import Outside

SMALLEST = replace(TINY, data_width=8, mem_bytes=8, has_vector=0, has_softmax=0, has_factor=0)


def test_the_netlist_does_what_the_rtl_does_while_it_learns(tmp_path):
    """Cells of the ECP5. The RTL has made the reference's weights, and every output of the netlist is the RTL's in
    every cycle: all that it writes are those weights."""
    parameters, cycles, recording = record(replace(SMALLEST, acc_width=24), tmp_path)
    code, said = replay(parameters, recording)
    assert code == 0, said[-3000:]
    assert "size is different" not in said  # such a port is not compared
    edges = [int(line.split()[2]) for line in said.splitlines() if line.startswith("Co-simulating cycle")]
    assert max(edges) >= 2 * cycles  # of the clock, rising and falling


@pytest.mark.long
def test_the_netlist_learns():
    library = build_netlist(SMALLEST)
    for seed in range(1, 6):
        network = fitting_network(np.random.default_rng(seed), BARE, most_images=2, largest=6)
        print(f"seed {seed}: {network}")
        with SimBackend(library, Memory(1 << 26, latency=20, stall=0.2, seed=seed)) as backend:
            train(backend, network, SMALLEST, seed, watch=Outside())
