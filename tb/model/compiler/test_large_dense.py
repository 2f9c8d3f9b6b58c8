# SPDX-License-Identifier: Apache-2.0
"""Large fully connected layers on the instruction-level model, in every bit as the reference trainer: operands of a
block in both operand buffers, WU in parts of the weights of which the gradients of two fit, rows of bias by
themselves."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler import compile, search, tiles
from gradcore.compiler.compile import CompileError, compile_network
from gradcore.compiler.compiled import compile_program
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import FP, WU, Opcode
from gradcore.network.description import Network
from gradcore.ops.convolution import Conv, Dense
from tb.model.compiler.networks import large_network, train_on_machine

# 144 vectors of operands fit neither buffer, but both; 145 rows of gradients fit once.
ENGINE = EngineConfig(grid=4, cols=4, mem_bytes=8, act_depth=128, wgt_depth=256, grad_depth=256, gate_depth=512)
BOTH = Network(
    "both", (2, 8, 6), (Conv(12, (1, 1), pool=2), Dense(9, relu=True), Dense(3)), minibatch=30, learning_rate=0.1
)


def computes(program, layer: str, mode: int) -> list:
    found = [op for op in program.ops if op.layer == layer and op.instr.opcode == Opcode.COMPUTE]
    return [op for op in found if op.instr["mode"] == mode]


def test_operands_in_both_buffers_are_loaded_once():
    """For all column groups; with them in one buffer each group loads them anew."""
    compiled = compile_network(BOTH, ENGINE)
    assert compiled.setting.choices.held == {1} and "held 1," in compiled.listing
    assert {op.instr["row_buf"] for op in computes(compiled.train, "fc1", FP)} == {0, 1}
    assert any("fc1 FP: block by block in parts, operands in both" in note for note in compiled.train.notes)
    layout = compiled.memory.act[1].layout
    plain = replace(compiled.setting, choices=compiled.setting.choices.but(held=frozenset()))
    for program, times in ((compiled.infer, 1), (compile_program("infer", plain), 3)):
        loads = [op for op in program.ops if op.instr.opcode == Opcode.LOAD and op.layer == "fc1"]
        assert sum(op.instr["n_words"] for op in loads) == times * layout.groups * layout.group_vectors
    assert compiled.train.cycles < compile_program("train", plain).cycles
    train_on_machine(BOTH, ENGINE, 6)


def test_gradients_of_two_parts_fit():
    """UPDATE of one part runs beside WU of the next."""
    compiled = compile_network(BOTH, ENGINE)
    assert compiled.setting.choices.halves == {1}
    updates = [op for op in compiled.train.ops if op.instr.opcode == Opcode.UPDATE and op.layer == "fc1"]
    assert all(2 * op.instr["n_words"] <= ENGINE.grad_depth for op in updates)
    assert len({op.instr["col_base"] for op in computes(compiled.train, "fc1", WU)}) > 1
    plain = replace(compiled.setting, choices=compiled.setting.choices.but(halves=frozenset()))
    assert compiled.train.cycles < compile_program("train", plain).cycles


def test_inputs_of_one_tap_are_cut_in_halves():
    """Where each row of weights begins at a beat, parts may begin at any COLS input maps."""
    layers = (Conv(140, (1, 1)), Dense(20, relu=True), Dense(3))
    network = Network("tap", (4, 1, 1), layers, minibatch=9, optimiser="momentum")
    config = replace(ENGINE, act_depth=256, wgt_depth=512)
    assert compile_network(network, config).setting.choices.halves == {1}
    train_on_machine(network, config, 2)


def test_rows_of_bias_that_make_tiles_larger_lie_by_themselves(monkeypatch):
    """A row of bias is half a beat, a column group's weights are whole beats: the gradients of two groups, with rows of
    bias side by side, fit only once, those of one fit twice."""
    layers = (Conv(6, (1, 1)), Dense(33, relu=True), Dense(3))
    network = Network("odd", (3, 4, 5), layers, minibatch=16, optimiser="momentum")
    config = EngineConfig(grid=4, cols=4, mem_bytes=16, wgt_depth=512, grad_depth=256)
    compiled = compile_network(network, config)
    layout = compiled.memory.weight[1].layout
    assert layout.pieces and layout.dense and layout.inner == 120
    assert "fc1 WU: 9 tiles of output maps, all weights" in compiled.train.notes
    assert not compiled.memory.weight[2].layout.pieces, "all its gradients fit"
    train_on_machine(network, config, 8)
    monkeypatch.setattr(tiles, "in_pieces", lambda *about: False)
    compile.recent.clear()
    assert compile_network(network, config).train.cycles > compiled.train.cycles


def small_engine(rng, vectors: list[int], rows: list[int], gates: list[int]) -> EngineConfig:
    """Of lanes in a grid of 4; `vectors`, `rows`, `gates`: depths of its buffers that are drawn from."""
    return EngineConfig(
        grid=4,
        cols=int(rng.choice([4, 8])),
        data_width=int(rng.choice([8, 11, 16])),
        mem_bytes=int(rng.choice([8, 16, 32])),
        act_depth=int(rng.choice(vectors)),
        wgt_depth=int(rng.choice(rows)),
        grad_depth=int(rng.choice(rows)),
        gate_depth=int(rng.choice(gates)),
    )


@pytest.mark.parametrize("what", ["held", "halves"])
@pytest.mark.parametrize("seed", range(8))
def test_random_networks(seed, what, monkeypatch):
    """Wherever that is possible, whether it would be faster or not."""
    compile_one = search._compile

    def everywhere(task, choices, *limit):
        every = frozenset(range(len(task[0].parameters)))
        return compile_one(task, choices.but(**{"strips": every, what: every}), *limit)

    monkeypatch.setattr(search, "_compile", everywhere)
    for attempt in range(60):
        rng = np.random.default_rng([seed, attempt])
        config = small_engine(rng, [64, 128, 256], [32, 256], [64, 1024])
        network = large_network(rng, config.data_width, 300)
        try:
            compiled = compile_network(network, config)
        except CompileError:
            continue
        text = dict(held="operands in both", halves="parts of the weights")[what]
        if len(compiled.train.ops) < 1500 and any(text in note for note in compiled.train.notes):
            print(f"seed {seed}, {attempt}: {config} {network}")
            train_on_machine(network, config, seed)
            return
    raise AssertionError("nothing fits")
