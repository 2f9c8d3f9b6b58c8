# SPDX-License-Identifier: Apache-2.0
"""The three optimisers with and without weight decay: every bit against plain Python loops, floats against the formulas
of PyTorch's SGD, integers near floats, what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.network import Conv, Dense, Network, NetworkError, parse
from gradcore.numerics.fixed_point import MODES
from gradcore.ops.optimiser import UpdateParameters, saturates, update
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.trainer import STATE, ReferenceTrainer
from tb.model.reference import test_graphs, test_trainer
from tb.model.reference.test_trainer import random_state

OPTIMISERS = ("sgd", "momentum", "pytorch_momentum")
LAYERS = (Conv(3, 3, 1, pool=2), Conv(2, (2, 1), (1, 0), bias=False), Dense(3))
SHAPE = (2, 6, 5)


def network(optimiser, weight_decay=0.0, layers=LAYERS, **more):
    common = dict(minibatch=5, learning_rate=0.05, optimiser=optimiser, weight_decay=weight_decay)
    return Network("t", SHAPE, layers, **common | more)


@pytest.mark.parametrize("weight_decay", [0.0, 0.02])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_step_is_the_definition(optimiser, mode, weight_decay, rng):
    width = int(rng.integers(8, 17))
    layers = (replace(LAYERS[0], learning_rate=0.2), LAYERS[1], replace(LAYERS[2], trainable=bool(rng.integers(2))))
    net = network(optimiser, weight_decay, layers, rounding=mode, data_width=width)
    half = 1 << width - 1
    x, labels = rng.integers(-half, half, (5, *SHAPE)), rng.integers(0, 3, 5)
    test_trainer.compare(net, random_state(net, rng), x, labels, int(rng.integers(1 << 32)))


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_branches_are_the_definition(optimiser, rng):
    net = Network("t", (2, 4, 5), test_graphs.BRANCHES, optimiser=optimiser, minibatch=3, weight_decay=0.01)
    x, labels = rng.integers(-9000, 9000, (3, 2, 4, 5)), rng.integers(0, 4, 3)
    test_graphs.compare(net, random_state(net, rng), x, labels, int(rng.integers(1 << 32)))


def pytorch_sgd(parameter, grad, buffer, rate, momentum, weight_decay):
    """One step of torch.optim.SGD as its documentation writes it: (parameter, momentum_buffer)."""
    if weight_decay:
        grad = grad + weight_decay * parameter
    buffer = momentum * buffer + grad if momentum else grad
    return parameter - rate * buffer, buffer


@pytest.mark.parametrize("weight_decay", [0.0, 0.02])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_floats_are_pytorch_sgd(optimiser, weight_decay, rng):
    """With a constant rate the heavy ball is the same, its momentum -rate times PyTorch's; after a change of the rate
    only pytorch_momentum is."""
    net = network(optimiser, weight_decay, (replace(LAYERS[0], learning_rate=0.2), *LAYERS[1:]))
    trainer = FloatTrainer(net, 3, np.float64)
    ours = [{"weight": s["weight"], "bias": s["bias"]} for s in trainer.state]
    buffers = [dict.fromkeys(layer, 0) for layer in ours]
    beta = 0.9 if optimiser != "sgd" else 0.0
    for step in range(6):
        if step == 3:
            if optimiser == "momentum":
                break
            trainer.network = net = net.with_learning_rate(0.01)
        x, labels = rng.normal(size=(4, *SHAPE)), rng.integers(0, 3, 4)
        trainer.step(x, labels)
        for p, mine, buffer, state in zip(net.parameters, ours, buffers, trainer.state):
            gradients = dict(weight=trainer.last["grad"][p.index], bias=trainer.last["grad_bias"][p.index])
            for key in ("weight", "bias")[: 1 + p.bias]:
                mine[key], buffer[key] = pytorch_sgd(
                    mine[key], gradients[key] / 4, buffer[key], p.learning_rate, beta, weight_decay
                )
                assert state[key] == pytest.approx(mine[key], rel=1e-9, abs=1e-12), (step, p.name, key)
                scale = 1 if optimiser == "pytorch_momentum" else p.learning_rate
                kept = state["momentum" if key == "weight" else "bias_momentum"]
                assert kept == pytest.approx(-scale * buffer[key], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("width, near", [(16, 0.01), (12, 0.15)])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_integers_follow_floats(optimiser, weight_decay, width, near, rng):
    """The sum of what some steps change, of the same gradients."""
    net = network(optimiser, weight_decay, data_width=width, minibatch=8, rounding="half_even")
    p = net.parameters[0]
    u, frac = p.weight_update, p.fd + p.fa
    grads = [rng.normal(size=500) for _ in range(8)]
    w = start = rng.normal(scale=0.4, size=500)
    fixed, v, real_v = np.round(w * 2.0**p.fw).astype(int), np.zeros(500, int), np.zeros(500)
    for grad in grads:
        r = rng.integers(0, 1 << 16, (3, 500))
        fixed, new = update(fixed, v, np.round(grad * 2.0**frac).astype(int), u, width, "stochastic", r)
        v = new if optimiser != "sgd" else v
        w, real_v = pytorch_sgd(w, grad / 8, real_v, 0.05, 0.9 if optimiser != "sgd" else 0, weight_decay)
    change, wanted = fixed * 2.0**-p.fw - start, w - start
    assert np.linalg.norm(change - wanted) < near * np.linalg.norm(wanted)
    without = 8 * 0.05 * 0.1 * start
    assert np.linalg.norm(without) > 2 * near * np.linalg.norm(wanted) or width < 16  # the test sees weight decay


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_multipliers_mean_their_numbers(optimiser, rng):
    for _ in range(20):
        rate, decay = (float(10 ** rng.uniform(*ends)) for ends in ((-3, -1), (-4, -1)))
        width, images = int(rng.integers(8, 17)), int(rng.integers(1, 129))
        net = network(optimiser, decay, learning_rate=rate, data_width=width, minibatch=images)
        for p in net.parameters:
            for u, fw, fv in ((p.weight_update, p.fw, p.fv), (p.bias_update, p.fb, p.fvb))[: 1 + p.bias]:
                behind = optimiser == "pytorch_momentum"
                assert 64 <= u.decay_m <= 32767 and 0 <= u.shift_d <= 15 and 0 <= u.shift_w <= 31
                assert u.lr_m * 2.0 ** (u.frac_g - fv - u.shift_v) == pytest.approx(
                    (1 if behind else rate) / images, rel=2**-6
                )
                found = u.decay_m * 2.0 ** (fw - fv - u.shift_v - u.shift_d)
                assert found == pytest.approx(decay if behind else rate * decay, rel=2**-6)
                if behind:
                    assert u.rate_m * 2.0 ** (fv - fw - u.shift_w) == pytest.approx(rate, rel=2**-6)
                else:
                    assert u.rate_m == 1 and u.shift_w == fv - fw


def test_saturated_words_are_those_that_update_counts(rng):
    for _ in range(50):
        numbers = UpdateParameters(
            *(int(n) for n in rng.integers(0, (32768, 32768, 20, 32, 32))),
            0,
            0,
            *map(int, rng.integers(0, (32768, 16, 32768))),
        )
        w, v = rng.integers(-2048, 2048, (2, 300))
        grad, r = rng.integers(-(1 << 40), 1 << 40, 300), rng.integers(0, 1 << 16, (3, 300))
        flags, counts = saturates(w, v, grad, numbers, 12, "stochastic", r), []
        update(w, v, grad, numbers, 12, "stochastic", r, counts)
        assert max(counts) <= flags.sum() <= sum(counts)


def test_nothing_changes_without_weight_decay(rng):
    state, x, labels = None, rng.integers(-4096, 4096, (5, *SHAPE)), rng.integers(0, 3, 5)
    for net in (network("momentum"), network("momentum", 1e-9 * 0)):
        trainer = ReferenceTrainer(net, 2)
        trainer.step(x, labels, 0)
        state = state or trainer.weights()
        assert all((one[key] == other[key]).all() for one, other in zip(state, trainer.state) for key in STATE)
    assert all(p.weight_update.decay_m == p.weight_update.shift_d == 0 for p in net.parameters)


def test_refusals():
    for wrong in (-1, 1.5, "1", True, float("nan")):
        with pytest.raises(NetworkError, match="weight_decay: .* is not supported; nearest supported: 0 to 1"):
            network("sgd", wrong)
    with pytest.raises(NetworkError, match="layer 0 'conv0': weight_decay: no shifts represent 1e-20 with a mom"):
        network("momentum", 1e-20)
    with pytest.raises(
        NetworkError, match="layer 0 'conv0': learning_rate: no shift represents 1e-20; nearest supported"
    ):
        network("pytorch_momentum", learning_rate=1e-20)


def test_a_file():
    train = 'optimiser = "pytorch_momentum"\nweight_decay = 1e-4'
    text = f'input = [1, 4, 4]\n[train]\n{train}\n[[layer]]\ntype = "dense"\nmaps = 2'
    net = parse(text)
    assert net.weight_decay == 1e-4 and net.rate_behind_momentum and net.parameters[0].fv == 14
    assert parse(text.replace("= 1e-4", "= 0")).weight_decay == 0
