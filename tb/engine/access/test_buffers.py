# SPDX-License-Identifier: Apache-2.0
"""The three buffers between their users: whose turn it is at the gate buffer's read port, whose vector comes back, and
gates that store gets in bit 0 of its lanes."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.access import ACCESS_W, natural
from tb.support.bench import cycles, start
from tb.support.bits import pack, unpack
from tb.support.cases import first
from tb.support.runner import parameter, run

LATENCY, DEPTH, GATES = 8, 64, 2


class Buffers:
    """Drives all users. A vector at an address is always of that channel, so that it has one place."""

    def __init__(self, dut):
        self.dut, self.width, self.lanes = dut, parameter("DW"), parameter("GRID") ** 2
        self.words = [{}, {}, {}]
        self.pipe, self.seen = [{} for _ in range(LATENCY)], {}
        self.store = []  # what store has asked for, two at most: buffer, address, mark
        self.asked = []  # the gates that wait for their turn, two at most: user, address, mark
        self.hold = None  # what compute is told in this cycle, None: not known yet
        self.turn = False  # store may ask for gates in this cycle, not load

    def vector(self, buffer):
        return [random.getrandbits(1 if buffer == GATES else self.width) for _ in range(self.lanes)]

    def access(self, addr):
        return random.getrandbits(ACCESS_W) if addr is None else natural(addr, 0, 0, addr, 0)

    def some(self, chance=0.5):
        return random.randrange(DEPTH) if random.random() < chance else None

    def write(self, dst, gate, load):
        """Writes of compute, (buffer, address) and an address, and of load, {buffer: address}."""
        dut, found = self.dut, []
        data = {buffer: self.vector(buffer) for buffer in range(3)}
        dut.s_wr_valid.value = (1 << dst[0] if dst else 0) | (gate is not None) << GATES
        dut.s_dst_enable.value = (1 << self.lanes) - 1
        if dst:
            dut.s_dst_access.value = self.access(dst[1])
            found.append((*dst, self.vector(dst[0])))
            dut.s_dst_data.value = pack(found[-1][2], self.width)
        dut.s_gate_wr_access.value = self.access(gate)
        if gate is not None:
            found.append((GATES, gate, self.vector(GATES)))
            dut.s_gate_wr_data.value = pack(found[-1][2], 1)
        if any(buffer in {entry[0] for entry in found} for buffer in load):
            load = {}  # load shows a write only when all its buffers are ready
        dut.s_load_valid.value = sum(1 << buffer for buffer in load)
        operand = next((buffer for buffer in load if buffer != GATES), 0)
        dut.s_load_access.value, dut.s_load_data.value = self.access(load.get(operand)), pack(data[operand], self.width)
        dut.s_load_gate_access.value, dut.s_load_gate.value = self.access(load.get(GATES)), pack(data[GATES], 1)
        return found + [(buffer, addr, data[buffer]) for buffer, addr in load.items()]

    async def cycle(self, row=None, gate=None, scale=None, store=None, writes=(None, None, {})):
        """Reads of compute, (buffer, address) and an address of a gate; of load, an address; of store, (buffer,
        address)."""
        dut, mark, due = self.dut, random.getrandbits(1), {}
        dut.s_cmp_valid.value = int(row is not None)
        dut.s_cmp_row_buf.value, dut.s_cmp_row.value = (row[0], self.access(row[1])) if row else (0, 0)
        dut.s_gate_rd_valid.value, dut.s_gate_rd_access.value = int(gate is not None), self.access(gate)
        dut.s_scale_valid.value, dut.s_scale_access.value = int(scale is not None), self.access(scale)
        dut.s_str_valid.value, dut.s_str_mark.value = int(store is not None), mark
        dut.s_str_buffer.value, dut.s_str_access.value = (store[0], self.access(store[1])) if store else (0, 0)
        dut.s_str_urgent.value = urgent = random.getrandbits(1)
        found = self.write(*writes)
        await ReadOnly()
        free = len(self.asked) < 2
        assert dut.s_scale_ready.value == int(free and not self.turn)
        taken = {entry[0] for entry in found[: (writes[0] is not None) + (writes[1] is not None)]}
        assert int(dut.s_load_ready.value) == sum(1 << buffer for buffer in range(3) if buffer not in taken)
        taking = store and len(self.store) < 2
        assert not store or dut.s_str_ready.value == int(taking)
        head, *_ = self.store or [(None, None, None)]
        gates = head[0] == GATES
        ready = self.store and (free and self.turn if gates else not row or row[0] != head[0])
        assert self.hold in (None, int(dut.m_hold.value))
        self.hold = int(bool(urgent and self.store and not gates and not ready))
        if row:
            due["row"] = (row[0], self.words[row[0]].get(row[1]))
        if gate is not None:
            due["gate"] = self.words[GATES].get(gate)
        elif self.asked:
            user, addr, waits = self.asked.pop(0)
            due[user] = (GATES, waits, self.words[GATES].get(addr))
        if ready and gates:
            self.asked.append(("store", *head[1:]))
        elif ready:
            due["store"] = (head[0], head[2], self.words[head[0]].get(head[1]))
        if free and not self.turn and scale is not None:
            self.asked.append(("scale", scale, mark))
        self.turn = gates and scale is None
        self.store = self.store[bool(ready) :] + ([(*store, mark)] if taking else [])
        self.look(self.pipe.pop(0))
        self.pipe.append(due)
        for buffer, addr, vector in found:
            self.words[buffer][addr] = vector
        await cycles(dut, 1)

    def look(self, due):
        """What comes back now."""
        dut = self.dut
        assert dut.m_scale_valid.value == int("scale" in due) and dut.m_str_valid.value == int("store" in due)
        for user in due:
            self.seen[user] = self.seen.get(user, 0) + 1
        for user in {"gate", "scale"} & due.keys():
            vector = due[user] if user == "gate" else due[user][2]
            assert unpack(dut.m_gate_data.value, 1, self.lanes, False) == vector
        if "row" in due:
            buffer, vector = due["row"]
            assert unpack((dut.m_data0, dut.m_data1)[buffer].value, self.width, self.lanes, False) == vector
        if "store" in due:
            buffer, mark, vector = due["store"]
            assert dut.m_str_mark.value == mark
            if buffer == GATES:  # a bit of each lane; the others are those of some operand buffer
                bits = str(dut.m_str_data.value)[::-1]
                assert [int(bits[lane * self.width]) for lane in range(self.lanes)] == vector
            else:
                assert unpack(dut.m_str_data.value, self.width, self.lanes, False) == vector


@cocotb.test()
async def everybody_gets_his_own_in_his_turn(dut):
    silent = dict.fromkeys(("s_cmp_valid", "s_wr_valid", "s_str_valid", "s_load_valid", "s_gate_rd_valid"), 0)
    silent |= dict.fromkeys(("s_scale_valid", "s_cmp_channel", "s_cmp_split", "s_cmp_step"), 0)
    await start(dut, s_scrub=0, s_scrub_addr=0, s_cmp_row_channels=0, s_cmp_col_channels=0, s_cmp_col=0, **silent)
    buffers = Buffers(dut)
    for addr in range(DEPTH):
        for load in ({0: addr, GATES: addr}, {1: addr}):
            await buffers.cycle(writes=(None, None, load))
    store_reads = 0
    for _ in range(600):
        row, gate, scale, store = (buffers.some() for _ in range(4))
        if not (buffers.store or buffers.asked or any("store" in due for due in buffers.pipe)):
            store_reads = random.randrange(3)
        dst, dst_gate = buffers.some(0.3), buffers.some(0.2)
        load = {buffer: random.randrange(DEPTH) for buffer in random.choice([(), (0,), (1,), (2,), (0, 2), (1, 2)])}
        await buffers.cycle(
            None if row is None else (random.getrandbits(1), row),
            gate,
            scale,
            None if store is None else (store_reads, store),
            (None if dst is None else (random.getrandbits(1), dst), dst_gate, load),
        )
    for _ in range(LATENCY + 1):
        await buffers.cycle()
    assert all(buffers.seen[user] > 50 for user in ("row", "gate", "scale", "store")), buffers.seen


@pytest.mark.parametrize("grid, cols, width", first(2, [(4, 4, 8), (4, 8, 11), (8, 16, 16)]))
def test_buffers(grid, cols, width):
    sizes = {"GRID": grid, "COLS": cols, "COLS_LOG": cols.bit_length() - 1, "DW": width, "ACCESS_W": ACCESS_W}
    depths = {"ACT_DEPTH": DEPTH, "GATE_DEPTH": DEPTH, "SCRUB_W": 6}
    run("engine", "gc_buffers", sizes | depths | {"ULTRA": random.randint(0, 15)})
