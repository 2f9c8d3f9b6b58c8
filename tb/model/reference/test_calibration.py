# SPDX-License-Identifier: Apache-2.0
"""Binary points that are chosen: how near the integers then come to float64, what was given stays, what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.network import AveragePool, Conv, Dense, MaxPool, Network, NetworkError
from gradcore.numerics.fixed_point import Format, dequantize, quantize
from gradcore.ops.loss import LOSSES
from gradcore.reference.calibration import (
    STEPS,
    WARN_ABOVE,
    ImagesError,
    best_fraction,
    calibrate,
)
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.trainer import ReferenceTrainer, initial_weights, real_of, state_of
from tb.model.reference.test_graphs import random_network

LAYERS = (Conv(4, 3, 1, name="first"), MaxPool(name="half"), Dense(3, name="last"))
NET = Network("t", (1, 8, 8), LAYERS, "softmax_cross_entropy", learning_rate=0.01, minibatch=8)


def images(network, rng, count=32, scale=1.0):
    return rng.standard_normal((count, *network.shape)) * scale, rng.integers(0, network.classes, count)


def distances(network, x, labels, seed):
    """By layer how far STEPS steps of the reference trainer lead from those in float64: of all weights and biases,
    relative to their norm. The same images again and again, unlike those of `calibrate`."""
    integers, found = ReferenceTrainer(network, seed), {}
    floats = FloatTrainer(network, seed, np.float64)
    words = quantize(x, Format(network.data_width, network.input_frac))
    for step in range(STEPS):
        integers.step(words, labels, step)
        floats.step(x, labels, step)
    for p, ours, theirs in zip(network.parameters, integers.weights(), floats.state):
        pairs = [(ours["weight"], p.fw, theirs["weight"]), (ours["bias"], p.fb, theirs["bias"])]
        off = [dequantize(words, Format(network.data_width, frac)) - real for words, frac, real in pairs]
        found[p.name] = np.sqrt(sum((x**2).sum() for x in off) / sum((real**2).sum() for *_, real in pairs))
    return found


def test_random_networks_follow_float64(rng):
    """Networks of all kinds of layers with inputs of any range: nearly all are within WARN_ABOVE, a network beyond it
    says so, and the guessed points do worse."""
    far, guessed, count = 0, 0, 30
    for _ in range(count):
        options = dict(loss=str(rng.choice(list(LOSSES))), learning_rate=float(10 ** rng.uniform(-4, -2)), minibatch=8)
        options["optimiser"] = str(rng.choice(["sgd", "momentum", "pytorch_momentum"]))
        network = random_network(rng, plain=True, **options)
        x, labels = images(network, rng, 8, 10 ** rng.uniform(-0.5, 0.5))
        found = calibrate(network, x, labels)
        off = max(distances(found.network, x, labels, 1).values())
        assert found.warnings or max(found.errors.values()) <= WARN_ABOVE
        far += not off <= WARN_ABOVE
        guessed += not max(distances(network, x, labels, 1).values()) <= WARN_ABOVE
    assert far <= 3 and far < guessed


@pytest.mark.parametrize("width", [8, 12, 16])
def test_a_point_loses_least(rng, width):
    """Against all points there are, by the mean square of values that are rounded by chance and saturated."""
    for _ in range(20):
        values = np.abs(rng.standard_t(2, 4000)) * 2.0 ** rng.uniform(-8, 8)
        losses = {}
        for frac in range(-8, 32):
            words = np.floor(np.ldexp(values, frac) + rng.random((10, len(values))))
            losses[frac] = ((np.ldexp(np.minimum(words, 2 ** (width - 1) - 1), -frac) - values) ** 2).mean()
        found = best_fraction(values, values.max(), 1.0, width)
        assert losses[found] <= 1.2 * min(losses.values())
        room = best_fraction(values, values.max(), 4.0, width)
        assert room <= found


def test_given_points_stay():
    rng = np.random.default_rng(3)
    layers = (replace(LAYERS[0], formats={"weight": 12}), *LAYERS[1:])
    network = calibrate(replace(NET, layers=layers, formats={"act": 9}), *images(NET, rng)).network
    assert network.formats["act"] == 9 and all("act" not in layer.formats for layer in network.layers)
    assert network.layers[0].formats["weight"] == 12
    assert {p.fo for p in network.parameters} == {9} and network.parameters[0].fw == 12
    fine, (x, labels) = replace(NET, formats={"act": 14}), images(NET, rng)
    with pytest.raises(NetworkError, match="fa \\+ fw - fo"):  # large images leave the products fewer than 14 bits
        calibrate(fine, x * 1e5, labels)


def test_points_follow_the_images():
    """128 times as large images have seven bits fewer, and so has about what the first layer makes of them."""
    x, labels = images(NET, np.random.default_rng(4))
    network = replace(NET, learning_rate=1e-4)
    once, large = (calibrate(network, x * scale, labels).network for scale in (1, 128))
    assert once.input_frac - large.input_frac == 7
    assert 4 <= once.parameters[0].fo - large.parameters[0].fo <= 10
    assert replace(once, formats={}, layers=LAYERS) == network


@pytest.mark.parametrize("slow", [1, 0.01])
def test_values_have_room_to_grow(slow):
    """In 16 bits: twice what 200 steps make of them. Small weights are slow to begin with, and then grow much."""
    x, labels = images(NET, np.random.default_rng(9))
    real = [{key: slow * values for key, values in layer.items()} for layer in real_of(NET, initial_weights(NET, 1))]
    network = calibrate(NET, x, labels, real=real).network
    trainer, largest = FloatTrainer(NET, 1, np.float64), np.zeros((len(NET.parameters), 2))
    trainer.state = real
    for step in range(200):
        trainer.step(x, labels, step)
        now = [(trainer.last["words"][p.name], state["weight"]) for p, state in zip(NET.parameters, trainer.state)]
        largest = np.maximum(largest, [[np.abs(values).max() for values in pair] for pair in now])
    for p, (act, weight) in zip(network.parameters, largest):
        assert 2.0 ** (15 - p.fo) >= act and 2.0 ** (15 - p.fw) >= weight


def test_weights_of_ones_own_are_begun_with():
    """Large weights get the range that they need, and come back as they were."""
    rng = np.random.default_rng(5)
    real = real_of(NET, initial_weights(NET, 7))
    real[1]["weight"] = real[1]["weight"] * 64
    found = calibrate(NET, *images(NET, rng), real=real)
    again = real_of(found.network, state_of(found.network, real))
    for p, ours, theirs in zip(found.network.parameters, again, real):
        assert np.abs(ours["weight"] - theirs["weight"]).max() <= 2.0 ** -(p.fw + 1)
    assert found.network.parameters[1].fw <= NET.parameters[1].fw - 3


def test_weights_that_run_away_are_told():
    rng = np.random.default_rng(6)
    network = Network("t", (1, 8, 8), (Conv(4, 3, 1), AveragePool(2), Dense(3)), "square_hinge", learning_rate=8)
    found = calibrate(network, *images(network, rng))
    assert found.diverges is not None and "learning rate is too large" in found.warnings[0]


@pytest.mark.parametrize(
    "x, labels, said",
    [
        (np.zeros((4, 1, 8, 9)), np.zeros(4, int), "images"),
        (np.zeros((0, 1, 8, 8)), np.zeros(0, int), "images"),
        (np.full((4, 1, 8, 8), np.nan), np.zeros(4, int), "NaN"),
        (np.zeros((4, 8, 8)), np.zeros(4, int), "images"),
        (np.zeros((4, 1, 8, 8)), np.zeros(3, int), "labels"),
        (np.zeros((4, 1, 8, 8)), np.array([0, 1, 2, 3]), "class 0..2"),
        (np.zeros((4, 1, 8, 8)), np.array([0, 1, 2, -1]), "class 0..2"),
    ],
)
def test_refuses_images(x, labels, said):
    with pytest.raises(ImagesError, match=said):
        calibrate(NET, x, labels)


def test_images_of_zeros_leave_the_defaults():
    """Bytes, and fewer than a minibatch."""
    found = calibrate(NET, np.zeros((3, 1, 8, 8), np.uint8), np.array([0, 1, 2])).network
    assert found.input_frac == NET.input_frac and found.parameters[0].fo == NET.parameters[0].fo
