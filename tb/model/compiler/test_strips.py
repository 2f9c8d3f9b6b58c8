# SPDX-License-Identifier: Apache-2.0
"""Networks larger than the buffers on the instruction-level model, in every bit as the reference trainer: strips of
block rows, tiles of output maps, reductions in parts, gates in DRAM."""

import numpy as np
import pytest

from gradcore.compiler import search
from gradcore.compiler.compile import CompileError, compile_network
from gradcore.compiler.rings import Region, Ring
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import BP, FP, Opcode
from gradcore.network.description import Network
from gradcore.ops.convolution import Conv, Dense
from tb.model.compiler.networks import random_network, train_on_machine

MAPS = Network(
    "maps",
    (3, 26, 26),
    (Conv(9, (3, 3), (1, 1)), Conv(6, (5, 5), (2, 2), pool=2), Dense(4)),
    minibatch=2,
    learning_rate=0.1,
)
WEIGHTS = Network(
    "weights",
    (4, 8, 8),
    (Conv(24, (3, 3), (1, 1)), Conv(20, (3, 3), (1, 1), pool=2), Dense(32, relu=True), Dense(5)),
    minibatch=6,
    learning_rate=0.1,
)


def fields(compiled, opcode, name: str) -> set:
    return {op.instr[name] for op in compiled.train.ops if op.instr.opcode == opcode}


def test_maps_larger_than_a_buffer():
    config = EngineConfig(grid=4, cols=4, act_depth=256, gate_depth=512, mem_bytes=8)
    compiled = compile_network(MAPS, config)
    assert len(fields(compiled, Opcode.COMPUTE, "by0")) > 2
    assert fields(compiled, Opcode.STORE, "packed") == {0, 1}, "gates go to DRAM"
    assert any("strips of" in note for note in compiled.train.notes) and "strips of" in compiled.listing
    train_on_machine(MAPS, config, 2)


def test_rows_of_a_strip_are_loaded_once():
    """The first layer's images in FP, and what WU reads of them."""
    config = EngineConfig(grid=4, cols=4, act_depth=256, gate_depth=512, mem_bytes=8)
    compiled = compile_network(MAPS, config)
    loads = [op for op in compiled.infer.ops if op.instr.opcode == Opcode.LOAD and op.layer == "conv0"]
    layout = compiled.memory.images.layout
    assert len(loads) > layout.groups
    assert sum(op.instr["n_words"] for op in loads) == layout.groups * layout.group_vectors


def test_weights_and_gradients_larger_than_their_buffers():
    config = EngineConfig(grid=4, cols=4, wgt_depth=512, grad_depth=512, mem_bytes=8)
    compiled = compile_network(WEIGHTS, config)
    assert len(fields(compiled, Opcode.COMPUTE, "map0")) > 1 and len(fields(compiled, Opcode.UPDATE, "map0")) > 1
    train_on_machine(WEIGHTS, config, 3)


def test_a_reduction_larger_than_the_weight_buffer():
    config = EngineConfig(grid=4, cols=4, wgt_depth=256, grad_depth=256, mem_bytes=8)
    compiled = compile_network(WEIGHTS, config)
    assert fields(compiled, Opcode.COMPUTE, "keep_out") == {0, 1}
    train_on_machine(WEIGHTS, config, 4)


BOTH = Network(
    "both",
    (2, 8, 6),
    (Conv(12, (1, 1), pool=2), Dense(9, relu=True), Dense(3)),
    minibatch=30,
    learning_rate=0.1,
)
SPREAD = Network(
    "spread", (3, 8, 6), (Conv(8, (1, 1)), Conv(32, (3, 3), (1, 1), pool=2), Dense(5)), minibatch=21, learning_rate=0.1
)


@pytest.mark.parametrize(
    "network, mode, depths",
    [(BOTH, FP, dict(act_depth=128, wgt_depth=256)), (SPREAD, BP, dict(act_depth=1024, wgt_depth=1024))],
    ids=lambda value: getattr(value, "name", ""),
)
def test_operands_of_a_block_in_both_operand_buffers(network, mode, depths):
    config = EngineConfig(grid=4, cols=4, mem_bytes=8, grad_depth=1024, gate_depth=8192, **depths)
    compiled = compile_network(network, config)
    parts = [op for op in compiled.train.ops if op.instr.opcode == Opcode.COMPUTE and op.instr["mode"] == mode]
    layer = next(op.layer for op in parts if op.instr["keep_out"])
    assert {op.instr["row_buf"] for op in parts if op.layer == layer} == {0, 1}
    train_on_machine(network, config, 6)


