# SPDX-License-Identifier: Apache-2.0
"""A training with frozen layers and learning rates of single layers: report, checkpoint, smaller minibatch of the rest,
weights of a network that was not frozen."""

import json

import numpy as np
import pytest

from gradcore.host import checkpoint, model_file
from gradcore.host import training as run
from gradcore.host.backends import open_session
from gradcore.host.checkpoint import Checkpoint
from gradcore.host.model_file import Model
from gradcore.host.progress import Progress
from gradcore.report import summary
from tb.model.host.small_training import CONFIG, DATA, NET, same

FROZEN = NET.replace("pool = 2\n", "pool = 2\ntrainable = false\n").replace(
    "bias = false", "bias = false\nlearning_rate = 0.1"
)
MODEL = Model(FROZEN, 5, dict(vars(CONFIG)), "random", [])
BETWEEN = NET + 'relu = true\ntrainable = false\n[[layer]]\ntype = "dense"\nmaps = 3\nlearning_rate = 0.1\n'


def train(backend, network, begin=None, save=None):
    """(report, final state) of a training."""
    session = open_session(backend, network, CONFIG, 5)
    options = run.Options(2, 5, "epoch" if backend != "reference" else "none", minutes=0)
    try:
        found, state, _ = run.train(network, DATA, session, options, begin=begin, save=save)
    finally:
        session.close()
    return found, state


@pytest.mark.parametrize("text", [FROZEN, BETWEEN], ids=["below", "between"])
def test_it_equals_the_reference_and_can_be_resumed(text, tmp_path):
    model, moments = Model(text, 5, dict(vars(CONFIG)), "random", []), []
    network = model.network
    found, state = train("machine", network, save=moments.append)
    assert found["weights_equal"] is True and found["losses_compared"] == 6 and not summary.failed(found)
    assert same(state, train("reference", network)[1])
    begun = moments[0].state
    for p, old, new in zip(network.parameters, begun, state):
        assert ((old["weight"] != new["weight"]).any() and new["momentum"].any()) == p.trainable
        assert p.trainable or same([old], [new])
    kinds = {(row["layer"], row["kind"]) for row in found["saturations"]}
    for p in network.parameters:
        assert ((p.name, "weight") in kinds) == p.trainable and ((p.name, "delta") in kinds) == (p.fd is not None)
    rates = ["frozen", 0.1] if text is FROZEN else [0.02, "frozen", 0.1]
    assert [row["learning rate"] for row in found["layers"]] == rates
    assert json.loads(json.dumps(found["layers"])) == found["layers"] and summary.last_line(found)
    first = Checkpoint(model, {"run": "1"}, Progress())
    for moment in moments[1::2]:
        checkpoint.write(tmp_path / "file", first.at(moment))
        resumed = train("machine", network, begin=checkpoint.read(tmp_path / "file").progress)
        assert resumed[0]["weights_sha256"] == found["weights_sha256"] and same(resumed[1], state)


def test_a_file_of_weights_does_not_know_what_was_frozen(tmp_path):
    """Formats and tensors are the same, so a network can be trained, frozen and trained again."""
    free = Model(NET, 5, dict(vars(CONFIG)), "random", [])
    assert model_file.fractions(MODEL.network) == model_file.fractions(free.network)
    _, state = train("reference", free.network)
    model_file.write(tmp_path / "weights.npz", Model(FROZEN, 5, free.engine, "random", state))
    read = model_file.read(tmp_path / "weights.npz")
    assert same(read.state, state) and not read.network.parameters[0].trainable
    assert all(np.issubdtype(layer["weight"].dtype, np.integer) for layer in read.state)
