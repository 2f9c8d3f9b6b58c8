# SPDX-License-Identifier: Apache-2.0
"""Layers that VECTOR computes on the instruction-level model: training iterations of random networks, in every bit as
the reference trainer."""

import os
from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler import compile, moves, search, vectors
from gradcore.compiler.compile import compile_network
from gradcore.compiler.limits import CompileError
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import CHOOSE, INDEX, LOAD_TABLE, MAXIMUM, SLOPE, SUM, TABLE, Opcode
from gradcore.network.description import Network
from gradcore.numerics.fixed_point import MODES
from gradcore.ops.activation import LeakyReluLayer, ReluLayer, Sigmoid, Tanh
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.checks import NetworkError
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.loss import SOFTMAX
from gradcore.ops.max_pooling import MaxPool
from gradcore.reference.trainer import initial_weights
from tb.model.compiler.networks import fitting_network, own_training, train_on_machine

COUNT = int(os.environ.get("NETWORKS", "8"))
FIRST = int(os.environ.get("SEED", "1"))
ENGINES = {
    "default": EngineConfig(),
    "small": EngineConfig(grid=4, cols=4, mem_bytes=64, act_depth=1024, wgt_depth=256, grad_depth=256, gate_depth=512),
    "narrow": EngineConfig(grid=4, cols=8, data_width=8, mem_bytes=64, act_depth=1024),
    "tiny": EngineConfig(grid=4, cols=4, mem_bytes=8, act_depth=256, wgt_depth=64, grad_depth=64, gate_depth=256),
}


