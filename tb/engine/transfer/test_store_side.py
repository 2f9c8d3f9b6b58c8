# SPDX-License-Identifier: Apache-2.0
"""STORE and VECTOR behind each other on one unit: DRAM as the model leaves it, every byte, each written by the writer
of its own."""

import random
from collections import deque

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ReadOnly

from gradcore.isa.instruction import ADD, GATE_BUFFER, LOAD_TABLE, TABLE, Opcode
from gradcore.isa.rules import problem
from gradcore.machine.skew import Access, pixel_access
from gradcore.machine.transfers import Store
from gradcore.machine.vector import Vector
from tb.dma.memory import Client, Image
from tb.engine.transfer.machine import SIZE, begin, end, model
from tb.engine.transfer.test_store_unit import random_store
from tb.support.access import ACCESS_W, fields
from tb.support.bench import cycles, reset, start
from tb.support.bits import pack
from tb.support.cases import first
from tb.support.runner import parameter, run
from tb.support.vectors import place, random_vector

WORK = {Opcode.STORE: Store, Opcode.VECTOR: Vector}
WRITERS = (Opcode.STORE, Opcode.VECTOR)
ROOM = SIZE // 4  # bytes that the places of a source lie in; both sources lie in the lower half
TAPS = 10_000  # of an instruction
MOST = 2560  # bytes of a map and of a result; a whole table is less


