# SPDX-License-Identifier: Apache-2.0
"""LOAD between a memory and the buffers of the bench: every vector at its place, words and bits, scaled by gates and
with gates derived; a write of two buffers takes place in both at once."""

import random
from collections import deque
from itertools import product

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ReadOnly

from gradcore.isa.instruction import Opcode, encode, instruction
from tb.dma.memory import Memory
from tb.support.bench import cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.runner import parameter, run

ADDRESS, MASK = 4096, 0xFFFFF
HOW = ("plain", "scale", "derive", "targets", "packed")


class Buffers:
    """Takes writes when it likes and answers gate reads in order after some cycles; `writes`: (buffer, address, lanes)
    in order, `asked`: addresses of the gates, `gates`: what they were."""

    def __init__(self, dut, stall):
        self.dut, self.stall, self.lanes, self.width = dut, stall, parameter("GRID") ** 2, parameter("DW")
        self.begin()
        cocotb.start_soon(self._run())

    def begin(self):
        self.writes, self.asked, self.gates, self.done, self.bad = [], [], [], 0, False

    async def _run(self):
        dut, queue, now = self.dut, deque(), 0
        while True:
            ready = sum((random.random() >= self.stall) << n for n in range(3))
            dut.m_wr_ready.value, gate_ready = ready, random.random() >= self.stall
            dut.m_gate_ready.value = int(gate_ready)
            answer = bool(queue) and queue[0][0] <= now
            dut.s_gate_valid.value = int(answer)
            dut.s_gate_data.value = queue.popleft()[1] if answer else random.getrandbits(self.lanes)
            await ReadOnly()
            if dut.rst.value:
                queue.clear()
            else:
                self._look(ready, gate_ready, queue, now)
            await cycles(dut, 1)
            now += 1

    def _look(self, ready, gate_ready, queue, now):
        dut = self.dut
        valid = int(dut.m_wr_valid.value)
        assert not valid & ~ready, "a write that no buffer takes"
        for buffer in (n for n in range(3) if valid >> n & 1):
            access = dut.m_wr_gate_access if buffer == 2 else dut.m_wr_access
            lanes = (
                unpack(dut.m_wr_gate.value, 1, self.lanes, signed=False)
                if buffer == 2
                else unpack(dut.m_wr_data.value, self.width, self.lanes)
            )
            self.writes.append((buffer, int(access.value) & MASK, lanes, now))
        if gate_ready and dut.m_gate_valid.value:
            self.asked.append(int(dut.m_gate_access.value) & MASK)
            self.gates.append(random.getrandbits(self.lanes))
            queue.append((now + 7 + random.randint(0, 3), self.gates[-1]))
        self.done += bool(dut.m_done.value)
        self.bad |= bool(dut.m_bad.value)


def random_load(how, beat, wrong=0):
    lanes, element = parameter("GRID") ** 2, 1 if parameter("DW") == 8 else 2
    n = {name: random.randint(1, most) for name, most in (("n_b", 3), ("n_y", 2), ("n_x", 2), ("n_c", 5))}
    words = int(np.prod(list(n.values()))) + wrong
    size = lanes // 8 if how == "packed" else lanes * element
    return instruction(
        Opcode.LOAD,
        addr=ADDRESS,
        run_beats=-(-words * size // beat),
        n1=1,
        n2=1,
        n_words=words,
        buffer=2 if how in ("targets", "packed") else random.getrandbits(1),
        packed=how == "packed",
        derive=how == "derive",
        scale=how == "scale",
        fold=random.randint(0, 2),
        base=random.getrandbits(16),
        gate_base=random.getrandbits(20),
        **n,
        stride_x=random.getrandbits(16),
        stride_y=random.getrandbits(16),
        stride_b=random.getrandbits(16),
    )


def vectors_of(memory, instr, beat):
    """Random vectors put into the memory, many of their words zero or negative."""
    lanes, width, words = parameter("GRID") ** 2, parameter("DW"), instr["n_words"]
    bits = 1 if instr["packed"] else 8 if width == 8 else 16
    limit = 1 << width - 1
    low, high = (0, 2) if instr["packed"] else (-limit, limit)
    vectors = np.array([[random.choice([0, 1, max(low, -1), random.randrange(low, high)]) for _ in range(lanes)]
                        for _ in range(words)])  # fmt: skip
    memory.data.clear()
    data = pack([int(value) for value in vectors.reshape(-1)], bits)
    for k in range(instr["run_beats"]):
        memory.data[ADDRESS + beat * k] = data >> 8 * beat * k & (1 << 8 * beat) - 1
    return vectors


def places(instr, base):
    counts = (range(instr[name]) for name in ("n_b", "n_y", "n_x", "n_c"))
    strides = [instr[name] for name in ("stride_b", "stride_y", "stride_x")] + [1]
    return [base + int(np.dot(place, strides)) & MASK for place in product(*counts)]


async def begin(dut, instr):
    dut.s_instruction.value, dut.start.value = int.from_bytes(encode(instr), "little"), 1
    await cycles(dut, 1)
    dut.start.value = 0


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def vectors_and_gates_arrive_at_their_places(dut, stall):
    beat = parameter("MEM_W") // 8
    await start(dut, start=0, cfg_base=0, s_instruction=0)
    buffers, memory = Buffers(dut, stall), Memory(dut, beat, stall, latency=(1, 9))
    for how in 3 * HOW:
        instr = random_load(how, beat)
        vectors = vectors_of(memory, instr, beat)
        buffers.begin()
        await begin(dut, instr)
        for _ in range(3000):
            if buffers.done:
                break
            await cycles(dut, 1)
        await cycles(dut, random.randint(1, 3))
        assert buffers.done == 1 and not buffers.bad
        at, gate_at = places(instr, instr["base"]), places(instr, instr["gate_base"])
        assert buffers.asked == (gate_at if how == "scale" else [])
        expected = []
        for k, vector in enumerate(vectors):
            if how == "scale":
                vector = np.where([buffers.gates[k] >> lane & 1 for lane in range(len(vector))], vector, 0)
            if instr["buffer"] == 2:
                expected.append((2, gate_at[k], (vector & 1).tolist()))
            else:
                expected.append((instr["buffer"], at[k], vector.tolist()))
            if how == "derive":
                expected.append((2, gate_at[k], (vector > 0).astype(int).tolist()))
        assert [write[:3] for write in buffers.writes] == expected, instr
        times = [write[3] for write in buffers.writes]
        assert how != "derive" or times[::2] == times[1::2]


@cocotb.test()
async def lengths_that_differ_are_bad(dut):
    beat = parameter("MEM_W") // 8
    await start(dut, start=0, cfg_base=0, s_instruction=0)
    buffers, memory = Buffers(dut, 0.2), Memory(dut, beat, 0.2, latency=(1, 9))
    for how in HOW:
        for wrong in (1, 40):
            instr = random_load(how, beat, wrong)
            vectors_of(memory, instr, beat)
            buffers.begin()
            await begin(dut, instr)
            for _ in range(3000):
                if buffers.bad:
                    break
                await cycles(dut, 1)
            assert buffers.bad
            await reset(dut)


@pytest.mark.parametrize("grid, width, mem_w", [(4, 8, 64), (4, 16, 512), (8, 11, 64), (8, 8, 512)])
def test_load_unit(grid, width, mem_w):
    run("engine", "gc_load_unit", {"GRID": grid, "DW": width, "MEM_W": mem_w, "ADDR_W": 40})
