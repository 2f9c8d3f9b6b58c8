# SPDX-License-Identifier: Apache-2.0
"""Whatever goes wrong, the engine says what and where, leaves the bus clean and trains on without a reset,
bit-exactly."""

import numpy as np
import pytest

from gradcore.host.control import EngineError
from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from gradcore.isa.instruction import Opcode
from tb.support.safety import NETWORK, changed
from tb.support.sim import SIZE

TRANSFERS = (Opcode.LOAD, Opcode.LOADW, Opcode.STORE, Opcode.UPDATE)


@pytest.mark.parametrize("kind, first", [("read", 16), ("write", 32)])
@pytest.mark.parametrize("response", [2, 3])
def test_error_response(bench, kind, first, response):
    bursts = 8 if kind == "write" else 45 if bench.backend.beat_bytes == 64 else 60  # that every program has
    for _ in range(3):
        bench.backend.fault(kind, int(bench.rng.integers(0, bursts)), response)
        error = bench.bad_step()
        assert error.code == first + response
        opcodes = (
            (Opcode.STORE, Opcode.UPDATE)
            if kind == "write"
            else (Opcode.LOAD, Opcode.LOADW, Opcode.UPDATE, Opcode.END, Opcode.COMPUTE, Opcode.STORE)
        )
        assert bench.program.instructions[error.index].opcode in opcodes
        assert bench.device._base <= error.address < bench.device._free
        bench.good_step()


@pytest.mark.parametrize(
    "opcodes, field, code",
    [
        ((Opcode.LOAD, Opcode.LOADW), "addr", 7),
        ((Opcode.STORE,), "addr", 8),
        ((Opcode.UPDATE,), "addr", 8),
        ((Opcode.UPDATE,), "momentum_addr", 7),
    ],
)
def test_address_outside_the_windows(bench, opcodes, field, code):
    index = bench.somewhere(*opcodes)
    instr = bench.program.instructions[index]
    outside = int(bench.rng.integers(SIZE, 1 << 40)) // 64 * 64
    bench.patched(index, changed(instr, **{field: outside}))
    error = bench.bad_step()
    first = outside + (
        0 if instr["base_sel"] == 0 else (0, bench.device._images, bench.device._targets)[instr["base_sel"]]
    )
    assert (error.code, error.index) == (code, index) and error.address == first
    bench.repaired(index)


def test_write_where_only_reading_is_allowed(bench):
    index = bench.somewhere(Opcode.STORE)
    target, program = bench.device._programs[NETWORK.minibatch, "train"]  # behind the window with both rights
    bench.patched(index, changed(bench.program.instructions[index], addr=target))
    before = bench.backend.mem_read(target, program.binary.size)
    error = bench.bad_step()
    assert (error.code, error.index, error.address) == (8, index, target)
    assert (bench.backend.mem_read(target, before.size) == before).all()
    bench.repaired(index)


def test_closed_windows(bench):
    bench.device._open_windows = lambda: [bench.backend.write32(reg.WINDOW + reg.WINDOW_BYTES * n, 0) for n in range(4)]
    error = bench.bad_step()
    assert (error.code, error.index, error.address) == (7, 0, bench.device._programs[NETWORK.minibatch, "train"][0])
    del bench.device._open_windows


@pytest.mark.parametrize(
    "fields",
    [
        {"n_words": 0},
        {"run_beats": 0},
        {"addr": 8},
        {"n_y": 0},
        {"n1": 0},
        {"stride1": 3},
        {"n_outer": 0},
        {"n_g": 0},
        {"n_last": 0},
        {"n_last": 5},
        {"mode": 3},
        {"loss": 3},
        {"fold": 3},
        {"buffer": 3},
        {"momentum_addr": 1},
    ],
)
def test_malformed_instruction(bench, fields):
    (name,) = fields
    index = bench.somewhere(*(opcode for opcode in Opcode if name in isa.FIELDS[opcode]))
    bench.patched(index, changed(bench.program.instructions[index], **fields))
    error = bench.bad_step()
    assert (error.code, error.index) == (3, index)
    bench.repaired(index)


