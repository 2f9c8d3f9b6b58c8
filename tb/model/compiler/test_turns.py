# SPDX-License-Identifier: Apache-2.0
"""Image groups in turns on the instruction-level model, in every bit as the reference trainer: operands of fully
connected layers that stay in both operand buffers, FP in turns with the layer before, and the last STORE of BP before
WU."""

import re
from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler import compile, search
from gradcore.compiler.compile import CompileError, compile_network
from gradcore.compiler.compiled import compile_program
from gradcore.compiler.strips import Axis, Demand, choose_strips
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import BP, FP, WU, Opcode
from gradcore.network.description import Network
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.max_pooling import MaxPool
from tb.model.compiler import test_vector
from tb.model.compiler.mixed import mixed_network
from tb.model.compiler.networks import large_network, train_on_machine
from tb.model.compiler.test_large_dense import small_engine

# Weights come in tiles, of BP in parts; operands of three image groups fit both buffers, but not one.
ENGINE = EngineConfig(grid=4, cols=4, mem_bytes=8, act_depth=256, wgt_depth=256, grad_depth=256, gate_depth=1024)
DENSE = Network(
    "dense",
    (2, 6, 4),
    (Conv(12, (1, 1), pool=2), Dense(40, relu=True), Dense(36, relu=True), Dense(3)),
    minibatch=41,
    learning_rate=0.1,
)
STAGES = Network(
    "stages",
    (3, 12, 12),
    (Conv(6, (3, 3), (1, 1)), MaxPool((3, 3), (2, 2)), Conv(9, (3, 3), (1, 1)), MaxPool((3, 3), (2, 2)), Dense(4)),
    minibatch=64,
    learning_rate=0.1,
)
GRID4 = EngineConfig(grid=4, cols=4, mem_bytes=16, act_depth=1024)
KINDS = (("fc2", BP), ("fc3", WU))


def test_operands_of_all_images_are_loaded_once():
    """For all tiles of weights; else each tile loads them anew."""
    compiled = compile_network(DENSE, ENGINE)
    assert 2 in compiled.setting.choices.held
    notes = [note for note in compiled.train.notes if "operands in both" in note]
    assert {note.split(":")[0] for note in notes} == {"fc2 FP", "fc2 BP"}
    plain = replace(compiled.setting, choices=compiled.setting.choices.but(held=frozenset()))
    layout = compiled.memory.act[2].layout
    for program, times in ((compiled.infer, 1), (compile_program("infer", plain), 3)):
        loads = [op for op in program.ops if op.instr.opcode == Opcode.LOAD and op.layer == "fc2"]
        assert sum(op.instr["n_words"] for op in loads) == times * layout.groups * layout.group_vectors
    assert compiled.train.cycles < compile_program("train", plain).cycles
    train_on_machine(DENSE, ENGINE, 3)


def test_what_comes_between_takes_the_operands_away(monkeypatch):
    """Tiles of the next layer's WU between those of BP: what had stayed is loaded anew."""
    network = replace(DENSE, layers=(*DENSE.layers[:-1], Dense(30)))
    config, compile_one = replace(ENGINE, grad_depth=64), search._compile

    def between(task, choices, *limit):
        every = frozenset(range(len(task[0].parameters)))
        return compile_one(task, choices.but(strips=every, held=every, deferred=frozenset({3})), *limit)

    monkeypatch.setattr(search, "_compile", between)
    monkeypatch.setattr(search, "_deferred", lambda best: best)
    compile.recent.clear()
    compiled = compile_network(network, config)
    assert any("fc2 BP" in note and "operands in both" in note for note in compiled.train.notes)
    ops = [op for op in compiled.train.ops if op.instr.opcode == Opcode.COMPUTE]
    passes = "".join("w" if op.layer == "fc3" else "b" for op in ops if (op.layer, op.instr["mode"]) in KINDS)
    assert re.search("bw+b", passes)
    train_on_machine(network, config, 4)


