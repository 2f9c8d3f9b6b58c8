# SPDX-License-Identifier: Apache-2.0
"""Networks larger than the buffers on the instruction-level model, in every bit as the reference trainer: strips of
block rows, tiles of output maps, reductions in parts, gates in DRAM."""

from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler import search
from gradcore.compiler.compile import CompileError, compile_network
from gradcore.compiler.operation import Part
from gradcore.compiler.parts import Need, cut
from gradcore.compiler.rings import Region, Ring
from gradcore.compiler.stream import Source
from gradcore.compiler.strips import Axis, Demand, choose_strips
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import Opcode
from gradcore.network.description import Network
from gradcore.ops.convolution import Conv, Dense
from tb.model.compiler.networks import large_network, random_network, train_on_machine
from tb.support.engines import TINY

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


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("what", ["strips", "spilled", "single", "between", "deferred", "apart", "finer"])
def test_random_networks_through_dram(what, seed, monkeypatch):
    """Every layer in strips (single: of up-sampled image groups one at a time; between: BP between the tiles of WU;
    deferred: WU between the strips of BP of the layers before; apart: no WU between the strips of another's; finer: in
    finer folds), or all gates in DRAM, whether they would fit or not."""
    compile_one = search._compile

    def through_dram(task, choices, *limit):
        every = frozenset(range(len(task[0].parameters)))
        changed = dict(spilled=every) if what == "spilled" else dict(strips=every, finer=what == "finer")
        changed |= {what: every} if what in ("between", "deferred") else {}
        return compile_one(task, choices.but(**changed, beside=what != "apart"), *limit)

    def one_group(source, plan):
        source.single = source.quarters
        return plan()

    monkeypatch.setattr(search, "_compile", through_dram)
    if what in ("deferred", "strips"):  # also where it is slower
        monkeypatch.setattr(search, "_deferred", lambda best: best)
        monkeypatch.setattr(search, "_one_by_one", lambda best: best)
    if what == "single":
        monkeypatch.setattr(Source, "fitting", one_group)
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
            if len(compile_network(network, config).train.ops) > 2000:
                continue
        except CompileError:
            continue
        print(f"seed {seed}, {attempt}: {config} {network}")
        train_on_machine(network, config, seed)
        return
    raise AssertionError("nothing fits")


def test_outer_taps_reach_fewer_pixels_than_the_others():
    """The first part of BP's reduction takes one column of blocks, the next ones two: all of them must fit."""
    config = EngineConfig(cols=8, mem_bytes=32, act_depth=256, wgt_depth=2048, grad_depth=512, gate_depth=1024)
    layers = (Conv(13, (10, 2), (6, 1)), Conv(17, (3, 7), (0, 5), relu=True, pool=2), Dense(3))
    train_on_machine(Network("outer", (6, 9, 3), layers, minibatch=3, learning_rate=0.05), config, 5)


def test_gates_of_a_large_minibatch_go_to_dram():
    """All of them on chip would take more room; as bits they cost few cycles."""
    network = Network(
        "gates",
        (3, 8, 8),
        (Conv(8, (3, 3), (1, 1)), Conv(8, (3, 3), (1, 1), pool=2), Conv(5, (3, 3), (1, 1)), Dense(3)),
        minibatch=30,
    )
    wide, small = (EngineConfig(grid=4, cols=4, mem_bytes=8, gate_depth=depth) for depth in (4096, 1024))
    fine, tight = (compile_network(network, config) for config in (wide, small))
    assert not fine.setting.choices.spilled and tight.setting.choices.spilled and not tight.setting.choices.strips
    assert tight.train.cycles < 1.05 * fine.train.cycles
    train_on_machine(network, small, 5)


def test_a_ring_keeps_what_has_not_been_overwritten():
    ring = Ring(0, 64)
    assert ring.need("a", 16, 0, 3) == (0, 3) and ring.ranges(16, 0, 3) == (("buf0", 0, 48),)
    assert ring.need("a", 16, 1, 4) == (3, 4) and ring.need("a", 16, 2, 4) is None
    assert ring.need("a", 16, 2, 5) == (4, 5) and ring.ranges(16, 3, 5) == (("buf0", 48, 64), ("buf0", 0, 16))
    assert ring.need("a", 16, 0, 2) == (0, 2), "row 0 has been overwritten"
    assert ring.need("b", 16, 1, 2) == (1, 2)


