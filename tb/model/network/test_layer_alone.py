# SPDX-License-Identifier: Apache-2.0
"""A layer taken out of a network: itself and its passes as in the whole one, little around it."""

from dataclasses import fields, replace

import pytest

from gradcore.files.places import ROOT
from gradcore.network import Conv, Dense, Network, load
from gradcore.network.layer_alone import FEW, layer_alone, nameless
from gradcore.ops.activation import Tanh
from gradcore.ops.addition import Add
from gradcore.ops.checks import NetworkError
from gradcore.ops.dropout import Dropout
from gradcore.ops.max_pooling import MaxPool
from tb.model.compiler.networks import random_network

CHAINS = [path.parent.name for path in sorted(ROOT.glob("examples/*/net.toml")) if path.parent.name != "resnet8"]
OWN = {"index", "layer", "factor", "stages", "weight_update", "bias_update"}  # numbers of its place and minibatch


def numbers(p):
    return {item.name: getattr(p, item.name) for item in fields(p) if item.name not in OWN}


def check(network, images=1):
    """Every layer: alone it is what it is in the network, as are the stages behind it. Returns the networks."""
    found = []
    for p in network.parameters:
        alone = layer_alone(network, p.index, images)
        (own,) = (q for q in alone.parameters if q.name == p.name)
        assert numbers(own) == numbers(p)
        kinds = [[(s.name, s.operator, s.in_shape, s.shape, s.shifts_bp) for s in q.stages] for q in (own, p)]
        assert kinds[0] == kinds[1]
        assert (own.factor and own.factor.operator) == (p.factor and p.factor.operator)
        assert alone.minibatch == images and own.index == min(p.index, 1)
        around = [q for q in alone.parameters if q.name != p.name]
        assert all(FEW in q.weight_shape[:2] for q in around) and len(alone.parameters) <= len(network.parameters)
        found.append(alone)
    return found


@pytest.mark.parametrize("name", CHAINS)
def test_layers_of_the_examples(name):
    check(load(ROOT / "examples" / name / "net.toml"))


def test_random_networks(rng):
    for _ in range(40):
        network = random_network(rng, 16)
        check(network, min(3, network.minibatch))


def test_what_is_behind_makes_the_maps_smaller():
    network = load(ROOT / "examples/vgg16/net.toml")
    names = [[p.name for p in alone.parameters] for alone in check(network)]
    assert names[0] == ["conv0", "conv1", "conv3", "conv6", "conv9", "conv12", "fc13", "fc17"]
    assert names[11] == ["conv10", "conv11", "conv12", "fc13", "fc17"]
    assert names[-1] == ["fc15", "fc17"]


def test_frozen_layers_have_the_passes_that_they_have():
    layers = [Conv(5, 3, pad=1, trainable=False), Conv(6, 3, stride=2), Tanh(), Conv(7, 3, pad=1, trainable=False)]
    network = Network("t", (2, 9, 11), (*layers, MaxPool(3, 2), Dropout(), Dense(4)), loss="softmax_cross_entropy")
    check(replace(network, layers=(*layers, MaxPool(3, 2), Dense(4))))
    assert [p.shift_bp is None for p in network.parameters] == [True, True, False, False]


def test_layers_that_differ_in_names_only_are_equal():
    layers = [Conv(9, 3, pad=1, name=name) for name in "abcd"]
    network = Network("t", (2, 8, 8), (*layers, Dense(4)), minibatch=5)
    _, b, c, d, _ = check(network, 2)
    assert b != c and nameless(b) == nameless(c) == nameless(d)
    assert nameless(b) != nameless(layer_alone(network, 1, 3))


def test_refusals():
    layers = (Conv(4, 3, pad=1, name="a"), Conv(4, 3, pad=1, name="b"), Add(inputs=("a", "b"), name="sum"), Dense(2))
    with pytest.raises(NetworkError, match="only a chain of layers can be taken apart") as found:
        layer_alone(Network("t", (4, 6, 6), layers), 0, 1)
    assert found.value.name == "sum"
    with pytest.raises(NetworkError, match="the first layer has no weights"):
        layer_alone(Network("t", (4, 6, 6), (MaxPool(2), Dense(2))), 0, 1)
