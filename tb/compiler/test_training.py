# SPDX-License-Identifier: Apache-2.0
"""Whole training iterations of random networks on the instruction-level model, in every bit as the reference trainer."""

import os

import numpy as np
import pytest

from tb.compiler.networks import fitting_network, random_engine, train_on_machine

COUNT = int(os.environ.get("NETWORKS", "40"))
FIRST = int(os.environ.get("SEED", "1"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_random_networks_train_bit_exactly(seed):
    rng = np.random.default_rng(seed)
    config = random_engine(rng)
    network = fitting_network(rng, config)
    print(f"seed {seed}: {config} {network}")
    train_on_machine(network, config, seed)
