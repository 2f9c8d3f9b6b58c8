# SPDX-License-Identifier: Apache-2.0
"""Saturated words: counted as by hand in every kind of tensor, summed over steps, told above the limit; minibatches of
the rest."""

import numpy as np
import pytest

from gradcore.network.description import Network
from gradcore.numerics.fixed_point import MODES, requantize, round_shift, saturate
from gradcore.numerics.random_numbers import iteration_seed
from gradcore.ops.convolution import Conv, Dense
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.saturation import Saturations, warnings
from gradcore.reference.trainer import STATE, ReferenceTrainer
from tb.model.plain import plain_step
from tb.model.reference.test_trainer import as_array, random_state

NETWORK = Network(
    "t", (2, 6, 5), (Conv(3, 3, 1, pool=2), Conv(2, (2, 1), (1, 0)), Dense(3)), minibatch=8, learning_rate=2.0
)


@pytest.mark.parametrize("mode", MODES)
def test_clipped_words_are_those_that_saturation_changed(mode, rng):
    for width in (8, 16, 24):
        x = rng.integers(-(1 << (width + 3)), 1 << (width + 3), 4000)
        rnd, clipped = rng.integers(0, 1 << 16, x.shape), []
        result = requantize(x, 2, width, mode, rnd, clipped)
        rounded = round_shift(x, 2, mode, rnd)
        assert (
            (result == saturate(rounded, width)).all()
            and clipped == [sum(int(a) != int(b) for a, b in zip(result, rounded))]
            and clipped[0] > 0
        )
        requantize(x >> 5, 2, width, mode, rnd, clipped)
        assert clipped[1:] == [0]


def test_every_kind_of_tensor_is_counted(rng):
    """Words at a limit after the step are those that were clipped, or were there exactly: with these numbers a bound
    from both sides."""
    half = 1 << (NETWORK.data_width - 1)
    state = random_state(NETWORK, rng, extreme=True)
    x, labels = rng.choice([-half, half - 1], (8, 2, 6, 5)), rng.integers(0, 3, 8)
    trainer = ReferenceTrainer(NETWORK, 9, state)
    trainer.step(x, labels, 0)
    rows = {(row["layer"], row["kind"]): row for row in trainer.saturations.rows()}
    assert len(rows) == 3 * 8
    for p in NETWORK.parameters:
        error = (
            trainer.last["error"][p.index + 1]
            if p.index + 1 < len(NETWORK.parameters)
            else trainer.last["delta"][p.index]
        )
        tensors = {
            "act": trainer.last["z"][p.index],
            "delta": error,
            "weight": trainer.state[p.index]["weight"],
            "bias": trainer.state[p.index]["bias"],
            "momentum": trainer.state[p.index]["momentum"],
            "bias_momentum": trainer.state[p.index]["bias_momentum"],
        }
        for kind, tensor in tensors.items():
            row, limits = rows[p.name, kind], int(((tensor == -half) | (tensor == half - 1)).sum())
            assert row["words"] == tensor.size and limits - max(2, tensor.size // 50) <= row["clipped"] <= limits, (
                p.name,
                kind,
            )
        assert rows[p.name, "grad"]["words"] == trainer.last["grad"][p.index].size
        assert rows[p.name, "bias_grad"]["words"] == len(trainer.last["grad_bias"][p.index])
    assert sum(row["clipped"] > 0 for row in rows.values()) >= 12
    assert trainer.saturations.take().plus(Saturations()).counts != {} and trainer.saturations.counts == {}


def test_scaled_gradient_is_counted():
    """Gradients of one class do not fit g; a forward pass alone counts nothing."""
    network = Network("t", (1, 8, 8), (Dense(2),), minibatch=64, learning_rate=1, formats={"momentum": 14})
    trainer = ReferenceTrainer(network)
    trainer.forward(np.full((3, 1, 8, 8), 32767))
    assert trainer.saturations.counts == {}
    x = np.full((64, 1, 8, 8), 32767)
    trainer.step(x, np.zeros(64, dtype=int), 0)
    p = network.parameters[0]
    g = round_shift(trainer.last["grad"][0], p.weight_update.shift_g, "truncate")
    assert trainer.saturations.counts["fc0:grad"] == [int((g != saturate(g, 24)).sum()), 128] == [64, 128]


def test_sums_rows_and_warnings():
    one, two = Saturations(), Saturations()
    one.add("b", "weight", 1, 100)
    one.add("b", "act", 2, 100)
    two.add("b", "weight", 1, 50)
    two.add("a.c", "delta", 0, 10)
    rows = one.plus(two).rows()
    assert [(row["layer"], row["kind"], row["clipped"], row["words"]) for row in rows] == [
        ("b", "act", 2, 100),
        ("b", "weight", 2, 150),
        ("a.c", "delta", 0, 10),
    ]
    assert one.counts == {"b:weight": [1, 100], "b:act": [2, 100]}
    assert warnings(rows) == [
        f"b: {percent} % of the words of kind {kind} were saturated in the last epoch"
        for percent, kind in (("2.0", "act"), ("1.3", "weight"))
    ]
    assert warnings([{"layer": "x", "kind": "act", "clipped": 1, "words": 100}]) == []


@pytest.mark.parametrize("images", [1, 3, 7])
def test_smaller_minibatch_divides_by_its_own_number(images, rng):
    """A step on fewer images is, bit by bit, the step of a network whose minibatch they are; in float32, too."""
    x, labels = rng.integers(0, 4096, (images, 2, 6, 5)), rng.integers(0, 3, images)
    own = NETWORK.with_minibatch(images)
    whole, part = ReferenceTrainer(NETWORK, 3), ReferenceTrainer(own, 3)
    assert whole.step(x, labels, 4) == part.step(x, labels, 4)
    loss, _, plain = plain_step(own, ReferenceTrainer(own, 3).weights(), x.tolist(), labels, iteration_seed(3, 4))
    real = [FloatTrainer(network, 3) for network in (NETWORK, own)]
    for trainer in real:
        trainer.step(x / 4096, labels)
    for p, a, b, c in zip(NETWORK.parameters, whole.state, part.state, plain):
        for key in STATE:
            assert (a[key] == b[key]).all() and (a[key] == as_array(c[key])).all(), f"{key} of layer {p.index}"
    assert all((a[key] == b[key]).all() for a, b in zip(real[0].state, real[1].state) for key in STATE)
    old = NETWORK.parameters[0].weight_update
    new = own.parameters[0].weight_update
    assert (new.frac_v, new.shift_w) == (old.frac_v, old.shift_w) and new != old
    step = [u.lr_m * 2.0 ** (u.frac_g - u.frac_v - u.shift_v) for u in (old, new)]
    assert step[1] == pytest.approx(step[0] * 8 / images, rel=0.01)
