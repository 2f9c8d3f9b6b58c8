# SPDX-License-Identifier: Apache-2.0
"""Dropout and leaky ReLU as factors of a COMPUTE's results, and dropout as a stage: training on the instruction-level
model equal to the reference in every bit; what the compiler refuses."""

from dataclasses import replace

import pytest

from gradcore.compiler import moves
from gradcore.compiler.compile import CompileError, compile_network
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import FACTOR_GATE, FACTOR_KEEP, FACTOR_SIGN, SUM, Opcode
from gradcore.network.description import Network
from gradcore.numerics.fixed_point import MODES
from gradcore.numerics.random_numbers import random_tag
from gradcore.ops.activation import LeakyReluLayer, ReluLayer, Sigmoid, Tanh
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.loss import SOFTMAX
from gradcore.ops.max_pooling import MaxPool
from tb.model.compiler.networks import train_on_machine

CONFIG = EngineConfig(grid=4, cols=4, mem_bytes=16, act_depth=1024, wgt_depth=2048, grad_depth=2048, gate_depth=4096)
TAIL = (Conv(3, 2, relu=True), Dense(4))


def network(*layers, images: int = 5, **more) -> Network:
    return Network("factors", (2, 8, 7), layers, minibatch=images, **more)


def chosen(compiled) -> list[tuple[int, int]]:
    """(mode, factor) of the COMPUTEs, each once."""
    fields = (op.instr.fields for op in compiled if op.instr.opcode.name == "COMPUTE")
    return sorted({(one["mode"], one.get("factor", 0)) for one in fields})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "layers",
    [
        (Conv(5, 3, relu=True), Dropout(p=0.3)),
        (Conv(5, 3, relu=True, pool=2), Dropout(p=0.5)),
        (Conv(5, 3, pad=1, relu=False), Dropout(p=0.9), Conv(2, 1, relu=False), LeakyReluLayer(slope=0.2)),
        (
            Conv(6, 3, relu=False),
            LeakyReluLayer(),
            Dense(7, relu=True),
            Dropout(p=0.6),
            Dense(6),
            LeakyReluLayer(slope=1),
        ),
        (Conv(4, 3, relu=False, trainable=False), LeakyReluLayer(slope=0.3), Conv(3, 1, relu=True, pool=2), Dropout()),
        (
            Conv(5, 2, relu=False),
            Dropout(p=0.4, formats=dict(act=7, delta=14)),
            Conv(4, 2, relu=False),
            LeakyReluLayer(formats=dict(delta=9)),
        ),
    ],
)
def test_trains_as_the_reference(layers, mode):
    tail = TAIL if isinstance(layers[0], Conv) and not any(isinstance(one, Dense) for one in layers) else (Dense(4),)
    train_on_machine(network(*layers, *tail, rounding=mode), CONFIG, 3)


def test_a_narrow_local_gradient_before_a_wide_one():
    """The product is shifted to the left: the factor is."""
    first = replace(Conv(5, 3, relu=True), formats=dict(delta=14))
    train_on_machine(network(first, Dropout(p=0.3, formats=dict(delta=1)), *TAIL), CONFIG, 4)
    with pytest.raises(CompileError, match="layer 'conv2': factor of a dropout"):
        compile_network(network(first, Dropout(p=0.8, formats=dict(delta=-3)), *TAIL), CONFIG)


def test_dropout_is_off_in_inference():
    layers = (Conv(5, 3, relu=True), Dropout(), *TAIL)
    compiled = compile_network(network(*layers), CONFIG)
    assert chosen(compiled.train.ops) == [(0, 0), (0, FACTOR_KEEP), (1, 0), (1, FACTOR_KEEP), (2, 0)]
    assert chosen(compiled.infer.ops) == [(0, 0)]
    other = compile_network(network(layers[0], Dropout(formats=dict(act=8)), *TAIL), CONFIG)
    assert chosen(other.infer.ops) == [(0, 0), (0, FACTOR_KEEP)]


def test_the_gate_chooses_the_factor_of_a_leaky_relu():
    compiled = compile_network(network(Conv(5, 3, relu=False), LeakyReluLayer(), *TAIL), CONFIG)
    assert chosen(compiled.train.ops) == [(0, 0), (0, FACTOR_SIGN), (1, 0), (1, FACTOR_GATE), (2, 0)]
    assert chosen(compiled.infer.ops) == [(0, 0), (0, FACTOR_SIGN)]


