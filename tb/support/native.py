# SPDX-License-Identifier: Apache-2.0
"""The engine on its native ports for cocotb: registers, a four-state memory, and a watch for unknowns. For Icarus,
whose registers and memories start unknown."""

import random
from collections import deque

import cocotb
import numpy as np
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from cocotb.types import LogicArray, Range

from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from tb.support.bench import cycles, start
from tb.support.runner import parameter

SCRUB = 8  # CTRL
TABLE_DEPTH = 512  # pairs of points of VECTOR's table
VALIDS = ("m_rreq_valid", "m_wreq_valid", "m_wdat_valid", "irq", "sts_active")  # known in every cycle
PAYLOADS = {
    "m_rreq_valid": ("m_rreq_addr", "m_rreq_len"),
    "m_wreq_valid": ("m_wreq_addr", "m_wreq_len"),
    "m_wdat_valid": ("m_wdat_strb", "m_wdat_last"),
}


class FourStateMemory:
    """Serves the native port of `dut` (doc/streams.md). A byte that neither `write` nor the engine has written reads as
    X.

    `stall`: chance that a request or a beat has to wait. `foreign`: addresses of bytes that the engine has read before
    anybody wrote them.
    """

    def __init__(self, dut, size: int, stall: float = 0.0):
        self.dut, self.stall, self.beat = dut, stall, parameter("MEM_W") // 8
        self.bytes, self.known, self.foreign = bytearray(size), bytearray(size), set()
        for serve in (self._reads, self._writes):
            cocotb.start_soon(serve())

    def write(self, address: int, data):
        self.bytes[address : address + len(data)] = data
        self.known[address : address + len(data)] = b"\1" * len(data)

    def read(self, address: int, size: int) -> bytes:
        """Bytes; raises AssertionError for one that nobody has written."""
        assert all(self.known[address : address + size]), (
            f"{address + self.known.index(0, address):#x} has never been written"
        )
        return bytes(self.bytes[address : address + size])

    def _word(self, address: int):
        """A beat, its unknown bytes X."""
        span = slice(address, address + self.beat)
        if all(self.known[span]):
            return int.from_bytes(self.bytes[span], "little")
        self.foreign |= {at for at in range(span.start, span.stop) if not self.known[at]}
        text = "".join(
            f"{self.bytes[at]:08b}" if self.known[at] else "X" * 8 for at in reversed(range(span.start, span.stop))
        )
        return LogicArray(text, Range(8 * self.beat - 1, "downto", 0))

    async def _reads(self):
        dut, beats = self.dut, deque()
        dut.s_rdat_resp.value, unknown, sent = 0, LogicArray("X" * 8 * self.beat), True
        while True:
            send, ready = bool(beats) and random.random() >= self.stall, random.random() >= self.stall
            dut.m_rreq_ready.value, dut.s_rdat_valid.value = int(ready), int(send)
            if send or sent:
                address, last = beats.popleft() if send else (0, 0)
                dut.s_rdat_data.value, dut.s_rdat_last.value = self._word(address) if send else unknown, int(last)
            sent = send
            await ReadOnly()
            if ready and not dut.rst.value and dut.m_rreq_valid.value:
                first, last = int(dut.m_rreq_addr.value), int(dut.m_rreq_len.value)
                beats += [(first + self.beat * i, i == last) for i in range(last + 1)]
            await cycles(dut, 1)

    async def _writes(self):
        dut, bursts, answers = self.dut, deque(), 0
        dut.s_wrsp_resp.value = 0
        while True:
            answer, ready, take = (
                bool(answers) and random.random() >= self.stall,
                random.random() >= self.stall,
                random.random() >= self.stall,
            )
            dut.m_wreq_ready.value, dut.m_wdat_ready.value, dut.s_wrsp_valid.value = int(ready), int(take), int(answer)
            await ReadOnly()
            answers -= answer
            if take and not dut.rst.value and dut.m_wdat_valid.value:
                answers += self._store(bursts)
            if ready and not dut.rst.value and dut.m_wreq_valid.value:
                bursts.append(int(dut.m_wreq_addr.value))
            await cycles(dut, 1)

    def _store(self, bursts) -> int:
        """Takes a beat; 1 when its burst is complete."""
        dut, address, data = self.dut, bursts[0], str(self.dut.m_wdat_data.value)[::-1]
        for lane, strobe in enumerate(reversed(str(dut.m_wdat_strb.value))):
            bits = data[8 * lane : 8 * lane + 8][::-1]
            assert strobe == "0" or set(bits) <= {"0", "1"}, f"byte {address + lane:#x} is written as {bits}"
            if strobe == "1":
                self.write(address + lane, [int(bits, 2)])
        last = bool(dut.m_wdat_last.value)
        bursts[0] = address + self.beat
        if last:
            bursts.popleft()
        return int(last)


