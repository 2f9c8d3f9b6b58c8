# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import PAUSES, cycles, start
from tb.support.runner import parameter, run


class Buffer:
    """Answers requests in order, each after its own number of cycles; one answer per cycle. `asked` has address and
    inner index."""

    def __init__(self, dut, pause: float, slowest: int):
        self.dut, self.pause, self.slowest = dut, pause, slowest
        self.asked, self.due, self.now, self.free = [], [], 0, 0
        cocotb.start_soon(self._run())

    def word(self, addr: int) -> int:
        return random.Random(addr).getrandbits(parameter("WIDTH"))

    async def _run(self) -> None:
        dut = self.dut
        while True:
            dut.m_ask_ready.value = int(random.random() >= self.pause)
            back = bool(self.due) and self.due[0][0] <= self.now
            dut.s_valid.value = back
            if back:
                dut.s_data.value = self.word(self.due.pop(0)[1])
            await ReadOnly()
            if dut.m_ask_valid.value and dut.m_ask_ready.value:
                addr = int(dut.m_addr.value)
                self.asked.append((addr, int(dut.m_inner.value)))
                self.free = max(self.free, self.now + random.randint(1, self.slowest))
                self.due.append((self.free, addr))
            await cycles(dut, 1)
            self.now += 1


async def take(dut, rows: int, stall: float) -> list:
    """The rows as they leave."""
    taken = []
    for _ in range(50 * rows + 1000):
        dut.m_ready.value = int(random.random() >= stall)
        await ReadOnly()
        if dut.m_valid.value and dut.m_ready.value:
            taken.append(int(dut.m_data.value))
        await cycles(dut, 1)
        if len(taken) == rows:
            dut.m_ready.value = 0
            return taken
    raise AssertionError(f"{len(taken)} of {rows} rows")


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def rows_come_in_order_with_their_inner_index(dut, pauses):
    await start(dut, start=0)
    buffer = Buffer(dut, pauses[0], random.choice([1, 4, 30]))
    for _ in range(6):
        rows, base, inner = (
            random.choice([1, 2, random.randint(1, 200)]),
            random.getrandbits(16),
            random.choice([1, 3, 40, 65535]),
        )
        buffer.asked.clear()
        dut.cfg_rows.value, dut.cfg_base.value, dut.cfg_inner.value, dut.start.value = rows, base, inner, 1
        await cycles(dut, 1)
        dut.start.value = 0
        taken = await take(dut, rows, pauses[1])
        addresses = [(base + row) % 65536 for row in range(rows)]
        assert buffer.asked == [(addr, row % inner % parameter("COLS")) for row, addr in enumerate(addresses)]
        assert taken == [buffer.word(addr) for addr in addresses]


@cocotb.test()
async def sixteen_requests_at_most_are_open_and_a_reset_gives_them_back(dut):
    await start(dut, start=0, cfg_rows=1000, cfg_base=7, cfg_inner=5)
    buffer = Buffer(dut, 0.0, 3)
    for _ in range(2):
        dut.start.value = 1
        await cycles(dut, 1)
        dut.start.value = 0
        await cycles(dut, 100)
        assert len(buffer.asked) == 16  # nobody takes a row
        buffer.asked.clear()
        dut.rst.value = 1
        await cycles(dut, 2)
        dut.rst.value = 0
        assert not dut.m_valid.value
        await cycles(dut, 10)
        assert not buffer.asked


@cocotb.test()
async def a_row_per_cycle(dut):
    await start(dut, start=0, cfg_rows=300, cfg_base=0, cfg_inner=9)
    Buffer(dut, 0.0, 1)
    dut.start.value = 1
    await cycles(dut, 1)
    dut.start.value = 0
    await cycles(dut, 10)
    dut.m_ready.value = 1
    for _ in range(200):
        await ReadOnly()
        assert dut.m_valid.value
        await cycles(dut, 1)


@pytest.mark.parametrize("width, cols", [(16, 4), (256, 16), (1000, 64)])
def test_row_reader(width, cols):
    run("engine", "gc_row_reader", {"WIDTH": width, "COLS": cols})