def test_operands_in_both_buffers_are_loaded_once():
    """For all column groups."""
    compiled = compile_network(BOTH, EngineConfig(grid=4, cols=4, mem_bytes=8, act_depth=128, wgt_depth=256))
    loads = [op for op in compiled.infer.ops if op.instr.opcode == Opcode.LOAD and op.layer == "fc1"]
    layout = compiled.memory.act[1].layout
    assert len(loads) == 2 * layout.groups
    assert sum(op.instr["n_words"] for op in loads) == layout.groups * layout.group_vectors


def test_a_bias_does_not_make_tiles_larger():
    """A row of bias is half a beat, a column group's weights are whole beats: tiles of one group."""
    network = Network("odd", (8, 5, 5), (Dense(11), Dense(3)), minibatch=3, learning_rate=0.1)
    config = EngineConfig(grid=4, cols=4, mem_bytes=16, wgt_depth=512, grad_depth=256)
    assert any("3 tiles of output maps, kernel rows" in note for note in compile_network(network, config).train.notes)
    train_on_machine(network, config, 8)


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_in_strips(seed, monkeypatch):
    """Every layer in strips, whether it would fit or not."""
    compile_one = search._compile

    def in_strips(task, choices, *limit):
        return compile_one(task, choices.but(strips=frozenset(range(len(task[0].parameters)))))

    monkeypatch.setattr(search, "_compile", in_strips)
    for attempt in range(20):
        rng = np.random.default_rng([seed, attempt])
        config = EngineConfig(
            grid=int(rng.choice([4, 8])),
            cols=8,
            data_width=int(rng.integers(8, 17)),
            mem_bytes=int(rng.choice([8, 16, 32])),
            act_depth=int(rng.choice([256, 1024])),
            wgt_depth=int(rng.choice([512, 2048])),
            grad_depth=int(rng.choice([512, 2048])),
            gate_depth=int(rng.choice([1024, 4096])),
        )
        network = random_network(rng, config.data_width, most_images=10, largest=16)
        try:
            compile_network(network, config)
        except CompileError:
            continue
        print(f"seed {seed}, {attempt}: {config} {network}")
        train_on_machine(network, config, seed)
        return
    raise AssertionError("nothing fits")


def test_a_ring_keeps_what_has_not_been_overwritten():
    ring = Ring(0, 64)
    assert ring.need("a", 16, 0, 3) == (0, 3) and ring.ranges(16, 0, 3) == (("buf0", 0, 48),)
    assert ring.need("a", 16, 1, 4) == (3, 4) and ring.need("a", 16, 2, 4) is None
    assert ring.need("a", 16, 2, 5) == (4, 5) and ring.ranges(16, 3, 5) == (("buf0", 48, 64), ("buf0", 0, 16))
    assert ring.need("a", 16, 0, 2) == (0, 2), "row 0 has been overwritten"
    assert ring.need("b", 16, 1, 2) == (1, 2)


def test_a_fixed_ring_begins_anew():
    ring = Ring(0, 64, fixed=True)
    assert ring.need("a", 8, 0, 3) == (0, 3) and ring.need("a", 8, 1, 3) is None
    assert ring.need("a", 8, 1, 4) == (1, 4) and ring.ranges(8, 1, 4) == (("buf0", 0, 24),)
    assert ring.need("b", 8, 2, 3) == (2, 3) and ring.ranges(8, 2, 3) == (("buf0", 0, 8),)


def test_a_region_is_handed_out_in_turn():
    region = Region(8, 20)
    assert [region.take(5), region.take(5), region.take(5)] == [8, 13, 8]


def test_pieces_that_begin_inside_a_beat_are_refused():
    """Packed gates of 16 lanes are two bytes: a piece of them need not begin at a beat."""
    layers = (Conv(12, (3, 1), (1, 0)), Dense(37, bias=False), Dense(9, bias=False))
    network = Network("narrow", (3, 4, 18), layers, minibatch=39)
    sizes = dict(act_depth=4096, wgt_depth=2048, grad_depth=16384, gate_depth=65536)
    with pytest.raises(CompileError, match="bytes behind a beat of a piece of a tensor is [1-9][0-9]*, limit 0"):
        compile_network(network, EngineConfig(grid=4, cols=4, mem_bytes=32, **sizes))
