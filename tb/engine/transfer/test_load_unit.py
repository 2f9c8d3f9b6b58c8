# SPDX-License-Identifier: Apache-2.0
"""LOAD between a DRAM and the buffers of the model: the same words in the same banks, up-sampled and scaled, with gates
derived, gates as bits, outputs as a local gradient with its loss; two buffers of a word are written in one cycle."""

import random
from collections import deque
from functools import partial

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from gradcore.isa.instruction import GATE_BUFFER, READINGS, Opcode, instruction
from gradcore.machine.transfers import Load
from tb.engine.transfer.machine import after, begin, dram, end, model, refill, words
from tb.support.access import ACCESS_W
from tb.support.bench import cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.cases import first
from tb.support.runner import parameter, run


def random_load(machine):
    """Small loops over vectors that lie side by side; a run or several."""
    config = machine.config
    n = {name: random.randint(1, most) for name, most in (("n_b", 2), ("n_y", 2), ("n_x", 2), ("n_c", 2))}
    count = n["n_b"] * n["n_y"] * n["n_x"] * n["n_c"]
    upsample, scale = random.getrandbits(1), random.getrandbits(1)
    buffer = random.choice([0, 1, GATE_BUFFER])
    packed, derive = (random.getrandbits(1), 0) if buffer == GATE_BUFFER else (0, random.getrandbits(1))
    if derive:
        upsample = scale = 0
    beats = -(-count * (config.gate_bytes if packed else config.vector_bytes) // config.mem_bytes)
    runs = 2 if beats % 2 == 0 and random.random() < 0.5 else 1
    step = 4 if upsample else 1
    fold = random.randint(int(upsample), config.log_grid)
    return instruction(
        Opcode.LOAD,
        buffer=buffer,
        upsample=upsample,
        scale=scale,
        derive=derive,
        packed=packed,
        fold=fold,
        pool_bit=random.randrange(config.log_grid),
        addr=config.mem_bytes * random.randrange(8),
        run_beats=beats // runs,
        n1=runs,
        stride1=config.mem_bytes * (beats // runs + random.randint(0, 3)),
        n2=1,
        n_words=count,
        base=random.getrandbits(16),
        gate_base=random.getrandbits(20),
        rot_y=random.getrandbits(3),
        rot_x=random.getrandbits(3),
        stride_x=n["n_c"] * step,
        stride_y=n["n_c"] * n["n_x"] * step,
        stride_b=n["n_c"] * n["n_x"] * n["n_y"] * step,
        stride_qx=n["n_c"],
        stride_qy=2 * n["n_c"],
        **n,
    )


def random_softmax(machine):
    """A few vectors that make whole beats, some of them classes, three times over."""
    config = machine.config
    each = max(1, config.mem_bytes // config.vector_bytes)
    count = each * random.randint(1, max(1, 6 // each))
    beats = count * config.vector_bytes // config.mem_bytes
    return instruction(
        Opcode.LOAD,
        softmax=1,
        buffer=random.randrange(2),
        fold=random.choice([0, 0, random.randint(0, config.log_grid)]),
        addr=config.mem_bytes * random.randrange(8),
        run_beats=beats,
        n1=READINGS,
        n2=1,
        n_words=READINGS * count,
        base=random.getrandbits(16),
        gate_base=random.getrandbits(20),
        n_b=1,
        n_y=1,
        n_x=1,
        n_c=count,
        n_valid=random.randint(1, config.lanes),
        classes=random.randint(1, count),
        u_shift=random.getrandbits(6),
        loss_shift=random.getrandbits(5),
    )


class Buffers:
    """Answers reads of gates in order after some cycles and takes the writes."""

    def __init__(self, dut, stall):
        self.dut, self.stall, self.machine, self.saturated = dut, stall, None, 0
        cocotb.start_soon(self._run())

    def begin(self, machine, *instructions):
        self.targets = [1 << instr["buffer"] | instr["derive"] << GATE_BUFFER for instr in instructions]
        self.machine, self.found = (
            machine,
            {0: machine.buffers[0].words.copy(), 1: machine.buffers[1].words.copy(), 2: machine.gate.words.copy()},
        )

    async def _run(self):
        dut, queue, now, dw = self.dut, deque(), 0, parameter("DW")
        lanes = parameter("GRID") ** 2
        while True:
            answer = bool(queue) and queue[0][0] <= now
            dut.m_gate_ready.value, dut.m_wr_ready.value = (
                int(random.random() >= self.stall),
                ready := sum((random.random() >= self.stall) << n for n in range(3)),
            )
            dut.s_gate_valid.value, dut.s_gate_data.value = (
                int(answer),
                queue.popleft()[1] if answer else random.getrandbits(lanes),
            )
            await ReadOnly()
            if self.machine and not dut.rst.value:
                self.saturated += int(dut.sts_saturated.value)
                if dut.m_gate_valid.value and dut.m_gate_ready.value:
                    gate = self.machine.gate.words.reshape(-1)[words(self.machine, int(dut.m_gate_access.value))]
                    queue.append((now + random.randint(5, 9), pack(gate, 1)))
                valid = int(dut.m_wr_valid.value)
                assert not valid & ~ready, "a write that no buffer takes"
                assert valid in (0, *self.targets), "not in all its buffers at once"
                for buffer in (n for n in range(3) if valid >> n & 1):
                    if buffer == GATE_BUFFER:
                        access, values = dut.m_wr_gate_access, unpack(dut.m_wr_gate.value, 1, lanes, False)
                    else:
                        access, values = dut.m_wr_access, unpack(dut.m_wr_data.value, dw, lanes)
                    self.found[buffer].reshape(-1)[words(self.machine, int(access.value))] = values
            await cycles(dut, 1)
            now += 1


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def buffers_get_what_the_model_writes(dut, stall):
    await start(dut, start=0, s_clear=0, cfg_base=0)
    buffers, memory, loss, saturated = Buffers(dut, stall), None, 0, 0
    for _ in range(24):
        machine = model(parameter("GRID"), parameter("GRID"))
        memory = memory or dram(dut, machine, stall)
        refill(memory, machine)
        instr = random.choice([random_load, random_load, random_softmax if parameter("HAS_SOFTMAX") else random_load])(
            machine
        )
        buffers.begin(machine, instr)
        wanted = after(machine, partial(Load, instr=instr))
        await begin(dut, instr)
        await end(dut)
        for number, banks in enumerate((*wanted.buffers, wanted.gate)):
            assert (buffers.found[number] == banks.words).all(), (number, instr)
        loss += wanted.loss
        assert int(dut.sts_loss.value) == loss, instr
        saturated += wanted.saturated["delta"]
        assert buffers.saturated == saturated, instr
        await cycles(dut, random.randint(1, 3))


@cocotb.test()
async def lengths_that_do_not_agree_are_bad(dut):
    """Too few or too many words for the loops, too few or too many beats for the words."""
    machine = model(parameter("GRID"), parameter("GRID"))
    await start(dut, start=0, s_clear=0, cfg_base=0)
    places = ((0, 0), (1, 0), (1, 1), (2, 0))
    Buffers(dut, 0.2).begin(machine, *(instruction(Opcode.LOAD, buffer=n, derive=d) for n, d in places))
    dram(dut, machine, 0.2)
    for field, wrong in (("n_words", 1), ("n_words", -1), ("run_beats", 3), ("run_beats", -1), ("n_c", 1), ("n_c", -1)):
        await reset(dut)
        loops = {"n_b": 1, "n_y": 2, "n_x": 1, "n_c": 3}
        beats = -(-6 * machine.config.vector_bytes // machine.config.mem_bytes)
        how = random.choice([{}, {"buffer": 1, "derive": 1}, {"buffer": 2, "packed": 1}])
        if how.get("packed"):
            beats = -(-6 * machine.config.gate_bytes // machine.config.mem_bytes)
        instr = instruction(Opcode.LOAD, n_words=6, run_beats=beats, n1=1, n2=1, stride_y=3, **how, **loops)
        if not how and parameter("HAS_SOFTMAX") and random.getrandbits(1):
            instr = random_softmax(machine)
        if not instr[field] + wrong:
            continue
        instr[field] += wrong
        await begin(dut, instr)
        for _ in range(3000):
            if dut.m_bad.value:
                break
            await cycles(dut, 1)
        assert dut.m_bad.value, (field, wrong)


@pytest.mark.parametrize(
    "grid, width, mem_w, softmax", first(3, [(4, 8, 64, 1), (4, 16, 512, 1), (4, 12, 128, 0), (8, 11, 512, 1)])
)
def test_load_unit(grid, width, mem_w, softmax):
    sizes = {"GRID": grid, "DW": width, "MEM_W": mem_w, "ADDR_W": 40, "ACCESS_W": ACCESS_W}
    run("engine", "gc_load_unit", sizes | {"HAS_SOFTMAX": softmax})
