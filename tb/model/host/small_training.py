# SPDX-License-Identifier: Apache-2.0
"""A small training for the tests of checkpoints and run folders."""

import numpy as np

from gradcore.data.datasets import Dataset
from gradcore.host import training as run
from gradcore.host.backends import open_session
from gradcore.host.checkpoint import Checkpoint
from gradcore.host.model_file import Model
from gradcore.host.progress import Progress
from gradcore.reference.trainer import STATE
from tb.support.sim import ENGINES

NET = """
name = "small"
input = [1, 6, 6]
[train]
learning_rate = 0.02
minibatch = 8
[[layer]]
type = "conv"
name = "first"
maps = 3
kernel = 3
pad = 1
pool = 2
[[layer]]
type = "dense"
maps = 3
bias = false
"""
CONFIG = ENGINES["sim"]
RNG = np.random.default_rng(1)
DATA = Dataset(
    RNG.random((20, 1, 6, 6)), RNG.integers(0, 3, 20), RNG.random((9, 1, 6, 6)), RNG.integers(0, 3, 9), "random"
)
MODEL = Model(NET, 5, dict(vars(CONFIG)), "random", [])
NETWORK = MODEL.network
FIRST = Checkpoint(MODEL, {"run": "1"}, Progress())


def train(backend, check="epoch", begin=None, save=None, epochs=2):
    """(report without the times, final state, recorded events) of a training."""
    session = open_session(backend, NETWORK, CONFIG, 5)
    options = run.Options(epochs, 5, check if backend != "reference" else "none", minutes=0)
    try:
        found, state, recorded = run.train(NETWORK, DATA, session, options, begin=begin, save=save)
    finally:
        session.close()
    return {key: value for key, value in found.items() if key != "seconds"}, state, recorded and recorded[:2]


def same(ours, theirs):
    """Do two states, or lists of arrays, hold the same bits?"""
    pairs = [(mine[key], other[key]) for mine, other in zip(ours, theirs, strict=True) for key in STATE]
    return all(mine.dtype == other.dtype and (mine == other).all() for mine, other in pairs)