def test_a_region_is_handed_out_in_turn():
    region = Region(8, 20)
    assert [region.take(5), region.take(5), region.take(5)] == [8, 13, 8]


def test_gates_in_shares():
    """Packed gates of 16 lanes are two bytes: where pieces of them would begin inside a beat, each COLS maps have
    beats of their own."""
    network = Network("narrow", (1, 2, 5), (Conv(5, (1, 1), (0, 0)), Dense(3)), minibatch=1)
    config = TINY
    compiled = compile_network(network, config)
    assert compiled.setting.choices.scattered and compiled.memory.spilled[0].layout.scattered
    train_on_machine(network, config, 1)


def test_parts_cover_the_weights_and_fit():
    """Each tap and channel in one part; what does not help is not cut."""
    setting = compile_network(WEIGHTS, EngineConfig(grid=4, cols=4)).setting
    for depth in (4, 9, 30, 200, 1000):

        def needs(part, depth=depth):
            return [Need("rows", part.count, depth, True), Need("vectors", part.channels[1] - part.channels[0], 16)]

        whole = Part((1, 2), (0, 3), (4, 22))
        parts = cut(setting, 0, whole, needs)
        found = [(*tap, c) for part in parts for tap in part.places() for c in range(*part.channels)]
        assert sorted(found) == [(y, x, c) for y in (1, 2) for x in (0, 1, 2) for c in range(4, 22)]
        assert all(part.count <= depth and part.channels[0] % 4 == 0 for part in parts)
        assert [part.first for part in parts] == [True] + [False] * (len(parts) - 1)
        assert [part.last for part in parts] == [False] * (len(parts) - 1) + [True]
        if depth == 1000:
            assert [part.taps for part in parts] == [6, 6], "only the channels do not fit"
    with pytest.raises(CompileError, match="weight rows is 4, limit 3"):
        cut(setting, 0, Part((0, 3), (0, 3), (0, 4)), lambda part: [Need("weight rows", part.count, 3)])


@pytest.mark.parametrize("step, rows", [(1, [7, 4, 3, 1, 1]), (2, [8, 4, 4, 2, 2])])
def test_lower_strips_are_a_part_of_the_map(step, rows):
    """Of a map of 7 block rows, in whole steps; one step where the next strip does not fit besides."""
    setting = compile_network(MAPS, EngineConfig(grid=4, cols=4)).setting

    def high(low: int, *demands: Demand) -> int:
        lower = replace(setting, choices=setting.choices.but(low=low))
        return choose_strips(lower, 0, (26, 26), 4, step, [*demands]).rows

    assert [high(low) for low in (1, 2, 3, 7, 100)] == rows
    axes = Axis(26, 4), Axis(26, 4)
    assert high(100, Demand("vectors of a test", 7 * step, 1, *axes)) == step


def test_gradients_of_a_chain_lie_apart():
    """UPDATE comes behind WU of the layers of a chain, and of the first layer beside it."""
    layers = (Conv(1, (1, 2), (0, 0)), Dense(2))
    network = Network("apart", (6, 1, 12), layers, minibatch=1, data_width=8, optimiser="momentum")
    train_on_machine(network, replace(TINY, data_width=8), 1)


@pytest.mark.parametrize("seed", range(12))
def test_large_networks_on_a_tiny_engine(seed):
    """Each buffer at its smallest depth: what does not fit costs cycles."""
    rng = np.random.default_rng(seed)
    config = replace(TINY, data_width=int(rng.choice([8, 11, 16])), mem_bytes=int(rng.choice([8, 16, 64])))
    network = large_network(rng, config.data_width, 300)
    print(f"seed {seed}: {config} {network}")
    train_on_machine(network, config, seed)


def test_a_walk_with_more_image_groups_loads_again():
    """Parts of WU with other strips: what one has brought image group by image group lies closer than two at once."""
    layers = (Conv(20, 3, 1, pool=2), Dense(6, relu=True), Dense(3))
    network = Network("walks", (3, 6, 6), layers, minibatch=3, learning_rate=0.05, rounding="half_even")
    train_on_machine(network, TINY, 6)


def test_nothing_fits_a_buffer_that_others_have_filled():
    """What is left of the gate buffer can be nothing."""
    assert Need("gates", 3, 0).excess(False) > 1 and Need("gates", 0, 0).excess(True) == 0
    assert (Need("gates", 3, 4).excess(True), Need("gates", 3, 4, True).excess(True)) == (0.75, 1.5)
