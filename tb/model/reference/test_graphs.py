# SPDX-License-Identifier: Apache-2.0
"""Networks with branches: every bit against plain Python loops, gradients against finite differences, what is
refused."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler.compile import CompileError, compile_network
from gradcore.isa.config import EngineConfig
from gradcore.network import (
    Add,
    AveragePool,
    Conv,
    Dense,
    Dropout,
    LeakyReluLayer,
    MaxPool,
    Network,
    NetworkError,
    ReluLayer,
    Sigmoid,
    Tanh,
    parse,
)
from gradcore.numerics.fixed_point import MODES
from gradcore.numerics.random_numbers import iteration_seed
from gradcore.ops.kinds import KINDS
from gradcore.ops.loss import LOSSES
from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.trainer import STATE, ReferenceTrainer
from tb.model.plain_graph import Step
from tb.model.reference.test_trainer import as_array, random_state
from tb.support.evidence import note

BRANCHES = (
    Conv(3, 3, 1, relu=False, name="stem"),
    ReluLayer(name="active"),
    Conv(3, 3, 1, name="body", formats={"act": 9, "weight": 12, "delta": 13}),
    Conv(3, (1, 3), (0, 1), relu=False, name="side", inputs=("active",), bias=False),
    Add(name="sum", inputs=("body", "active", "side"), formats={"act": 8}),
    MaxPool(name="small"),
    AveragePool((1, 2), name="mean", inputs=("small",)),
    Dense(4, name="last"),
)


def random_graph(rng):
    """Layers that read what earlier ones have left, anything that fits, until one pixel is left."""
    shapes, layers, unread = {"input": (int(rng.integers(1, 4)), *map(int, rng.integers(3, 8, 2)))}, [], []
    first = shapes["input"]
    for number in range(int(rng.integers(2, 6))):
        name, source = f"l{number}", str(rng.choice(list(shapes)))
        _, *size = shapes[source]
        formats = {"act": int(rng.integers(8, 12)), "delta": int(rng.integers(10, 14))} if rng.random() < 0.5 else {}
        alike = [other for other in shapes if shapes[other] == shapes[source]]
        kind = rng.choice(["conv", "relu", "max", "average", "add", "element"])
        common = dict(name=name, inputs=(source,))
        if kind == "relu" and source != "input":
            layers.append(ReluLayer(**common))
        elif kind == "max":
            layers.append(MaxPool(*random_windows(rng, size), bool(rng.integers(2)), **common))
        elif kind == "average":
            layers.append(AveragePool(*random_windows(rng, size), **common, formats=formats))
        elif kind == "element":
            layers.append(random_element(rng, **common, formats=formats))
        elif kind == "add" and len(alike) > 1:
            chosen = (source, *map(str, rng.choice(alike, int(rng.integers(1, 3)))))
            layers.append(Add(name=name, inputs=chosen, formats=formats))
        else:
            flags, stride = rng.random(2) < 0.5, tuple(map(int, rng.choice([1, 1, 2, 3], 2)))
            groups = int(rng.choice([n for n in range(1, 4) if shapes[source][0] % n == 0]))
            maps, more = groups * int(rng.integers(1, 3)), dict(stride=stride, groups=groups, formats=formats)
            layers.append(Conv(maps, 3, 1, *map(bool, flags), **common, **more))
        shapes[name] = shapes[source]
        for _, operator in layers[-1].operators([shapes[key] for key in layers[-1].inputs]):
            shapes[name] = operator.shape([shapes[name]])
        unread = [key for key in [*unread, name] if key not in layers[-1].inputs]
    for number, name in enumerate(unread):
        layers.append(Dense(3, bool(rng.integers(2)), name=f"d{number}", inputs=(name,)))
    if len(unread) > 1:
        layers.append(Add(name="all", inputs=tuple(f"d{number}" for number in range(len(unread)))))
    return first, tuple(layers)


def random_network(rng, plain=False, **more):
    """A network of a `random_graph` whose formats fit each other; plain: all of them the default ones."""
    while True:
        shape, layers = random_graph(rng)
        if plain:
            layers = tuple(replace(layer, formats={}) for layer in layers)
        with suppress(NetworkError):
            return Network("t", shape, layers, **more)


def random_element(rng, **common):
    """A layer that treats each element by itself."""
    kind = rng.integers(4)
    if kind < 2:
        return (LeakyReluLayer(float(rng.random()), **common), Dropout(float(rng.random() * 0.9), **common))[kind]
    return (Sigmoid, Tanh)[kind - 2](**common)


def random_windows(rng, size):
    """(window, stride, pad) that fit maps of `size`; every third time the stride is the window."""
    window = tuple(int(rng.integers(1, min(n, 5) + 1)) for n in size)
    stride = None if rng.random() < 0.3 else tuple(map(int, rng.integers(1, 4, 2)))
    return window, stride, tuple(int(rng.integers(0, n // 2 + 1)) for n in window)


def compare(network, state, x, labels, seed):
    """Two steps of the trainer equal two plain steps in every tensor, local gradient and weight."""
    trainer = ReferenceTrainer(network, seed, state)
    for iteration in (0, 5):
        plain = Step(network, state, x.tolist(), labels, iteration_seed(seed, iteration))
        assert trainer.step(x, labels, iteration) == plain.loss
        for name, words in plain.tensors.items():
            tensor = next(t for t in reversed(network.graph.tensors.values()) if t.layer_name == name)
            assert (trainer.last["words"][tensor.name] == as_array(words.values)).all(), name
            assert (name in plain.deltas) == (tensor.name in trainer.last["deltas"]), name
            if name in plain.deltas:
                assert (trainer.last["deltas"][tensor.name] == as_array(plain.deltas[name])).all(), name
        state = [{key: as_array(layer[key]) for key in STATE} for layer in plain.new]
        for p, ours, theirs in zip(network.parameters, trainer.weights(), state):
            for key in STATE:
                assert (ours[key] == theirs[key]).all(), f"{key} of {p.name}, iteration {iteration}"
    note("loops", network)


@pytest.mark.parametrize("mode", MODES)
def test_branches_are_the_definition(mode, rng):
    loss = str(rng.choice(list(LOSSES)))
    network = Network("t", (2, 4, 5), BRANCHES, loss=loss, rounding=mode, minibatch=3, learning_rate=0.02)
    x, labels = rng.integers(-9000, 9000, (3, 2, 4, 5)), rng.integers(0, 4, 3)
    compare(network, random_state(network, rng), x, labels, int(rng.integers(1 << 32)))


@pytest.mark.parametrize("number", range(40))
def test_random_graphs_are_the_definition(number, rng):
    width = int(rng.integers(8, 17))
    network = random_network(rng, width < 16, loss=str(rng.choice(list(LOSSES))), data_width=width, minibatch=3)
    half = 1 << width - 1
    x, labels = rng.integers(-half, half, (3, *network.shape)), rng.integers(0, network.classes, 3)
    compare(network, random_state(network, rng), x, labels, int(rng.integers(1 << 32)))


@pytest.mark.parametrize("number", range(6))
def test_float_gradients_by_finite_differences(number, rng):
    loss = list(LOSSES)[number % 3]
    network = Network("t", (2, 4, 5), BRANCHES, loss) if number < 2 else random_network(rng, loss=loss)
    trainer = FloatTrainer(network, 3, np.float64)
    x, labels = rng.normal(size=(4, *network.shape)), rng.integers(0, network.classes, 4)
    trainer.gradients(x, labels)
    exact = [dict(weight=g, bias=b) for g, b in zip(trainer.last["grad"], trainer.last["grad_bias"])]
    for p, state, gradients in zip(network.parameters, trainer.state, exact):
        for key in ("weight", "bias")[: 1 + p.bias]:
            for index in list(np.ndindex(state[key].shape))[::7]:
                kept, values = state[key][index], []
                for change in (1e-7, -1e-7):
                    state[key][index] = kept + change
                    values.append(trainer.gradients(x, labels))
                state[key][index] = kept
                assert (values[0] - values[1]) / 2e-7 == pytest.approx(gradients[key][index], rel=1e-4, abs=1e-3)


def test_integers_follow_floats(rng):
    network = Network("t", (2, 4, 5), BRANCHES, rounding="half_even", minibatch=8, learning_rate=0.02)
    x, labels = rng.uniform(-1, 1, (8, 2, 4, 5)), rng.integers(0, 4, 8)
    fixed, real = ReferenceTrainer(network, 5), FloatTrainer(network, 5, np.float64)
    fixed.step(np.round(x * 4096).astype(int), labels, 0)
    real.step(np.round(x * 4096) / 4096, labels)
    for p in network.parameters:
        ours, theirs = fixed.last["grad"][p.index] * 2.0 ** -(p.fd + p.fa), real.last["grad"][p.index]
        assert np.linalg.norm(ours - theirs) < 0.05 * np.linalg.norm(theirs), p.name


@pytest.mark.parametrize("pool", [None, 2])
def test_layers_of_their_own_are_those_of_a_convolution(pool, rng):
    """ReLU and pooling behind a convolution, as fields or as layers: the same bits, where no random numbers are
    drawn."""
    fields = (Conv(4, 3, 1, pool=pool, name="a"), Conv(4, 3, name="b"), Dense(3, name="c"))
    tail = (MaxPool(name="p"),) if pool else ()
    apart = (Conv(4, 3, 1, relu=False, name="a"), ReluLayer(), *tail, Conv(4, 3, relu=False, name="b"), ReluLayer())
    networks = [
        Network("t", (2, 8, 8), layers, rounding="half_even", minibatch=4) for layers in (fields, (*apart, fields[-1]))
    ]
    state = random_state(networks[0], rng)
    x, labels = rng.integers(-4096, 4096, (4, 2, 8, 8)), rng.integers(0, 3, 4)
    one, other = (ReferenceTrainer(network, 1, state) for network in networks)
    assert one.step(x, labels, 0) == other.step(x, labels, 0)
    for mine, theirs in zip(one.weights(), other.weights()):
        assert all((mine[key] == theirs[key]).all() for key in STATE)
    config = EngineConfig(grid=4, cols=4)
    binaries = [compile_network(network, config).train.binary.tobytes() for network in networks]
    assert len(binaries[0]) == len(binaries[1])
    assert [p.alone for p in networks[1].parameters] == [True] * 3


TOML = """
name = "t"
input = [1, 4, 4]
[[layer]]
type = "conv"
name = "a"
maps = 2
pad = 1
[[layer]]
type = "conv"
name = "b"
maps = 2
pad = 1
[[layer]]
type = "add"
name = "c"
inputs = ["a", "b"]
[[layer]]
type = "average_pool"
input = "c"
window = [2, 2]
[[layer]]
type = "dense"
maps = 3
"""


def test_branches_in_a_file():
    network = parse(TOML)
    assert [node.name for node in network.graph.nodes] == ["a", "a:relu", "b", "b:relu", "c", "average3", "fc4"]
    assert network.graph.nodes[4].inputs == ("a:relu", "b:relu") and network.graph.output.shape == (3, 1, 1)


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            '["a", "b"]',
            '["a", "d"]',
            "layer 2 'c': inputs: no layer before this one is called 'd'; nearest supported: ",
        ),
        ('["a", "b"]', '["a", "bb"]', "called 'bb'; nearest supported: b"),
        ('["a", "b"]', '["a"]', "layer 2 'c': inputs: 1 of them; nearest supported: 2 to 16 names"),
        ('["a", "b"]', "3", "layer 2 'c': inputs: 3 is not a list of names"),
        (
            '["a", "b"]',
            '["a", "input"]',
            "inputs: have the shapes .2, 4, 4. and .1, 4, 4.; nearest supported: one shape",
        ),
        ('input = "c"', 'input = "c"\ninputs = ["c"]', "layer 3: input: stands beside inputs"),
        ('input = "c"', 'input = "b"', "layer 2 'c': layer: nobody reads it"),
        ('name = "c"', 'name = "input"', "layer 2 'input': name: 'input' is the network's input"),
        (
            "window = [2, 2]",
            "window = 5",
            "layer 3 'average3': window: 5x5 does not fit maps of 4x4; nearest supported: 4x4",
        ),
        ("window = [2, 2]", "window = 0", "layer 3 'average3': window: 0 is outside 1..128"),
        ("window = [2, 2]", "format = { weight = 3 }", "format.weight: is not a known field"),
        ('type = "dense"\nmaps = 3', 'type = "average_pool"\nwindow = 2\n[[layer]]\ntype = "relu"', "not its ReLU"),
    ],
)
def test_refusals(old, new, message):
    with pytest.raises(NetworkError, match=message):
        parse(TOML.replace(old, new))


def test_what_the_engine_cannot_is_refused_by_name():
    for layer, what in (
        (MaxPool(2, stride=3), "layer 'pool0': .* maximum pooling yet"),
        (Conv(2, groups=2), "layer 'conv0': .* a convolution in 2 groups of 1 output and 1 input maps yet"),
        (MaxPool(3), "layer 'pool0': .* maximum pooling yet"),
    ):
        with pytest.raises(CompileError, match=what):
            compile_network(Network("t", (2, 9, 9), (layer, Dense(2))))
    layers = (Conv(2, name="a"), Conv(2, name="b", inputs=("input",)), Add(inputs=("a", "b")), Dense(2))
    with pytest.raises(
        CompileError, match="layer 'b': the engine cannot compute a second convolution of the network's"
    ):
        compile_network(Network("t", (1, 6, 6), layers))


def test_every_kind_has_a_type():
    assert len(set(KINDS.values())) == len(KINDS) and all(kind.prefix and kind.__doc__ for kind in KINDS.values())
