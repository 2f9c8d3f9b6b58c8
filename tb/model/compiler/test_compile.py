# SPDX-License-Identifier: Apache-2.0
"""What the compiler promises beside right results: tokens that are needed, refusals that name the cause, folds, cycles,
listing."""

from pathlib import Path

import numpy as np
import pytest

from gradcore.compiler.compile import CompileError, compile_network
from gradcore.compiler.folds import choose_folds, forward_steps
from gradcore.compiler.limits import REFUSED
from gradcore.compiler.operation import compute_cycles
from gradcore.isa import instruction as isa
from gradcore.isa.config import EngineConfig
from gradcore.isa.instruction import ENGINES, PRODUCERS, Opcode
from gradcore.machine.machine import Deadlock, Machine
from gradcore.network.description import Network
from gradcore.numerics.random_numbers import iteration_seed
from gradcore.ops.convolution import Conv, Dense
from gradcore.reference.trainer import ReferenceTrainer
from tb.model.compiler.networks import minibatch, train_on_machine

SMALL = EngineConfig(grid=4, cols=4, act_depth=256, wgt_depth=256, grad_depth=256, gate_depth=1024, mem_bytes=16)
NET = Network(
    "net",
    (2, 8, 8),
    (Conv(5, (3, 3), (1, 1)), Conv(6, (3, 3), (1, 1), pool=2), Conv(4, (3, 3), (1, 1)), Dense(3)),
    minibatch=5,
    learning_rate=0.5,
)

WIDE = Network(
    "wide",
    (2, 8, 8),
    (Conv(40, (3, 3), (1, 1), pool=2), Conv(40, (3, 3), (1, 1)), Dense(3)),
    minibatch=5,
    learning_rate=0.5,
)


def stage(compiled, trainer, x, labels):
    """Memory with program, weights and minibatch; (memory, program address, bases)."""
    memory = np.zeros(1 << 20, np.uint8)
    program, images, bits = 1 << 18, 1 << 19, 3 << 18
    for address, data in (
        (0, compiled.initial_image(trainer.weights())),
        (program, compiled.train.binary),
        (images, compiled.pack_images(x)),
        (bits, compiled.pack_targets(labels)),
    ):
        memory[address : address + data.size] = data
    return memory, program, (0, images, bits, 0)


def pairs(compiled) -> list:
    return sorted(
        {(p, op.engine) for op in compiled.train.ops for p in range(len(PRODUCERS)) if op.instr["wait"] >> p & 1}
    )


def test_every_kind_of_token_is_needed():
    """Without the tokens from one producer to one consumer some order gives wrong results: the orders that the machine
    tries are bad enough."""
    compiled = compile_network(NET, SMALL)
    rng = np.random.default_rng(1)
    x, labels = minibatch(rng, NET, NET.minibatch)
    trainer = ReferenceTrainer(NET, 1)
    before = trainer.weights()
    loss = trainer.step(x, labels, 0)
    unharmed = []
    found = pairs(compiled)
    assert len(found) >= 7
    for producer, consumer in [(None, None), *found]:
        wrong = 0
        for seed in range(12 if producer is None else 30):
            trainer.load(before)
            memory, program, bases = stage(compiled, trainer, x, labels)
            instructions = isa.disassemble(memory[program : program + compiled.train.binary.size])
            for instr in instructions:
                if producer is not None:
                    signal = "signal_read" if PRODUCERS[producer] == "compute_read" else "signal"
                    if instr.opcode != Opcode.END and isa.ENGINE[instr.opcode] == consumer:
                        instr["wait"] &= ~(1 << producer)
                    if signal in isa.FIELDS[instr.opcode] and _produces(instr, producer):
                        instr[signal] &= ~(1 << consumer)
            memory[program : program + compiled.train.binary.size] = isa.assemble(instructions)
            machine = Machine(SMALL, memory, "random", seed)
            machine.run(program, bases, iteration_seed(1, 0))
            trainer.step(x, labels, 0)
            state = compiled.unpack_state(lambda t: memory[t.addr : t.end])
            same = machine.loss == loss and all((a[k] == b[k]).all() for a, b in zip(state, trainer.state) for k in a)
            wrong += not same
            if wrong and producer is not None:
                break
        if producer is None:
            assert not wrong
        elif not wrong:
            unharmed.append((PRODUCERS[producer], ENGINES[consumer]))

    assert not unharmed


