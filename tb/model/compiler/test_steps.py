# SPDX-License-Identifier: Apache-2.0
"""Whole training iterations of random networks on the instruction-level model, in every bit as the reference
trainer."""

import os

import numpy as np
import pytest

from gradcore.isa.config import EngineConfig
from tb.model.compiler.networks import fitting_network, random_engine, splitting_network, train_on_machine

COUNT = int(os.environ.get("NETWORKS", "40"))
FIRST = int(os.environ.get("SEED", "1"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_random_networks_train_bit_exactly(seed):
    rng = np.random.default_rng(seed)
    config = random_engine(rng)
    network = fitting_network(rng, config)
    print(f"seed {seed}: {config} {network}")
    train_on_machine(network, config, seed)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + (COUNT + 7) // 8))
@pytest.mark.parametrize("grid, cols", [(4, 4), (4, 8), (8, 8), (8, 16), (8, 32)])
def test_groups_of_lanes_share_the_channels(grid, cols, seed):
    rng = np.random.default_rng(seed)
    config = EngineConfig(grid=grid, cols=cols, data_width=int(rng.integers(8, 17)), act_depth=4096)
    network = splitting_network(rng, config)
    print(f"seed {seed}: {network}")
    train_on_machine(network, config, seed)
