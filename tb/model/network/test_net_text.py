# SPDX-License-Identifier: Apache-2.0
"""What the writer of net.toml writes, the reader reads as the same network."""

from dataclasses import replace

import jsonschema
import pytest

from gradcore.files import toml_text
from gradcore.files.places import ROOT
from gradcore.network import Conv, Dense, Network, load, parse
from gradcore.network.net_text import text_of
from gradcore.network.schedule import Cosine, Piecewise, Schedule, Step
from gradcore.network.schema import schema
from tb.model.reference.test_graphs import BRANCHES, random_network

VALIDATOR = jsonschema.Draft202012Validator(schema())


def same(network):
    text = text_of(network)
    found = parse(text)
    VALIDATOR.validate(toml_text.parse(text))
    assert text_of(found) == text and found.graph.nodes == network.graph.nodes
    assert found.graph.tensors == network.graph.tensors and found.parameters == network.parameters
    for name in ("name", "shape", "loss", "optimiser", "learning_rate", "momentum", "minibatch", "weight_decay"):
        assert getattr(found, name) == getattr(network, name), name
    assert (found.data_width, found.rounding, found.formats) == (network.data_width, network.rounding, network.formats)
    assert found.schedule == network.schedule


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*/net.toml")), ids=lambda path: path.parent.name)
def test_examples(path):
    same(load(path))


@pytest.mark.parametrize("number", range(30))
def test_random_networks(number, rng):
    same(random_network(rng))


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(warm_up=0.3),
        Step(0.5, 3, 0.25),
        Cosine(epochs=7, last=0.1),
        Piecewise(epochs=tuple(range(1, 101)), factors=tuple(1 / 3**k for k in range(100))),
    ],
)
def test_schedules(schedule):
    same(Network("t", (2, 4, 5), BRANCHES, schedule=schedule))


def test_every_field():
    layer = Conv(4, (3, 1), (1, 0), False, False, None, (2, 1), 2, name="a-b.c", learning_rate=1e-7, trainable=False)
    last = Dense(3, relu=False, formats={"weight": 12, "bias": 11})
    network = Network('ü "quoted" \\ name', (2, 4, 5), (layer, last), "square_hinge", "sgd", 0.1, 0.5, 7, 12)
    same(replace(network, rounding={"act": "half_up", "param": "truncate"}, formats={"act": 8}, weight_decay=0.01))