def _produces(instr, producer: int) -> bool:
    name = PRODUCERS[producer].split("_")[0]
    return instr.opcode != Opcode.END and ENGINES[isa.ENGINE[instr.opcode]] == name


def test_tokens_are_balanced_and_programs_wait_only_backwards():
    for program in (compile_network(NET, SMALL).train, compile_network(NET, SMALL).infer):
        given = np.zeros((len(PRODUCERS), len(ENGINES)), int)
        for op in program.ops:
            for producer in range(len(PRODUCERS)):
                given[producer, op.engine] -= op.instr["wait"] >> producer & 1
            assert (given >= 0).all()
            for consumer in range(len(ENGINES)):
                given[3 if op.engine == 2 else (0, 1, 3, 4, 5)[op.engine], consumer] += (
                    op.instr["signal"] >> consumer & 1
                )
                if op.instr.opcode == Opcode.COMPUTE:
                    given[2, consumer] += op.instr["signal_read"] >> consumer & 1
        assert not given.any()


def test_a_lost_signal_is_a_named_deadlock():
    compiled = compile_network(NET, SMALL)
    x, labels = minibatch(np.random.default_rng(1), NET, NET.minibatch)
    memory, program, bases = stage(compiled, ReferenceTrainer(NET, 1), x, labels)
    instructions = isa.disassemble(memory[program : program + compiled.train.binary.size])
    next(instr for instr in instructions if instr.opcode == Opcode.LOAD and instr["signal"])["signal"] = 0
    memory[program : program + compiled.train.binary.size] = isa.assemble(instructions)
    with pytest.raises(Deadlock, match="compute at"):
        Machine(SMALL, memory).run(program, bases)


@pytest.mark.parametrize("depth, limit", [("wgt_depth", 512), ("grad_depth", 256), ("gate_depth", 512)])
def test_a_small_buffer_costs_cycles(depth, limit):
    """What does not fit as a whole is computed in strips, tiles and parts, gates go to DRAM, in the same bits."""
    wide, small = (EngineConfig(grid=4, cols=4, mem_bytes=8, **one) for one in ({}, {depth: limit}))
    compiled = compile_network(WIDE, small)
    assert compiled.train.cycles > compile_network(WIDE, wide).train.cycles
    assert getattr(compiled.setting.choices, "spilled" if depth == "gate_depth" else "strips")
    train_on_machine(WIDE, small, 1)


def test_refusals_name_what_is_too_large():
    small = EngineConfig(grid=8, cols=32, mem_bytes=16, act_depth=64)
    with pytest.raises(CompileError, match=r"layer '\w+': vectors .* is \d+, limit 64") as caught:
        compile_network(WIDE, small)
    assert caught.value.limit == 64 and caught.value.need > 64 and caught.value.layer


def test_the_document_shows_what_is_refused():
    text = (Path(__file__).parents[3] / "doc" / "architecture.md").read_text()
    for row in REFUSED:
        assert f"| {row.what} | {row.why} |" in text


def test_refuses_other_widths_and_minibatches():
    with pytest.raises(CompileError, match="data width"):
        compile_network(NET, EngineConfig(data_width=8))
    with pytest.raises(CompileError, match="minibatch"):
        compile_network(NET, EngineConfig(), 6)
    with pytest.raises(CompileError, match="largest sum"):
        compile_network(NET, EngineConfig(acc_width=36))


def test_tight_buffers_make_strips_or_coarser_folds():
    """A Dense layer would read its input 16 images at a time; where that does not fit, whichever is faster: strips, or
    fewer images at once."""
    network = Network("net", (8, 6, 6), (Conv(8, (3, 3), (1, 1)), Dense(3)), minibatch=20, learning_rate=0.5)
    wide = EngineConfig(grid=4, cols=4, mem_bytes=16, act_depth=4096)
    tight = EngineConfig(grid=4, cols=4, mem_bytes=16, act_depth=128)
    fine, coarse = (compile_network(network, config).setting.choices for config in (wide, tight))
    assert not fine.strips and (coarse.strips or coarse.floors)
    train_on_machine(network, tight, 3)