@pytest.mark.parametrize("opcode", [max(Opcode) + 1, 15])
def test_unknown_opcode(bench, opcode):
    index = bench.somewhere(*TRANSFERS, Opcode.COMPUTE)
    bench.patched(index, np.array([opcode] + [0] * (isa.BYTES - 1), np.uint8))
    error = bench.bad_step()
    assert (error.code, error.index) == (1, index)
    bench.repaired(index)


def test_program_without_end(bench):
    last = len(bench.program.ops)
    bench.patched(last, bench.program.instructions[bench.somewhere(Opcode.LOADW)])
    assert bench.bad_step().code == 2
    bench.repaired(last)


def test_deadlock(bench):
    index = bench.somewhere(Opcode.LOAD, Opcode.COMPUTE, Opcode.STORE)
    instr = bench.program.instructions[index]
    # No instruction may wait for its own engine: nothing else will ever give this token.
    own = {Opcode.LOAD: 0, Opcode.COMPUTE: 2, Opcode.STORE: 4}[instr.opcode]
    bench.patched(index, changed(instr, wait=instr["wait"] | 1 << own))
    error = bench.bad_step()
    assert error.code == 4
    assert bench.program.instructions[error.index]["wait"] or error.index == index
    bench.repaired(index)


@pytest.mark.parametrize("opcode", TRANSFERS)
@pytest.mark.parametrize("lengths", [("n_words",), ("run_beats",), ("n_c", "n_inner"), ("n_words", "n_c", "n_inner")])
def test_lengths_that_do_not_agree(bench, opcode, lengths):
    """One more or less of words, beats, loops, or of words and loops together; without the watchdog."""
    config = bench.device.config
    bench.backend.write32(reg.WATCHDOG, 0)
    for more in (1, -1, 40, -2):
        index = bench.somewhere(opcode)
        instr = bench.program.instructions[index]
        fields = {name: instr[name] + more for name in lengths if name in isa.FIELDS[opcode]}
        # Both together: a transfer of rows or vectors of less than a beat may still have its beats.
        words, size = (
            fields.get("n_words", instr["n_words"]),
            config.row_bytes if "n_inner" in fields else config.vector_bytes,
        )
        if min(fields.values()) < 1 or (
            len(fields) > 1
            and -(-words * size // config.mem_bytes)
            == instr["run_beats"] * instr.fields.get("n1", 1) * instr.fields.get("n2", 1)
        ):
            continue
        bench.patched(index, changed(instr, **fields))
        error = bench.bad_step()
        assert (error.code, error.index) == (3, index)
        bench.repaired(index)
        bench.good_step()


def test_tokens_of_the_program_before_are_gone(bench):
    """LOAD's token comes some cycles after its end; the program behind it, started at once, must not find it."""
    address, _ = bench.device._programs[NETWORK.minibatch, "train"]
    load = changed(bench.program.instructions[bench.somewhere(Opcode.LOAD)], wait=0, signal=1 << 3)
    store = changed(bench.program.instructions[bench.somewhere(Opcode.STORE)], wait=1, signal=0)
    bench.backend.write32(reg.PROG_LENGTH, 2)
    for instr in (load, store):
        bench.backend.mem_write(address, isa.assemble([instr, isa.Instruction(Opcode.END)]))
        bench.backend.write32(reg.CTRL, reg.START)
        bench.backend.run(3)
        assert bench.backend.wait_irq()
    assert bench.backend.read32(reg.ERROR) == 4
    bench.backend.mem_write(address, bench.device._programs[NETWORK.minibatch, "train"][1].binary)
    bench.device.load(bench.snapshot)


def test_watchdog(bench):
    """Fewer cycles than the memory takes to answer: it may still owe answers at the end, but gives them."""
    bench.backend.write32(reg.WATCHDOG, bench.backend.memory.latency // 2 + 1)
    with pytest.raises(EngineError) as caught:
        bench.device.step(*bench.minibatch(), bench.iteration)
    assert caught.value.code == 5
    assert bench.closes(1000) and bench.backend.outstanding == 0
    bench.device.load(bench.snapshot)
    bench.backend.write32(reg.WATCHDOG, 20_000)


def test_stop_at_any_moment(bench):
    """Where a good run would be done already, the stop changes nothing."""
    cycles = bench.device.counters()["cycles"]
    for _ in range(5):
        error = bench.stopped_step(int(bench.rng.integers(0, cycles)))
        assert error.code == 6 and error.index <= len(bench.program.ops)
        bench.good_step()
