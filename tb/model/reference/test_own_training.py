# SPDX-License-Identifier: Apache-2.0
"""Learning rates of single layers and frozen layers: every bit against plain Python loops, against networks with one
rate, against formulas."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gradcore.network import Conv, Dense, Network, NetworkError
from gradcore.network.layer_table import ideal_macs, network_table
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.trainer import STATE, ReferenceTrainer
from tb.model.compiler.networks import own_training
from tb.model.reference import test_graphs, test_trainer
from tb.model.reference.test_trainer import random_state

LAYERS = (Conv(3, 3, 1, pool=2), Conv(2, (2, 1), (1, 0)), Dense(3))
SHAPE = (2, 6, 5)


def network(rates=(None, None, None), trainable=(True, True, True), **more):
    chosen = zip(LAYERS, rates, trainable)
    layers = tuple(replace(layer, learning_rate=rate, trainable=yes) for layer, rate, yes in chosen)
    return Network("t", SHAPE, layers, **{"minibatch": 5, "learning_rate": 0.05} | more)


def data(rng, images=5):
    return rng.integers(-4096, 4096, (images, *SHAPE)), rng.integers(0, 3, images)


SETS = [chosen for chosen in product((True, False), repeat=3) if any(chosen)]


@pytest.mark.parametrize("trainable", SETS)
def test_step_is_the_definition(trainable, rng):
    rates = [None if rng.random() < 0.3 else float(rng.uniform(0.01, 0.5)) for _ in LAYERS]
    net = network(rates, trainable, optimiser=str(rng.choice(["sgd", "momentum"])), data_width=int(rng.integers(8, 17)))
    half = 1 << net.data_width - 1
    x, labels = rng.integers(-half, half, (5, *SHAPE)), rng.integers(0, 3, 5)
    test_trainer.compare(net, random_state(net, rng), x, labels, int(rng.integers(1 << 32)))


@pytest.mark.parametrize("number", range(24))
def test_random_graphs_are_the_definition(number, rng):
    net = own_training(rng, test_graphs.random_network(rng, minibatch=3))
    x, labels = rng.integers(-32768, 32768, (3, *net.shape)), rng.integers(0, net.classes, 3)
    test_graphs.compare(net, random_state(net, rng), x, labels, int(rng.integers(1 << 32)))


@pytest.mark.parametrize("images", [5, 3])
def test_a_rate_of_its_own_is_that_of_a_network_with_this_rate(images, rng):
    """In the first step, where the passes are the same; a smaller minibatch divides by its own number, too."""
    rates = (0.2, None, 0.003)
    mixed, state = network(rates), random_state(network(), rng)
    x, labels = data(rng, images)
    ours = ReferenceTrainer(mixed, 7, state)
    ours.step(x, labels, 0)
    for index, rate in enumerate(rates):
        other = ReferenceTrainer(network(learning_rate=rate or 0.05), 7, state)
        other.step(x, labels, 0)
        assert all((ours.state[index][key] == other.state[index][key]).all() for key in STATE), index
        assert rate is None or (ours.state[index]["weight"] != one_rate(x, labels, state)[index]["weight"]).any()


def one_rate(x, labels, state):
    trainer = ReferenceTrainer(network(), 7, state)
    trainer.step(x, labels, 0)
    return trainer.state


@pytest.mark.parametrize("trainable", SETS)
def test_frozen_layers_stay_and_the_others_do_not_notice(trainable, rng):
    state, (x, labels) = random_state(network(), rng), data(rng)
    ours, expected = ReferenceTrainer(network(trainable=trainable), 7, state), one_rate(x, labels, state)
    ours.step(x, labels, 0)
    for index, yes in enumerate(trainable):
        wanted = expected[index] if yes else state[index]
        assert all((ours.state[index][key] == wanted[key]).all() for key in STATE), index
        assert (ours.last["grad"][index] is None) == (not yes)
    first = trainable.index(True)
    assert [delta is None for delta in ours.last["delta"]] == [index < first for index in range(3)]
    assert [error is None for error in ours.last["error"]] == [index <= first for index in range(3)]
    counted = {tuple(place.split(":")) for place in ours.saturations.counts}
    for p, yes in zip(ours.network.parameters, trainable):
        assert ((p.name, "weight") in counted) == ((p.name, "bias_grad") in counted) == yes
        assert ((p.name, "delta") in counted) == (p.index >= first)


@pytest.mark.parametrize("trainable", SETS)
def test_float_trainer(trainable, rng):
    rates = (0.2, None, 0.003)
    net = network(rates, trainable)
    trainer, x, labels = FloatTrainer(net, 3, np.float64), rng.normal(size=(4, *SHAPE)), rng.integers(0, 3, 4)
    before = [dict(layer) for layer in trainer.state]
    for layer in before:
        layer["momentum"] = layer["weight"] * 0.25
    trainer.state = [dict(layer) for layer in before]
    free = FloatTrainer(network(), 3, np.float64)
    free.gradients(x, labels)
    trainer.step(x, labels)
    for index, (old, new, rate, yes) in enumerate(zip(before, trainer.state, rates, trainable)):
        if not yes:
            assert all((old[key] == new[key]).all() for key in STATE) and trainer.last["grad"][index] is None
            continue
        change = 0.9 * old["momentum"] - (rate or 0.05) / 4 * free.last["grad"][index]
        assert new["momentum"] == pytest.approx(change) and new["weight"] == pytest.approx(old["weight"] + change)


def test_learning_rates_keep_their_ratio():
    net = network((0.2, None, 0.003)).with_learning_rate(0.005)
    assert [p.learning_rate for p in net.parameters] == pytest.approx([0.02, 0.005, 0.0003])
    assert [p.learning_rate for p in net.with_minibatch(2).parameters] == pytest.approx([0.02, 0.005, 0.0003])
    assert [layer.learning_rate for layer in net.layers] == pytest.approx([0.02, None, 0.0003])
    for p in net.parameters:
        for u in (p.weight_update, p.bias_update):
            real = u.lr_m * 2.0 ** (u.frac_g - u.frac_v - u.shift_v)
            assert real == pytest.approx(p.learning_rate / net.minibatch, rel=2**-7)


def test_refusals():
    with pytest.raises(NetworkError, match="trainable: all layers with weights are frozen; nearest supported: one"):
        network(trainable=(False, False, False))
    with pytest.raises(NetworkError, match="layer 1 'conv1': learning_rate: no shifts represent 1e-30"):
        network((None, 1e-30, None))
    with pytest.raises(NetworkError, match="layer 2 'fc2': learning_rate: -1 is not supported; nearest supported: a"):
        network((None, None, -1))
    with pytest.raises(NetworkError, match="layer 0 'conv0': learning_rate: 10000.0 is not supported"):
        network((0.5, None, None)).with_learning_rate(1000)
    with pytest.raises(NetworkError, match="layer 0 'conv0': trainable: 1 is neither true nor false"):
        network(trainable=(1, True, True))


def test_table_and_work():
    net = network((0.2, None, 0.003), (False, True, False))
    rows = network_table(net)
    assert [row["learning rate"] for row in rows] == ["frozen", 0.05, "frozen"]
    assert [row["frac delta"] for row in rows] == ["", 12, 12]
    first, second, third = (row["macs"] for row in rows)
    # FP; FP and WU; FP and BP
    assert ideal_macs(net) == first + 2 * second + 2 * third
    assert ideal_macs(network()) == 2 * first + 3 * second + 3 * third