@pytest.mark.parametrize("mode", [FP, BP])
@pytest.mark.parametrize("seed", range(8))
def test_random_fully_connected_layers(seed, mode, monkeypatch):
    """Operands stay wherever that is possible, whether it would be faster or not, for several tiles of weights; in
    every second network WU of other layers comes between."""
    compile_one = search._compile

    def everywhere(task, choices, *limit):
        every = frozenset(range(len(task[0].parameters)))
        deferred = every if seed % 2 else frozenset()
        return compile_one(task, choices.but(strips=every, held=every, deferred=deferred), *limit)

    monkeypatch.setattr(search, "_compile", everywhere)
    monkeypatch.setattr(search, "_deferred", lambda best: best)
    for attempt in range(200):
        rng = np.random.default_rng([seed, attempt])
        config = small_engine(rng, [128, 256], [64, 256], [1024])
        before = large_network(rng, config.data_width, 300, images=int(rng.integers(17, 60)))
        layers = *before.layers[:-1], Dense(int(rng.integers(5, 40)), relu=True), before.layers[-1]
        network = replace(before, layers=layers)
        try:
            compiled = compile_network(network, config)
        except CompileError:
            continue
        reads = "FP: strips" if mode == FP else " BP: "
        notes = (note for note in compiled.train.notes if "operands in both" in note and ", 1 tiles" not in note)
        stay = [note for note in notes if reads in note]
        if len(compiled.train.ops) < 2000 and stay:
            print(f"seed {seed}, {attempt}: {config} {network}")
            train_on_machine(network, config, seed)
            return
    raise AssertionError("nothing fits")


def test_groups_in_turns():
    """A layer computes its first images before the layer before it has computed its last ones."""
    setting = compile_network(STAGES, GRID4).setting
    for turned in (frozenset(), {1}):
        program = compile_program("infer", replace(setting, choices=setting.choices.but(turned=frozenset(turned))))
        layers = [op.layer for op in program.ops if op.instr.opcode == Opcode.COMPUTE]
        last = len(layers) - layers[::-1].index("conv0")
        assert (layers.index("conv2") < last) == bool(turned) == any("in turns" in note for note in program.notes)


def test_the_last_store_of_bp_is_urgent():
    """VECTORs of the stages before come behind it, and WU reads its buffer."""
    setting = compile_network(STAGES, GRID4).setting
    program = compile_program("train", replace(setting, choices=setting.choices.but(urgent=frozenset({1}))))
    stores = [
        op for op in program.ops if op.instr.opcode == Opcode.STORE and "delta" in op.text and op.layer == "conv2"
    ]
    assert [op.instr["urgent"] for op in stores] == [0] * (len(stores) - 1) + [1]


@pytest.mark.parametrize("seed", range(16))
def test_random_stages(seed, monkeypatch):
    """In turns, with urgent STOREs, whether that would be faster or not; in every second network with all operators."""
    compile_one = search._compile

    def everywhere(task, choices, *limit):
        every = frozenset(range(len(task[0].parameters)))
        return compile_one(task, choices.but(strips=every, turned=every, urgent=every), *limit)

    rng, draw = np.random.default_rng(seed), mixed_network if seed % 2 else test_vector.random_network
    network = draw(rng, GRID4)
    while network.minibatch < 17 and not any(p.stride != (1, 1) for p in network.parameters[1:]):
        network = draw(rng, GRID4)
    monkeypatch.setattr(search, "_compile", everywhere)
    compile.recent.clear()
    print(f"seed {seed}: {network}")
    train_on_machine(network, GRID4, seed)


def test_fewer_columns_where_nothing_is_loaded_twice():
    """Of 7 rows of 16 blocks of 9 vectors: two rows do not fit, but two of half as many columns; a window of three
    columns would load some of them twice."""
    setting = compile_network(STAGES, GRID4).setting
    for reach, columns in ((0, 8), (1, 16)):
        axes = Axis(7, 1), Axis(16, 1, -reach, reach)
        demand = Demand("vectors of a test", 200, 9, *axes, ring=True)
        assert (
            choose_strips(replace(setting, choices=setting.choices.but(low=7)), 0, (7, 16), 1, 1, [demand]).columns
            == columns
        )
