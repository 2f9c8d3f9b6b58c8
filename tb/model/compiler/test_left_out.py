# SPDX-License-Identifier: Apache-2.0
"""Engines without a part: what needs it is refused by layer and part, what does not is compiled without it."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.compiler.limits import NotBuilt
from gradcore.files.places import ROOT
from gradcore.isa.config import BOARDS, EngineConfig
from gradcore.isa.instruction import Opcode
from gradcore.network import AveragePool, Conv, Dense, Dropout, LeakyReluLayer, MaxPool, Network, Sigmoid, load
from gradcore.ops.loss import SOFTMAX
from tb.model.compiler.networks import fitting_network, train_on_machine
from tb.support.cases import seeds
from tb.support.engines import BARE, BYTES

FIRST, LAST = Conv(8, (3, 3), (1, 1)), Dense(4)
# What needs a part: layers in between, loss; the layer and the words of the message.
NEEDS = {
    "sigmoid": ([Sigmoid()], "has_vector", "sigmoid1", "a sigmoid"),
    "mean": ([AveragePool((2, 2))], "has_vector", "average1", "an average pooling"),
    "windows": ([MaxPool((3, 3))], "has_vector", "pool1", "a maximum pooling"),
    "dropout": ([Dropout(0.5)], "has_factor", "dropout1", "a dropout"),
    "leaky": ([LeakyReluLayer(0.125)], "has_factor", "leaky1", "a leaky ReLU"),
    "softmax": ([], "has_softmax", "fc1", f"the loss {SOFTMAX}"),
}


@pytest.mark.parametrize("what", NEEDS)
def test_refuses_what_needs_the_part_that_is_missing(what):
    layers, part, name, words = NEEDS[what]
    loss = SOFTMAX if what == "softmax" else "euclidean"
    network = Network("net", (2, 8, 8), (replace(FIRST, relu=what != "leaky"), *layers, LAST), minibatch=3, loss=loss)
    for config in (EngineConfig(grid=4, cols=4), EngineConfig(grid=4, cols=8, mem_bytes=16)):
        compile_network(network, config)
        with pytest.raises(NotBuilt, match=rf"^layer '{name}': {words}.* needs an engine with {part}=1; .* {part}=0$"):
            compile_network(network, replace(config, **{part: 0}))
        rest = {one: 0 for one in ("has_vector", "has_softmax", "has_factor") if one != part}
        compile_network(network, replace(config, **rest))


def test_a_stride_that_vector_would_unfold_is_refused_by_layer():
    network = Network("net", (8, 9, 9), (FIRST, Conv(8, (3, 3), stride=(2, 2)), LAST), minibatch=1)
    config = EngineConfig(grid=8, cols=8, mem_bytes=16)
    assert any(op.instr.opcode == Opcode.VECTOR for op in compile_network(network, config).train.ops)
    with pytest.raises(NotBuilt, match=r"^layer '\w+': '.*' needs an engine with has_vector=1"):
        compile_network(network, replace(config, has_vector=0))


@pytest.mark.parametrize("seed", seeds(12, 4))
def test_what_fits_uses_no_part(seed):
    network = fitting_network(np.random.default_rng(seed), BARE, most_images=9, largest=12)
    compiled = compile_network(network, BARE)
    for op in (*compiled.train.ops, *compiled.infer.ops):
        fields = op.instr.fields
        assert op.instr.opcode != Opcode.VECTOR and not fields.get("softmax") and not fields.get("factor"), op
    train_on_machine(network, BARE, seed)
    compile_network(network, BYTES)  # and an engine with all parts takes it, too


def test_the_boards_network_needs_no_part():
    network = load(ROOT / "boards" / "ulx3s" / "digits.toml")
    ops = compile_network(network, BOARDS["ulx3s"]).train.ops
    assert {op.instr.opcode for op in ops}.isdisjoint({Opcode.VECTOR})