def test_folds():
    layers = Network(
        "net",
        (1, 32, 32),
        (
            Conv(4, (3, 3), (1, 1)),
            Conv(4, (3, 3), (1, 1), pool=2),
            Conv(4, (3, 3), (1, 1), pool=2),
            Conv(4, (3, 3), (1, 1), pool=2),
            Dense(10),
        ),
        minibatch=40,
    ).parameters
    folds = choose_folds(layers, 8, 40)
    assert [f.fp for f in folds] == [3, 3, 3, 3, 0]
    assert [f.out for f in folds] == [3, 3, 3, 0, 0]
    assert [f.delta_dram for f in folds] == [3, 3, 3, 0, 0] and [f.delta for f in folds] == [3, 3, 3, 1, 0]
    assert [f.out for f in choose_folds(layers, 8, 40, {7: 2})] == [3, 3, 3, 2, 0]


def test_finer_folds_leave_out_more_taps():
    """27x27 pixels of 16 images: 49 blocks of 4x4 pixels for four of them, or 196 of 2x2 for all. Of 5 taps of a row
    all reach blocks of four pixels, but 4, 5, .., 5, 3 those of two."""
    network = Network("fine", (3, 27, 27), (Conv(8, 1), Conv(8, (5, 5), (2, 2)), Conv(4, 1), Dense(4)), minibatch=16)
    coarse, fine = (choose_folds(network.parameters, 8, 16, finer=finer)[1] for finer in (False, True))
    assert (coarse.fp, coarse.bp) == (2, 2) and (fine.fp, fine.bp) == (1, 1)
    steps = [forward_steps(network.parameters[1], 8, fold, 16) for fold in (2, 1)]
    assert steps == [4 * 35 * 35, (4 + 12 * 5 + 3) ** 2]


def test_expected_cycles_of_a_compute():
    """16 maps of 8x8 from 16 maps, 3x3 taps: 144 steps and the bias in FP, 16 sub-steps for each of the 9 taps in
    WU."""
    network = Network("net", (16, 8, 8), (Conv(16, (3, 3), (1, 1)), Dense(10)), minibatch=1)
    compiled = compile_network(network)
    conv = [op.cycles for op in compiled.train.ops if op.instr.opcode == Opcode.COMPUTE and op.layer == "conv0"]
    assert conv == [145, 9 * 16 + 1]


def test_taps_that_find_only_padding_take_no_steps():
    """5x5 taps on 5x5 pixels, one pixel of 64 images per vector: 19 of 25 pairs of pixel and tap lie in the map on each
    axis. FP counts them for 16 channels and a bias, BP for 16 maps, WU in passes of 16 steps for each tap's blocks."""
    network = Network("net", (16, 5, 5), (Conv(16, 1), Conv(16, (5, 5), (2, 2)), Dense(10)), minibatch=64)
    compiled = compile_network(network)
    steps = dict.fromkeys((isa.FP, isa.BP, isa.WU), 0)
    for op in compiled.train.ops:
        if op.instr.opcode == Opcode.COMPUTE and op.layer == "conv1":
            steps[op.instr["mode"]] += compute_cycles(op.instr, 16)[1]
    assert [f.fp for f in compiled.memory.folds] == [0, 0, 0]
    assert steps == {isa.FP: 19 * 19 * 16 + 25, isa.BP: 19 * 19 * 16, isa.WU: 19 * 19 * 16}


def test_listing_names_everything():
    compiled = compile_network(NET, SMALL)
    text = compiled.listing
    for word in (
        "conv0.weight",
        "conv1.delta",
        "images",
        "up-sampled scaled",
        "UPDATE",
        "wait compute_written",
        "when read load",
        "expected cycles",
    ):
        assert word in text, word
    assert compiled.train.describe(0).startswith("instruction 0: ")