STAGES = {
    "maximum": (Conv(5, 3), MaxPool(window=(3, 3), stride=(2, 2)), Dropout(p=0.5), Dense(6, relu=True), Dropout()),
    "mean": (Conv(5, 3, relu=True, pool=2), AveragePool(2), Dropout(p=0.9)),
    "tanh": (Conv(5, 3, relu=False), Tanh(), Dropout(p=0.3), Conv(3, 2)),
    "before": (Conv(5, 3, relu=True), Dropout(p=0.2), MaxPool(), Conv(3, 2)),
    "before a table": (Conv(5, 3, relu=False), Dropout(p=0.2), Sigmoid()),
    "before a ReLU": (Conv(5, 3, relu=False), Dropout(p=0.3), ReluLayer(), Conv(3, 2)),
    "leaky ReLU": (Conv(5, 3, relu=False), LeakyReluLayer(), Dropout(p=0.3), Conv(3, 2)),
    "two": (Conv(5, 3, relu=True), Dropout(p=0.2), Dropout(p=0.4)),
    "nothing": (Conv(5, 3, relu=True), Tanh(), Dropout(p=0)),
    "frozen": (Conv(5, 3, relu=True, trainable=False), Tanh(), Dropout(p=0.4)),
    "fine": (Conv(5, 3, relu=True), Tanh(), Dropout(p=0.4, formats=dict(act=14, delta=6))),
    "coarse": (Conv(5, 3, relu=True), Tanh(), Dropout(p=0.4, formats=dict(act=7, delta=14))),
    "finer than its products": (
        Conv(5, 3, formats=dict(act=1)),
        Tanh(formats=dict(act=1)),
        Dropout(formats=dict(act=13)),
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", STAGES)
def test_dropout_as_a_stage(place, mode, monkeypatch):
    """Of a group of images that padding fills, and of two, with what can be cut into bands in those of one row."""
    for images, most in ((5, moves.MOST_CYCLES), (20, 1)):
        monkeypatch.setattr(moves, "MOST_CYCLES", most)
        train_on_machine(network(*STAGES[place], Dense(4), images=images, rounding=mode), CONFIG, 3)


@pytest.mark.parametrize("mode", ["half_even", "stochastic"])
def test_dropout_before_softmax(mode):
    train_on_machine(network(*TAIL, Dropout(p=0.3), images=20, loss=SOFTMAX, rounding=mode), CONFIG, 3)


def test_a_stage_drops_in_training_alone():
    compiled = compile_network(network(*STAGES["maximum"], Dense(4), rounding="stochastic"), CONFIG)
    train, infer = (
        [op.instr for op in one.ops if op.instr.opcode == Opcode.VECTOR] for one in (compiled.train, compiled.infer)
    )
    kept = [
        (instr["operation"], instr["keep_threshold"], instr["keep_tag"]) for instr in train if instr["keep_threshold"]
    ]
    assert kept == [(SUM, 1 << 15, random_tag(2, "mask"))] * 2
    assert (0, FACTOR_KEEP) in chosen(compiled.train.ops), "that of the drain"
    (passed,) = (instr for instr in infer if instr["operation"] == SUM)
    assert [passed[name] for name in ("keep_threshold", "multiplier", "shift", "rounding")] == [0, 1, 0, 0]


@pytest.mark.parametrize(
    "layers, name, what",
    [
        ((Dropout(), *TAIL), "dropout0", "dropout"),
        ((Conv(5, 3, relu=True, pool=2), LeakyReluLayer(), *TAIL), "leaky1", "leaky ReLU"),
        ((*TAIL, Dropout()), "dropout2", "a dropout before the loss"),
        ((*TAIL, LeakyReluLayer()), "leaky2", "a leaky ReLU before the loss"),
        (
            (Conv(5, 3), Tanh(formats=dict(delta=20)), Dropout(formats=dict(delta=5)), *TAIL),
            "dropout2",
            "a dropout whose input has a delta of 3 more fraction bits",
        ),
    ],
)
def test_refuses_by_name(layers, name, what):
    with pytest.raises(CompileError, match=f"layer '{name}': the engine cannot compute {what}"):
        compile_network(network(*layers), CONFIG)