class Bench:
    """The unit between the buffers of a machine and a memory, which starts as the machine's."""

    def __init__(self, dut, stall):
        self.dut, self.stall, self.machine = dut, stall, model(parameter("GRID"), parameter("GRID"))
        self.beat = self.machine.config.mem_bytes
        self.image, driven = self.machine.memory.copy(), {}
        clients = [Client(dut, *which, driven) for which in (("reader", 0, 1), ("writer", 0, 2), ("writer", 1, 2))]
        self.reader, *self.writers = [Image(one, self.image, self.beat, stall, (1, 12)) for one in clients]
        self.urgent, self.done, self.saturated = False, 0, [0, 0]
        cocotb.start_soon(self._buffers())

    def _vector(self, access: int) -> int:
        """What a buffer answers: zero outside the map, gates in bit 0 of each lane."""
        grid, config = parameter("GRID"), self.machine.config
        buffer = int(self.dut.m_rd_buffer.value)
        banks = self.machine.gate if buffer == GATE_BUFFER else self.machine.buffers[buffer]
        row, col, address, valid = (lanes.ravel() for lanes in pixel_access(grid, Access(**fields(access))))
        vector = np.where(valid, banks.words[row * grid + col, address % banks.depth], 0)
        if buffer == GATE_BUFFER:
            vector = vector | np.random.randint(1 << config.data_width - 1, size=len(vector)) << 1
        return pack(vector, config.data_width)

    async def _buffers(self):
        """Answers reads in order, after some cycles; counts m_done."""
        dut, queue, now = self.dut, deque(), 0
        while True:
            ready, back = random.random() >= self.stall, bool(queue) and queue[0][0] <= now
            dut.m_rd_ready.value, dut.s_rd_valid.value = int(ready), int(back)
            dut.s_rd_mark.value, dut.s_rd_data.value = queue.popleft()[1:] if back else (random.getrandbits(1), 0)
            await ReadOnly()
            if dut.rst.value:
                queue.clear()
            else:
                asks = bool(dut.m_rd_valid.value)
                assert not asks or dut.m_rd_urgent.value == self.urgent
                if asks and ready:
                    vector = self._vector(int(dut.m_rd_access.value))
                    queue.append((now + random.randint(8, 11), int(dut.m_rd_mark.value), vector))
                self.done += int(dut.m_done.value)
                flags = int(dut.sts_saturated.value)
                self.saturated = [count + (flags >> k & 1) for k, count in enumerate(self.saturated)]
            await cycles(dut, 1)
            now += 1

    def store(self):
        config = self.machine.config
        instr = random_store(self.beat, config.vector_bytes)
        free = SIZE // 2 - instr["run_beats"] * self.beat
        instr["base_sel"] = random.randrange(4)
        instr["addr"] = SIZE // 2 + self.beat * random.randrange(free // self.beat + 1)
        instr["addr"] -= self.machine.bases[instr["base_sel"]]
        assert not problem(instr, config), problem(instr, config)
        return instr

    def vector(self, operation=None):
        drawn = random_vector(random, self.machine.config, MOST, operation, TAPS)
        sizes = drawn.sources, drawn.sources, drawn.results
        at = [self.beat * random.randrange((ROOM - size) // self.beat + 1) for size in sizes]
        place(drawn, at[0], ROOM + at[1], 2 * ROOM + at[2])
        for key, name in (("base_sel", "addr"), ("base_sel_b", "addr_b"), ("base_sel_out", "addr_out")):
            drawn.instr[key] = random.randrange(4)
            drawn.instr[name] = (drawn.instr[name] - self.machine.bases[drawn.instr[key]]) % (1 << 48)
        return drawn.instr

    async def begin(self, instr):
        self.urgent, self.dut.cfg_seed.value = bool(instr.fields.get("urgent")), self.machine.seed
        await begin(self.dut, instr)

    async def execute(self, instr):
        for port in (self.reader, *self.writers):
            port.reads.clear(), port.writes.clear()
        self.machine.seed = random.getrandbits(32)
        work, done = WORK[instr.opcode](self.machine, instr), self.done
        work.drain(work.gather())
        await self.begin(instr)
        await end(self.dut, 50_000)
        self.dut.s_instruction.value = random.getrandbits(1024)
        bad = np.flatnonzero(self.image != self.machine.memory)
        assert not len(bad), (instr, bad[:8], len(bad))
        writes = [instr.opcode == opcode and instr.fields.get("operation") != LOAD_TABLE for opcode in WRITERS]
        assert [bool(port.writes) for port in self.writers] == writes, instr
        assert instr.opcode == Opcode.VECTOR or not self.reader.reads
        await cycles(self.dut, random.choice([0, 0, 1, 5]))
        assert self.done == done + 1
        assert self.saturated == self.wanted, instr

    @property
    def wanted(self):
        """Saturations that the model has counted."""
        return [self.machine.saturated[kind] for kind in ("act", "delta")]

    async def scrub(self):
        for addr in range(512):
            self.dut.s_scrub.value, self.dut.s_scrub_addr.value = 1, addr
            await cycles(self.dut, 1)
        self.dut.s_scrub.value, self.machine.table[:] = 0, 0
        await cycles(self.dut, 8)


async def started(dut, stall) -> Bench:
    await start(dut, start=0, s_instruction=0, s_scrub=0, cfg_seed=0)
    bench = Bench(dut, stall)
    bench.machine.bases = [bench.beat * n for n in random.sample(range(ROOM // bench.beat), 4)]
    dut.cfg_base.value = pack(bench.machine.bases, parameter("ADDR_W"))
    await bench.scrub()
    return bench


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def memory_holds_what_the_model_writes(dut, stall):
    bench = await started(dut, stall)
    for operation in random.sample(range(LOAD_TABLE + 1), LOAD_TABLE + 1):
        await bench.execute(bench.vector(operation))
        for _ in range(random.randrange(3)):
            await bench.execute(bench.store())
    instr = bench.vector(ADD)  # whose words its random numbers change
    instr.fields |= dict(rounding=3, shift=random.randint(4, 6), shift_a=0, shift_b=0)
    await bench.execute(instr)
    for _ in range(6):
        await bench.execute(random.choice([bench.vector, bench.store])())


@cocotb.test()
async def a_scrub_clears_the_table(dut):
    bench = await started(dut, 0.0)
    await bench.execute(bench.vector(LOAD_TABLE))
    await bench.execute(bench.vector(TABLE))
    await bench.scrub()
    await bench.execute(bench.vector(TABLE))


@cocotb.test()
async def lengths_that_do_not_agree_are_bad(dut):
    """Those of a STORE; it does not matter what was there before."""
    bench = await started(dut, 0.2)
    for field, wrong in (("n_words", 1), ("run_beats", 3), ("n_c", 1)):
        await bench.execute(bench.vector())
        instr = bench.store()
        instr[field] += wrong
        await bench.begin(instr)
        for _ in range(3000):
            if dut.m_bad.value:
                break
            await cycles(dut, 1)
        assert dut.m_bad.value, (field, instr)
        await reset(dut)
        bench.image[:] = bench.machine.memory


@cocotb.test()
async def starts_anew_after_a_reset(dut):
    bench = await started(dut, 0.2)
    for half in range(8):
        await bench.begin(bench.vector(random.randrange(LOAD_TABLE)) if half % 2 else bench.store())
        await cycles(dut, random.randrange(1, 120))
        await reset(dut, 1)
        bench.image[:] = bench.machine.memory
        bench.saturated = bench.wanted  # the model knows nothing of what the reset has cut off
        await bench.execute(random.choice([bench.store, bench.vector])())


@cocotb.test()
async def stores_alone(dut):
    """Without the unit of VECTOR: its writer is silent."""
    bench = await started(dut, 0.3)
    for _ in range(20):
        await bench.execute(bench.store())


WITH_VECTOR = [
    "memory_holds_what_the_model_writes",
    "a_scrub_clears_the_table",
    "lengths_that_do_not_agree_are_bad",
    "starts_anew_after_a_reset",
]


@pytest.mark.parametrize(
    "grid, width, mem_w, addr_w",
    first(1, [(4, 8, 64, 40), (4, 16, 512, 48), (8, 11, 128, 32), (8, 16, 256, 40)]),
)
def test_store_side(grid, width, mem_w, addr_w):
    sizes = {"GRID": grid, "DW": width, "MEM_W": mem_w, "ADDR_W": addr_w, "ACCESS_W": ACCESS_W}
    run("engine", "gc_store_side", sizes, sim="verilator", testcase=WITH_VECTOR)


def test_store_side_without_vector():
    sizes = {"GRID": 4, "DW": random.randint(8, 16), "MEM_W": 64, "ADDR_W": 40, "ACCESS_W": ACCESS_W}
    run("engine", "gc_store_side", sizes | {"HAS_VECTOR": 0}, sim="verilator", testcase="stores_alone")
