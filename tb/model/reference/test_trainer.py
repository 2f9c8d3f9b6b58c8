# SPDX-License-Identifier: Apache-2.0
"""The reference trainer bit by bit against plain Python loops, near float64 in fine formats, and as good as float32 on
digits."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.data import datasets as data
from gradcore.files.places import ROOT
from gradcore.network.description import Network
from gradcore.network.net_toml import load
from gradcore.numerics.fixed_point import MODES
from gradcore.numerics.random_numbers import iteration_seed
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.loss import LOSSES, loss_value
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.trainer import STATE, ReferenceTrainer
from tb.model.plain import plain_step
from tb.support.evidence import note

BODIES = {
    "pooled": ((2, 6, 5), (Conv(3, 3, 1, pool=2), Conv(2, (2, 1), (1, 0)), Dense(3))),
    "linear": (
        (1, 5, 5),
        (Conv(2, (1, 3), (0, 2), relu=False, pool=2, bias=False), Dense(2, relu=True), Dense(4, bias=False)),
    ),
    "plain": ((3, 1, 1), (Dense(4, relu=True), Conv(3, 1, relu=False))),
}


def as_array(values):
    """A dict keyed by index tuples as array."""
    result = np.zeros([1 + max(k[d] for k in values) for d in range(len(next(iter(values))))], dtype=np.int64)
    for key, value in values.items():
        result[key] = value
    return result


def random_state(network, rng, extreme=False):
    """Weights and momentum over a good part of their range, or only the two limits."""
    half = 1 << (network.data_width - 1)
    state = ReferenceTrainer(network).weights()
    for p, layer in zip(network.parameters, state):
        for key in STATE[: 1 + 3 * p.bias]:
            shape = layer[key].shape
            layer[key] = rng.choice([-half, half - 1], shape) if extreme else rng.integers(-half // 4, half // 4, shape)
    return state


def compare(network, state, x, labels, seed):
    """Two steps of the trainer equal two plain steps in every tensor."""
    trainer = ReferenceTrainer(network, seed, state)
    for iteration in (0, 5):
        loss, tensors, state = plain_step(network, state, x.tolist(), labels, iteration_seed(seed, iteration))
        assert trainer.step(x, labels, iteration) == loss
        for key, by_layer in tensors.items():
            for layer, values in by_layer.items():
                assert (trainer.last[key][layer] == as_array(values)).all(), (
                    f"{key} of layer {layer}, iteration {iteration}"
                )
            found = {layer for layer, values in enumerate(trainer.last[key]) if values is not None}
            assert found == {*by_layer}, f"{key}, iteration {iteration}"
        state = [{key: as_array(layer[key]) for key in STATE} for layer in state]
        for layer, (ours, plain) in enumerate(zip(trainer.weights(), state)):
            for key in STATE:
                assert (ours[key] == plain[key]).all(), f"{key} of layer {layer}, iteration {iteration}"
    note("loops", network)
    return trainer


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("optimiser", ["sgd", "momentum"])
def test_step_is_the_definition(body, mode, optimiser, rng):
    shape, layers = BODIES[body]
    loss = str(rng.choice(["euclidean", "square_hinge"]))
    width = int(rng.integers(8, 17))
    network = Network(
        "t",
        shape,
        layers,
        loss=loss,
        optimiser=optimiser,
        rounding=mode,
        data_width=width,
        minibatch=5,
        learning_rate=0.05,
    )
    half = 1 << (width - 1)
    x = rng.integers(-half, half, (5, *shape))
    labels = rng.integers(0, network.classes, 5)
    compare(network, random_state(network, rng), x, labels, int(rng.integers(0, 1 << 32)))


def test_step_is_the_definition_at_the_limits(rng):
    shape, layers = BODIES["pooled"]
    for width in (8, 16):
        network = Network("t", shape, layers, data_width=width, minibatch=3, learning_rate=8.0)
        x = rng.choice([-(1 << (width - 1)), (1 << (width - 1)) - 1], (3, *shape))
        compare(network, random_state(network, rng, extreme=True), x, rng.integers(0, 3, 3), 9)


def test_modes_by_tensor_and_formats_by_layer(rng):
    network = Network(
        "t",
        (1, 4, 4),
        (Conv(2, 3, 1, formats={"act": 9, "weight": 11, "bias": 10, "delta": 14}), Dense(2, formats={"act": 12})),
        rounding={"act": "truncate", "delta": "half_even", "param": "stochastic"},
        formats={"input": 11},
        minibatch=4,
    )
    compare(network, random_state(network, rng), rng.integers(-2048, 2048, (4, 1, 4, 4)), rng.integers(0, 2, 4), 3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kinks, near", [(False, 0.02), (True, 0.2)])
def test_gradients_approach_float(loss, kinks, near, rng):
    """Near: of the norm. With kinks a rounding now and then opens another gate, which moves a whole local gradient."""
    shape, layers = (
        (2, 9, 8),
        (Conv(5, 3, 1, relu=kinks, pool=2 if kinks else None), Conv(6, 2, 0, relu=kinks), Dense(4)),
    )
    network = Network("t", shape, layers, loss=loss, rounding="half_even", minibatch=16, learning_rate=0.02)
    x, labels = rng.uniform(-1, 1, (16, *shape)), rng.integers(0, 4, 16)
    fixed, real = ReferenceTrainer(network, 5), FloatTrainer(network, 5, np.float64)
    xi = data.quantize_input(x, network)
    total = fixed.step(xi, labels, 0)
    assert loss_value(loss, total, network.parameters[-1].fo) == pytest.approx(
        real.step(xi * 2.0**-network.input_frac, labels), rel=0.01
    )
    for p in network.parameters:
        for key, frac in (("out", p.fo), ("delta", p.fd), ("grad", p.fd + p.fa), ("grad_bias", p.fd)):
            ours, theirs = fixed.last[key][p.index] * 2.0**-frac, real.last[key][p.index]
            assert np.linalg.norm(ours - theirs) < near * np.linalg.norm(theirs), f"{key} of layer {p.index}"
        change = fixed.state[p.index]["momentum"] * 2.0**-p.weight_update.frac_v
        assert np.linalg.norm(change - real.state[p.index]["momentum"]) < near * np.linalg.norm(change)


def gradient_of(trainer, delta, act):
    """The gradient of one weight from these products, and what an engine's overflow bit may be."""
    factors = (np.array(values, dtype=np.int64).reshape(-1, 1, 1, 1) for values in (delta, act))
    trainer._overflows = False, False
    grad = trainer._gradient(lambda d, a: (d * a).sum(axis=0).reshape(-1), *factors)
    return grad.tolist(), [flag for flag in (False, True) if trainer.overflow_agrees(flag)]