class NativeEngine:
    """The engine `dut` with a memory of SIZE bytes: BASE 0 is 0, the program at PROGRAM, BASE 1 at IMAGES, BASE 2 at
    TARGETS."""

    PROGRAM, IMAGES, TARGETS, SIZE = 0x8000, 0x10000, 0x14000, 1 << 17

    def __init__(self, dut, stall: float = 0.0):
        self.dut, self.memory = dut, FourStateMemory(dut, self.SIZE, stall)

    async def boot(self):
        """Clock and reset; from then on nothing may be unknown."""
        await start(self.dut, s_reg_write=0, s_reg_read=0, s_reg_strb=15)
        cocotb.start_soon(watch(self.dut))

    async def open_windows(self):
        """What is before PROGRAM may be written, all read. The engine makes its memories zero."""
        values = reg.window(0, 0, self.PROGRAM, reg.READ | reg.WRITE) | reg.window(1, self.PROGRAM, self.SIZE, reg.READ)
        for offset, value in (values | reg.window(2, 0, 0, 0) | reg.window(3, 0, 0, 0)).items():
            await self.write(offset, value)
        await self.write(reg.CTRL, SCRUB)
        depths = [parameter(f"{name}_DEPTH") for name in ("ACT", "WGT", "GRAD", "GATE")]
        await cycles(self.dut, 20 + max(TABLE_DEPTH, *depths))

    async def run(self, program: np.ndarray, seed: int = 0):
        """A program (uint8) to its end."""
        self.memory.write(self.PROGRAM, program.tobytes())
        values = {
            reg.PROG_BASE: self.PROGRAM,
            reg.PROG_LENGTH: len(program) // isa.BYTES,
            reg.SEED: seed,
            reg.WATCHDOG: 5000,
        }
        values |= dict(zip(reg.BASE, (0, self.IMAGES, self.TARGETS, 0))) | {
            base + 4: 0 for base in (*reg.BASE, reg.PROG_BASE)
        }
        for offset, value in (
            values | {reg.IRQ_ENABLE: reg.IRQ_DONE | reg.IRQ_FAILED, reg.IRQ_STATUS: 3, reg.CTRL: reg.START}
        ).items():
            await self.write(offset, value)
        await with_timeout(RisingEdge(self.dut.irq), 200, "us")
        await cycles(self.dut, 1)
        assert await self.read(reg.STATUS) == reg.DONE, hex(await self.read(reg.ERROR))

    async def write(self, offset: int, value: int):
        dut = self.dut
        dut.s_reg_write.value, dut.s_reg_addr.value, dut.s_reg_wdata.value = 1, offset, value
        await cycles(dut, 1)
        dut.s_reg_write.value = 0

    async def bits(self, offset: int) -> str:
        """32 characters."""
        dut = self.dut
        dut.s_reg_read.value, dut.s_reg_addr.value = 1, offset
        await cycles(dut, 1)
        dut.s_reg_read.value = 0
        return str(dut.m_reg_rdata.value)

    async def read(self, offset: int) -> int:
        return int(await self.bits(offset), 2)


async def watch(dut):
    """Fails in the first cycle with an unknown on a valid, the interrupt or what goes with a valid; data bytes are the
    memory's business."""
    always = {name: getattr(dut, name) for name in VALIDS}
    with_valid = {name: [(other, getattr(dut, other)) for other in others] for name, others in PAYLOADS.items()}
    before = 0
    while True:
        await ReadOnly()
        for name, handle in always.items():
            assert handle.value.is_resolvable, f"{name} is {handle.value}"
        for name, others in with_valid.items():
            if always[name].value:
                for other, handle in others:
                    assert handle.value.is_resolvable, f"{other} is {handle.value}"
        active = int(always["sts_active"].value)
        tags = str(dut.sts_tag.value) if active != before else ""
        for engine in range(5 if tags else 0):
            tag = tags[::-1][11 * engine : 11 * engine + 11]
            assert not active >> engine & 1 or set(tag) <= {"0", "1"}, f"sts_tag of engine {engine} is {tag[::-1]}"
        before = active
        await cycles(dut, 1)
