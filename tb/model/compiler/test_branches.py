# SPDX-License-Identifier: Apache-2.0
"""Networks with branches and additions on the instruction-level model: training iterations of random ones, in every bit
as the reference trainer."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler import moves
from gradcore.compiler.compile import compile_network
from gradcore.compiler.limits import CompileError
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import ADD, CHOOSE, INDEX, MAXIMUM, SUM, Opcode
from gradcore.network.description import Network
from gradcore.numerics.fixed_point import MODES
from gradcore.ops.activation import LeakyReluLayer, ReluLayer, Tanh
from gradcore.ops.addition import Add
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.loss import SOFTMAX
from gradcore.ops.max_pooling import MaxPool
from tb.model.compiler.networks import own_optimiser, own_training, train_on_machine
from tb.model.compiler.test_vector import ENGINES, GRID4, operations, random_stage
from tb.support.cases import seeds


def random_layers(rng, shape: tuple, plain: bool) -> tuple:
    """A convolution, then layers that read any earlier ones, until all are read. plain: in the usual formats."""
    layers, shapes, unread = [], {}, []

    def add(layer, *inputs: str):
        name = f"l{len(layers)}"
        shapes[name] = shapes[inputs[0]] if inputs else shape
        for _, operator in layer.operators([shapes[name]] * max(len(inputs), 1)):
            shapes[name] = operator.shape([shapes[name]])
        layers.append(replace(layer, name=name, inputs=inputs))
        unread[:] = [other for other in unread if other not in inputs] + [name]

    def conv(maps: int) -> Conv:
        kernel, flags = int(rng.choice([1, 3])), rng.random(2) < 0.5
        return Conv(maps, kernel, kernel // 2, *map(bool, flags), formats=formats(rng, plain, "act", "delta"))

    add(replace(conv(int(rng.integers(1, 10))), pool=2 if rng.random() < 0.2 else None))
    for _ in range(int(rng.integers(3, 9))):
        source, kind = str(rng.choice(list(shapes)[-4:])), rng.random()
        alike = [name for name in shapes if shapes[name] == shapes[source]]
        if kind < 0.4:
            maps = shapes[source][0] if rng.random() < 0.7 else int(rng.integers(1, 10))
            pool = 2 if min(shapes[source][1:]) > 1 and rng.random() < 0.1 else None
            add(replace(conv(maps), pool=pool), source)
        elif kind < 0.75:
            add(Add(formats=formats(rng, plain, "act", "delta")), source, str(rng.choice(alike)))
        elif kind < 0.9:
            add(ReluLayer(), source)
        else:
            add(random_stage(rng, shapes[source][1:]), source)
    for name in unread[:]:
        add(Dense(3, bool(rng.random() < 0.5)), name)
    while len(unread) > 1:
        add(Add(), *unread[:2])
    add(Dense(int(rng.integers(2, 6))), *unread)
    return tuple(layers)


def formats(rng, plain: bool, *kinds: str) -> dict:
    """Formats of their own, of half of the layers, unless `plain`."""
    if plain or rng.random() < 0.5:
        return {}
    usual = {"act": 10, "delta": 12}
    return {kind: usual[kind] + int(rng.integers(-2, 3)) for kind in kinds}


def random_network(rng, config: EngineConfig) -> Network:
    """A network of `random_layers` that the engine has room for."""
    while True:
        shape = int(rng.integers(1, 5)), int(rng.integers(2, 11)), int(rng.integers(2, 11))
        modes = {kind: str(rng.choice(list(MODES))) for kind in ("act", "delta", "param")}
        loss = str(rng.choice(["euclidean", "square_hinge", SOFTMAX]))
        images = int(rng.choice([1, 3, 17, 70]))
        layers = random_layers(rng, shape, config.data_width != 16)
        more = (loss, "momentum", 0.5, 0.9, images, config.data_width, modes)
        with suppress(NetworkError, CompileError):
            network = Network("branches", shape, layers, *more)
            if np.prod(shape) * images > 4000 or all(len(readers) < 2 for readers in network.graph.readers.values()):
                continue
            network = own_training(rng, network) if rng.random() < 0.3 else network
            network = own_optimiser(rng, network) if rng.random() < 0.3 else network
            compile_network(network, config)
            return network


@pytest.mark.parametrize("seed", seeds(12, 2))
@pytest.mark.parametrize("engine", ENGINES)
def test_random_networks_train_bit_exactly(engine, seed):
    network = random_network(np.random.default_rng(seed), ENGINES[engine])
    print(f"seed {seed}: {network}")
    train_on_machine(network, ENGINES[engine], seed)


def network_of(*layers, images: int = 20, **more) -> Network:
    more = dict(rounding="half_even", minibatch=images, learning_rate=0.5) | more
    return Network("branches", (2, 6, 7), (*layers, Dense(4)), **more)


def conv(name: str, *inputs: str, relu: bool = False, **more) -> Conv:
    return Conv(5, 3, 1, relu=relu, name=name, inputs=inputs, **more)


def block(source: str, name: str, **more) -> tuple:
    """A residual block of two convolutions with the identity beside them."""
    first = conv(f"{name}1", source, relu=True), conv(f"{name}2", **more)
    return (*first, Add(name=f"{name}3", inputs=(source, f"{name}2")), ReluLayer(name=name))


@pytest.mark.parametrize(
    "layers, train, infer",
    [
        # The local gradient of the addition is that of both its terms.
        (block("a", "b"), [MAXIMUM, ADD, MAXIMUM, INDEX, CHOOSE, ADD], [MAXIMUM, ADD, MAXIMUM]),
        ((conv("b", "a"), conv("c", "a"), Add(inputs=("b", "c"))), [ADD, ADD], [ADD]),
        ((conv("b", relu=True), Add(inputs=("a", "b"))), [ADD, INDEX, CHOOSE, ADD], [ADD]),
        (
            (conv("b", formats={"delta": 11}), Add(inputs=("a", "b"), formats={"delta": 13})),
            [ADD, SUM, SUM, ADD],
            [ADD],
        ),
        ((conv("b", "a", trainable=False), Add(inputs=("a", "b"))), [ADD, ADD], [ADD]),
        ((Add(inputs=("a", "a")),), [ADD, ADD], [ADD]),
    ],
)
def test_what_vectors_do(layers, train, infer):
    """Of one group of images; a ReLU from tensor to tensor first needs zeros."""
    network = network_of(conv("a"), *layers, images=1)
    compiled = compile_network(network, EngineConfig())
    assert sorted(operations(compiled.train)) == sorted(train)
    assert sorted(operations(compiled.infer)) == sorted(infer)
    train_on_machine(network, GRID4, 1)


def test_frozen_branches():
    """Beside trained layers there are some that need no local gradient."""
    layers = [conv("a", trainable=False), conv("b", "a"), conv("c", "a", trainable=False), conv("d", trainable=False)]
    layers += [Add(name="s", inputs=("b", "d")), conv("e", "a", trainable=False), Add(inputs=("e", "s"))]
    for rounding in ("half_even", "stochastic"):
        train_on_machine(network_of(*layers, rounding=rounding), GRID4, 1)


def test_contributions_saturate_one_after_the_other():
    """Three readers whose local gradients are far too large for words: the order of the sums matters."""
    formats = {"delta": 15}
    layers = [conv("a", formats=formats), *(conv(name, "a") for name in "bcd")]
    layers += [Add(name="s", inputs=("b", "c")), Add(inputs=("s", "d"))]
    train_on_machine(network_of(*layers, learning_rate=8.0), GRID4, 1, iterations=3)


@pytest.mark.parametrize(
    "act, delta, rounding",
    [
        ((8, 11, 7), (10, 13, 11), "half_even"),
        ((11, 8, 11), (13, 9, 14), "half_up"),
        ((10, 10, 7), (9, 9, 9), "stochastic"),
    ],
)
def test_formats_of_their_own(act, delta, rounding):
    """Both terms of an addition and its result."""
    one, other, both = (dict(zip(("act", "delta"), pair)) for pair in zip(act, delta))
    layers = conv("a", formats=one), conv("b", formats=other), Add(inputs=("a", "b"), formats=both)
    train_on_machine(network_of(*layers, rounding=rounding), GRID4, 1)


@pytest.mark.parametrize("rounding", ["half_even", "stochastic"])
@pytest.mark.parametrize(
    "layers",
    [
        (Conv(4, 3, 1, relu=True), AveragePool(window=(6, 7))),
        (Conv(4, 3, 1), Tanh(), AveragePool(window=(6, 7))),
        (conv("a"), conv("b", "a"), Add(inputs=("a", "b")), AveragePool(window=(6, 7))),
        (Dense(4, name="a"), Dense(4, name="b", inputs=("a",)), Add(inputs=("a", "b"))),
    ],
)
def test_stages_before_softmax(layers, rounding):
    """Mean of whole maps, tables and additions as the last layer."""
    network = Network("last", (2, 6, 7), layers, SOFTMAX, rounding=rounding, minibatch=20, learning_rate=0.5)
    train_on_machine(network, GRID4, 1)


@pytest.mark.parametrize("rounding", ["half_even", "stochastic"])
def test_a_leaky_relu_with_two_readers(rounding):
    layers = conv("a"), LeakyReluLayer(name="l", slope=0.3), conv("b"), Add(inputs=("l", "b"))
    network = network_of(*layers, rounding=rounding)
    assert network.parameters[0].leaky
    train_on_machine(network, GRID4, 1)


@pytest.mark.parametrize("rounding", ["half_even", "stochastic"])
@pytest.mark.parametrize(
    "layers",
    [
        (conv("a"), Dropout(name="l", p=0.3), conv("b"), Add(inputs=("l", "b"))),
        (conv("a"), conv("b"), Dropout(name="l", p=0.3, inputs=("a",)), Add(inputs=("l", "b"))),
        (conv("a"), conv("b"), Add(inputs=("a", "b")), Dropout(p=0.6)),
        (conv("a", relu=True), Dropout(name="l"), Add(inputs=("a", "l")), ReluLayer(), Dropout(p=0.2), MaxPool()),
    ],
)
def test_dropout_in_branches(layers, rounding):
    network = network_of(*layers, rounding=rounding)
    assert not any(p.factor for p in network.parameters)
    train_on_machine(network, GRID4, 1)


@pytest.mark.parametrize("window", [1, 3])
def test_a_pooling_that_stands_behind_a_later_layer(window):
    """It alone reads what a ReLU leaves, and does not know of it. With few values: many windows without one above
    zero."""
    branches = [Conv(6, (3, 3), (1, 1), name=name, inputs=("x",), formats=dict(act=2)) for name in "ab"]
    pools = [MaxPool((window, window), (2, 2), name=f"{name}p", inputs=(name,)) for name in "ab"]
    last = Add(inputs=("ap", "bp"), formats=dict(act=2)), Dense(4)
    more = dict(rounding="half_even", minibatch=20, learning_rate=0.5)
    layers = Conv(5, (3, 3), (1, 1), name="x"), *branches, *pools, *last
    train_on_machine(Network("behind", (2, 9, 9), layers, **more), GRID4, 1)


def test_a_relu_longer_than_a_pixel(monkeypatch):
    monkeypatch.setattr(moves, "MOST_BEATS", 300)
    network = network_of(conv("a"), *block("a", "b"), AveragePool(window=2))
    found = [op.instr for op in compile_network(network, GRID4).train.ops if op.instr.opcode == Opcode.VECTOR]
    assert any(instr["width"] == 2 and instr["n_y"] > 1 for instr in found if instr["operation"] == MAXIMUM)
    train_on_machine(network, GRID4, 1)


@pytest.mark.parametrize(
    "layers, more, name, what",
    [
        ((conv("a"), conv("b"), conv("c"), Add(name="s", inputs=("a", "b", "c"))), {}, "s", "an addition of 3 tensors"),
        (
            (
                conv("a", formats={"act": -6}),
                conv("b", formats={"weight": 31, "bias": 13}, trainable=False),
                Add(name="s", inputs=("a", "b")),
            ),
            {},
            "s",
            "an addition of formats that differ by 16 bits",
        ),
        ((conv("a"), conv("b", "input"), Add(inputs=("a", "b"))), {}, "b", "a second convolution of the network's"),
        (
            (Conv(2, 3, 1, name="a"), Add(name="s", inputs=("a", "input"))),
            {},
            "s",
            "an addition of the network's input",
        ),
        (
            (conv("a"), Dense(4, name="d"), Dense(4, name="e"), Add(name="s", inputs=("d", "e"))),
            {},
            "s",
            "an addition be",
        ),
    ],
)
def test_refuses_by_name(layers, more, name, what):
    plain = dict(rounding="half_even", minibatch=5) | more
    last = () if what.endswith(" be") else (Dense(4),)
    with pytest.raises(CompileError, match=f"layer '{name}': the engine cannot compute {what}.*nearest supported: "):
        compile_network(Network("branches", (2, 6, 7), (*layers, *last), **plain), GRID4)