@pytest.mark.parametrize("acc_width", [24, 36, 48])
def test_gradient_overflow_is_wrapped_and_remembered(acc_width):
    trainer = ReferenceTrainer(Network("t", (1, 4, 4), (Dense(2),)), acc_width=acc_width)
    half = 1 << (acc_width - 1)
    assert gradient_of(trainer, [1, 1], [half - 2, 1]) == ([half - 1], [False])
    assert gradient_of(trainer, [1, 1], [-half, half - 1]) == (
        [-1],
        [False, True],
    )  # the order decides, not only the sum
    assert gradient_of(trainer, [1, 1, -1], [half - 1, 1, half]) == ([0], [False, True]) and not trainer.grad_overflow
    assert gradient_of(trainer, [1, 1], [half - 1, 1]) == ([-half], [True]) and trainer.grad_overflow
    assert gradient_of(trainer, [1, 1], [0, 1]) == ([1], [False]) and trainer.grad_overflow


def test_forward_is_the_forward_pass_of_a_step(rng):
    network = Network("t", (1, 6, 6), (Conv(3, 3, pool=2), Dense(3)), minibatch=4)
    trainer = ReferenceTrainer(network, 2)
    x = rng.integers(0, 4096, (10, 1, 6, 6))
    outputs = trainer.forward(x, iteration=7)
    assert outputs.shape == (10, 3) and (trainer.predict(x, 7) == outputs.argmax(axis=1)).all()
    for n in (0, 4, 8):
        fresh = ReferenceTrainer(network, 2)
        fresh.step(x[n : n + 4], np.zeros(len(x[n : n + 4]), dtype=int), 7)
        assert (fresh.last["out"][-1][:, :, 0, 0] == outputs[n : n + 4]).all()


def test_refuses_wrong_data():
    network = Network("t", (1, 4, 4), (Dense(2),), minibatch=4)
    trainer = ReferenceTrainer(network)
    with pytest.raises(ValueError, match="images of shape \\(1, 5, 4\\)"):
        trainer.step(np.zeros((4, 1, 5, 4), dtype=int), np.zeros(4, dtype=int), 0)
    with pytest.raises(ValueError, match="5 images"):
        trainer.step(np.zeros((5, 1, 4, 4), dtype=int), np.zeros(5, dtype=int), 0)
    with pytest.raises(TypeError, match="integers expected"):
        trainer.step(np.zeros((4, 1, 4, 4)), np.zeros(4, dtype=int), 0)
    with pytest.raises(OverflowError, match="outside 16 bits"):
        trainer.forward(np.full((1, 1, 4, 4), 32768))
    with pytest.raises(ValueError, match="layer 0: weight does not fit"):
        trainer.load([{key: np.zeros((1, 1)) for key in STATE}])


def test_weights_are_copies_and_load_back():
    network = Network("t", (1, 4, 4), (Dense(2),), minibatch=4)
    one, two = ReferenceTrainer(network, 1), ReferenceTrainer(network, 2)
    assert (one.state[0]["weight"] != two.state[0]["weight"]).any()
    two.load(one.weights())
    two.weights()[0]["weight"][:] = 0
    assert (one.state[0]["weight"] == two.state[0]["weight"]).all() and one.state[0]["weight"].any()


@pytest.mark.parametrize(
    "width, epochs, at_least, within", [(16, 6, 0.96, 0.01), (12, 6, 0.96, 0.015), (8, 6, 0.92, 0.06)]
)
def test_digits_as_good_as_float32(width, epochs, at_least, within):
    network = replace(load(ROOT / "examples/digits/net.toml"), data_width=width)
    digits = data.load("digits")
    fixed, real = ReferenceTrainer(network, 1), FloatTrainer(network, 1)
    x, x_test = (data.quantize_input(images, network) for images in (digits.x_train, digits.x_test))
    iteration = 0
    for epoch in range(epochs):
        for chosen in data.batches(len(x), network.minibatch, 1, epoch):
            fixed.step(x[chosen], digits.y_train[chosen], iteration)
            real.step(digits.x_train[chosen], digits.y_train[chosen])
            iteration += 1
    ours, theirs = fixed.accuracy(x_test, digits.y_test), real.accuracy(digits.x_test, digits.y_test)
    print(f"{width} bits: fixed {ours:.4f}, float32 {theirs:.4f}")
    assert ours >= at_least and ours >= theirs - within and not fixed.grad_overflow