def random_stage(rng, shape: tuple):
    """A table activation, a pooling that fits maps of `shape`, or a dropout."""
    kind = rng.random()
    if kind > 0.8:
        return Dropout(float(rng.choice([0, 0.5, 0.9, rng.uniform(0, 0.9)])))
    if kind < 0.4:
        return Sigmoid() if kind < 0.2 else Tanh()
    window = tuple(int(rng.integers(1, min(5, size) + 1)) for size in shape)
    stride = tuple(int(rng.integers(1, size + 2)) for size in window)
    pad = tuple(int(rng.integers(0, size // 2 + 1)) for size in window)
    if kind < 0.6:
        return MaxPool(window=window, stride=stride, pad=pad, ceil_mode=bool(rng.random() < 0.4))
    return AveragePool(window=window, stride=stride, pad=pad)


def ends_in_stages(rng, pixels: tuple, last: Dense) -> list:
    """A table or a dropout behind the last layer, or instead of it a global mean over maps of `pixels`, half of them
    with a table before them."""
    kind = rng.random()
    if kind < 0.4:
        return [last, Tanh() if kind < 0.25 else Dropout(0.3)]
    table = [Sigmoid()] * int(rng.integers(0, 2))
    return [Conv(last.maps, (1, 1), relu=bool(rng.random() < 0.5)), *table, AveragePool(window=tuple(pixels))]


def random_network(rng, config: EngineConfig) -> Network:
    """Convolutions and fully connected layers with up to two stages behind each, behind the last one before softmax
    alone, of all rounding modes."""
    while True:
        shape = int(rng.integers(1, 6)), int(rng.integers(2, 13)), int(rng.integers(2, 13))
        layers, pixels, stages = [], shape[1:], 0
        for _ in range(int(rng.integers(1, 4))):
            kernel = tuple(int(rng.integers(1, min(3, size) + 1)) for size in pixels)
            pad = tuple(int(rng.integers(0, k)) for k in kernel)
            pixels = tuple(n + 2 * p - k + 1 for n, p, k in zip(pixels, pad, kernel))
            pool = 2 if min(pixels) > 1 and rng.random() < 0.2 else None
            layers.append(Conv(int(rng.integers(1, 14)), kernel, pad, relu=bool(rng.random() < 0.5), pool=pool))
            pixels = tuple(n // 2 for n in pixels) if pool else pixels
            leaky = not (pool or layers[-1].relu) and rng.random() < 0.5
            layers.append(LeakyReluLayer(slope=float(rng.choice([0, 1, rng.random()]))) if leaky else ReluLayer())
            layers[-1:] = layers[-1:] * bool(leaky or rng.random() < 0.2)
            for _ in range(int(rng.choice([0, 1, 1, 2]))):
                layers.append(random_stage(rng, pixels))
                (_, *pixels) = layers[-1].operators([(1, *pixels)])[0][1].shape([(1, *pixels)])
                stages += 1
        if rng.random() < 0.3:
            layers.append(Dense(int(rng.integers(1, 12)), relu=bool(rng.random() < 0.5)))
            layers.append(Tanh())
            stages, pixels = stages + 1, (1, 1)
        layers.append(Dense(int(rng.integers(2, 8))))
        loss = str(rng.choice(["euclidean", "square_hinge", SOFTMAX]))
        if loss == SOFTMAX and rng.random() < 0.6:
            layers[-1:] = ends_in_stages(rng, pixels, layers[-1])
            stages += 1
        images = int(rng.choice([1, 3, 17, 70]))
        plain = [mode for mode in MODES if mode != "stochastic"]
        modes = {kind: "stochastic" if rng.random() < 0.6 else str(rng.choice(plain)) for kind in ("act", "delta")}
        modes["param"] = "stochastic"
        more = (loss, "momentum", 0.5, 0.9, images, config.data_width, modes)
        try:
            network = Network("stages", shape, tuple(layers), *more)
            if stages and np.prod(shape) * images < 6000:
                network = own_training(rng, network) if rng.random() < 0.2 else network
                compile_network(network, config)
                return network
        except (NetworkError, CompileError):
            continue


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
@pytest.mark.parametrize("engine", ENGINES)
def test_random_networks_train_bit_exactly(engine, seed, monkeypatch):
    """Every second one in bands of one row."""
    if seed % 2:
        monkeypatch.setattr(moves, "MOST_CYCLES", 1)
    network = random_network(np.random.default_rng(seed), ENGINES[engine])
    print(f"seed {seed}: {network}")
    train_on_machine(network, ENGINES[engine], seed)


def network_of(*layers, images: int = 20, **more) -> Network:
    more = dict(rounding="half_even", minibatch=images, learning_rate=0.5) | more
    return Network("stages", (2, 9, 9), (*layers, Dense(4)), **more)


INDEXED = 8  # a maximum with its indices


def operations(program) -> list:
    vectors = [op.instr for op in program.ops if op.instr.opcode == Opcode.VECTOR]
    return [INDEXED if instr["index_behind"] else instr["operation"] for instr in vectors]


MAX, MEAN = MaxPool(window=(3, 3), stride=(2, 2)), AveragePool(window=(9, 9))
GRID4 = EngineConfig(grid=4, cols=4, mem_bytes=16)


@pytest.mark.parametrize(
    "layers, train, infer",
    [
        ((Conv(5, (3, 3), (1, 1), pool=2),), [], []),
        ((Conv(5, (3, 3), (1, 1)), ReluLayer(), MaxPool()), [], []),
        ((Conv(5, (3, 3), (1, 1)), MaxPool(), ReluLayer()), [], []),
        ((Conv(5, (3, 3), (1, 1)), MAX), [INDEXED] * 2 + [CHOOSE] * 2, [MAXIMUM] * 2),
        ((Conv(5, (3, 3), (1, 1)), MEAN), [SUM, INDEX] * 2 + [SUM, CHOOSE] * 2, [SUM] * 2),
        (
            (Conv(5, (3, 3), (1, 1), relu=False), Tanh(), MaxPool()),
            [LOAD_TABLE, *([TABLE, INDEXED] * 2), CHOOSE, LOAD_TABLE, SLOPE, CHOOSE, SLOPE],
            [LOAD_TABLE, *([TABLE, MAXIMUM] * 2)],
        ),
        ((Conv(5, (3, 3), (1, 1), trainable=False), MAX), [MAXIMUM] * 2, [MAXIMUM] * 2),
    ],
)
def test_what_vectors_do(layers, train, infer):
    """Of two groups of images; only what the backward pass needs is kept for it."""
    layers = tuple(
        replace(one, relu=False) if ReluLayer() in layers and isinstance(one, Conv) else one for one in layers
    )
    compiled = compile_network(network_of(*layers), GRID4)
    ordered = sorted(operations(compiled.train))
    assert ordered == sorted(train) and sorted(operations(compiled.infer)) == sorted(infer)


@pytest.mark.parametrize("behind", [(), (Dropout(),), (MAX,)])
@pytest.mark.parametrize("rounding", ["half_even", "stochastic"])
@pytest.mark.parametrize("relu", [False, True])
def test_relu_behind_a_pooling(behind, rounding, relu):
    """It is done before the pooling. With few values: many ties, and windows without one above zero."""
    first = Conv(9, (3, 3), (1, 1), relu=relu, formats=dict(act=1))
    network = network_of(first, MaxPool(), ReluLayer(), *behind, Conv(5, pad=(1, 1)), rounding=rounding)
    assert network.parameters[0].relu and network.parameters[0].pool
    train_on_machine(network, GRID4, 1)


@pytest.mark.parametrize("rounding", ["half_even", "stochastic"])
@pytest.mark.parametrize("slope", [0, 0.01, 0.1, 1])
def test_leaky_relu_before_stages(slope, rounding):
    """With few values: many zeros. Formats of its own have more fraction bits, or as many and fewer of the delta."""
    for own in (dict(), dict(act=5, delta=9)):
        leaky = LeakyReluLayer(slope=slope, formats=own)
        first = Conv(9, (3, 3), (1, 1), relu=False, formats=dict(act=2, delta=11))
        for stages in ((MaxPool(),), (AveragePool(), Tanh())):
            network = network_of(first, leaky, *stages, Conv(5, formats=dict(act=9)), rounding=rounding)
            assert network.parameters[0].leaky
            train_on_machine(network, GRID4, 1)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_poolings_apart(seed, monkeypatch):
    """2x2 maximum poolings as stages, wherever that is possible, whether it would be faster or not."""
    rng = np.random.default_rng(seed)
    network = fitting_network(rng, GRID4)
    while not any(p.pool and not p.factor for p in network.parameters):
        network = fitting_network(rng, GRID4)
    names = frozenset(p.name for p in network.parameters if p.pool and not p.factor)
    monkeypatch.setattr(compile, "search", lambda *task: search.fastest(*task, names))
    train_on_machine(network, GRID4, seed)


def test_a_pooling_is_apart_where_that_is_faster():
    """BP of 5x5 over few pixels: in fold 0 it leaves out most taps that lie outside."""
    layers = Conv(8, (3, 3), pool=2, relu=False), Conv(12, (5, 5), pool=2)
    network = Network("small", (1, 18, 18), (*layers, Dense(4)), minibatch=64)
    apart = compile_network(network, GRID4)
    whole = search.fastest(network, GRID4, 64, False)
    assert [bool(p.pool) for p in apart.network.parameters[:2]] == [True, False] and whole.network.parameters[1].pool
    assert apart.train.cycles < whole.train.cycles


def test_initial_weights_know_what_is_directly_behind():
    """Not what the compiler makes of it."""
    without, behind = (
        initial_weights(network_of(Conv(5, relu=False), MaxPool(), *more), 1)[0]["weight"]
        for more in ((), (ReluLayer(),))
    )
    assert (without == behind).all()


def test_gates_come_later_and_in_bands(monkeypatch):
    """The least that the next layer waits for comes first. Nothing is stored between VECTORs of one band each."""
    mean = AveragePool(window=(3, 3), stride=(2, 2))
    network = network_of(Conv(5, (3, 3), (1, 1)), mean, Conv(6, (3, 3), (1, 1)), images=40)
    plain = compile_network(network, GRID4).train
    monkeypatch.setattr(moves, "MOST_CYCLES", 100)
    compile.recent.clear()
    program = compile_network(network, GRID4).train
    found = operations(program)
    assert len(found) > 2 * len(operations(plain)), "several bands of a group"
    vectors = [(k, op.text) for k, op in enumerate(program.ops) if op.instr.opcode == Opcode.VECTOR]
    for group in ("group 0", "group 1"):
        last = max(k for k, text in vectors if text.startswith("sum") and ".act" in text and group in text)
        first = min(k for k, text in vectors if text.startswith("index") and group in text)
        assert last < first
    train_on_machine(network, GRID4, 1)


def test_indices_too_far_behind_come_later(monkeypatch):
    monkeypatch.setattr(vectors, "MOST_BEHIND", 0)
    network = network_of(Conv(5, (3, 3), (1, 1)), MAX)
    assert set(operations(compile_network(network, GRID4).train)) == {MAXIMUM, INDEX, CHOOSE}
    train_on_machine(network, GRID4, 1)


def test_gates_behind_an_overlapping_maximum_are_indices():
    """Nothing passes where all pixels of a window are zero behind the ReLU."""
    found = [op.instr for op in compile_network(network_of(Conv(5), MAX), GRID4).train.ops if "relu" in op.instr.fields]
    assert {instr["relu"] for instr in found if instr.opcode == Opcode.VECTOR} == {1}


def test_tensors_longer_than_a_pixel(monkeypatch):
    monkeypatch.setattr(moves, "MOST_BEATS", 40)
    network = network_of(Conv(5, (3, 3), (1, 1)), Sigmoid())
    ops = compile_network(network, GRID4).train.ops
    assert any(op.instr["n_x"] > 1 for op in ops if op.instr.opcode == Opcode.VECTOR)
    train_on_machine(network, GRID4, 1)


def test_formats_of_their_own():
    """Arguments of tables far outside the range of the shift, other fractions on both sides."""
    for act, own in ((-6, dict(act=3, delta=5)), (14, dict(act=13)), (9, dict(act=12, delta=14))):
        layers = Conv(5, (3, 3), (1, 1), relu=False, formats=dict(act=act)), Tanh(formats=own), AveragePool(formats=own)
        train_on_machine(network_of(*layers), GRID4, 1)


@pytest.mark.parametrize(
    "layers, more, name, what",
    [
        ((Conv(5), Dense(3), Tanh()), dict(loss="square_hinge"), "tanh2", "a tanh before the loss square_hinge"),
        (
            (Conv(5), AveragePool(window=(7, 7))),
            dict(loss="euclidean"),
            "average1",
            "an average pooling before the loss",
        ),
        (
            (Conv(5), Dense(3), Dropout()),
            dict(loss="square_hinge"),
            "dropout2",
            "a dropout before the loss square_hinge",
        ),
        (
            (Conv(5, relu=False, formats=dict(act=13)), LeakyReluLayer(formats=dict(act=9)), MAX),
            {},
            "leaky1",
            "a leaky ReLU that others .* fewer",
        ),
        (
            (Conv(5, relu=False, formats=dict(delta=20)), LeakyReluLayer(formats=dict(delta=5)), MAX),
            {},
            "leaky1",
            "a leaky ReLU that others .* 15 more",
        ),
        ((MAX,), {}, "pool0", "maximum pooling"),
        (
            (Conv(5, relu=False, formats=dict(delta=15)), Tanh(formats=dict(delta=-5))),
            {},
            "tanh1",
            "a tanh whose input",
        ),
    ],
)
def test_refuses_by_name(layers, more, name, what):
    last = () if "before the loss" in what else (Dense(4),)
    plain = dict(rounding="half_even", minibatch=5) | more
    with pytest.raises(CompileError, match=f"layer '{name}': the engine cannot compute {what}.*nearest supported: "):
        compile_network(Network("stages", (2, 9, 9), (*layers, *last), **plain), GRID4)
