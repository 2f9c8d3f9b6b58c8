# SPDX-License-Identifier: Apache-2.0
"""Frames of gradcore.host.uart against the bridge: what they write and read, and what happens to damaged ones."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from gradcore.files.places import ROOT
from gradcore.host.uart import FACTS, MEMORY, MOST, REGISTERS, request, with_crc
from tb.support.bench import cycles, start
from tb.support.runner import expect_elaboration_error, parameter, run
from tb.ulx3s.test_uart_rx import levels

FILES = [ROOT / "boards" / "ulx3s" / f"gc_{name}.v" for name in ("uart_rx", "uart_tx", "crc16", "uart_bridge")]
MEM_BYTES, CLOCK_HZ, SILENCE_W = 196608, 65_000_000, 12


class Board:
    """The line's other end, registers and memory."""

    def __init__(self, dut):
        self.dut, self.divisor = dut, parameter("DIVISOR")
        self.registers = {4 * n: random.getrandbits(32) for n in range(1024)}
        self.memory = {8 * n: random.getrandbits(64) for n in range(1024)}
        self.writes, self.heard = [], []

    async def boot(self):
        await start(self.dut, rx=1, m_mem_ready=0, s_mem_valid=0)
        cocotb.start_soon(self._serve())
        cocotb.start_soon(self._listen())
        await cycles(self.dut, 8)

    async def _serve(self):
        """The ports, the memory's after any time."""
        dut, waits = self.dut, []
        while True:
            dut.m_mem_ready.value = random.random() < 0.3
            dut.s_mem_valid.value = int(bool(waits) and waits[0][0] == 0)
            dut.s_mem_data.value = waits[0][1] if waits else random.getrandbits(64)
            waits = [(left - 1, word) for left, word in waits if left]
            await ReadOnly()
            word = None
            if dut.m_reg_write.value:
                at = int(dut.m_reg_addr.value)
                assert dut.m_reg_strb.value == 0xF
                self.registers[at] = int(dut.m_reg_wdata.value)
                self.writes.append((REGISTERS, at, self.registers[at]))
            if dut.m_reg_read.value:
                word = self.registers[int(dut.m_reg_addr.value)]
            if dut.m_mem_valid.value and dut.m_mem_ready.value:
                address = int(dut.m_mem_addr.value)
                if dut.m_mem_write.value:
                    self.memory[address] = int(dut.m_mem_data.value)
                    self.writes.append((MEMORY, address, self.memory[address]))
                else:
                    waits.append((random.randint(0, 6), self.memory[address]))
            await cycles(dut, 1)
            if word is not None:
                dut.s_reg_rdata.value = word

    async def _listen(self):
        """Bytes that the board sends."""
        while True:
            await cycles(self.dut, 1)
            if self.dut.tx.value == 0:
                await cycles(self.dut, self.divisor // 2)
                byte = 0
                for bit in range(8):
                    await cycles(self.dut, self.divisor)
                    byte |= int(self.dut.tx.value) << bit
                await cycles(self.dut, self.divisor)
                assert self.dut.tx.value == 1
                self.heard.append(byte)

    async def send(self, data):
        for byte in data:
            for level in levels(byte, self.divisor):
                self.dut.rx.value = level
                await cycles(self.dut, 1)

    async def answer(self, size):
        for _ in range(4000 + 12 * size * self.divisor if size else 0):
            if len(self.heard) >= size:
                break
            await cycles(self.dut, 1)
        await cycles(self.dut, 12 * self.divisor)
        said, self.heard = bytes(self.heard), []
        assert len(said) == size, said
        return said

    async def ask(self, frame, size):
        await self.send(frame)
        return await self.answer(size)


def done(number, data=b""):
    return with_crc(b"K" + bytes([number]) + data)


@cocotb.test()
async def writes_and_reads_both_spaces(dut):
    board = Board(dut)
    await board.boot()
    assert await board.ask(request(7, FACTS, 0, 2), 20) == done(
        7, MEM_BYTES.to_bytes(8, "little") + CLOCK_HZ.to_bytes(8, "little")
    )
    for number in range(8, 16):
        space, words = random.choice([MEMORY, REGISTERS]), random.choice([1, 2, random.randint(3, MOST)])
        step = 8 if space == MEMORY else 4
        first = step * random.randrange(1024 - words)
        addresses = range(first, first + words * step, step)
        if random.random() < 0.5:
            data, board.writes = random.randbytes(8 * words), []
            assert await board.ask(request(number, space, first, words, data), 4) == done(number)
            values = [int.from_bytes(data[8 * k : 8 * k + step], "little") for k in range(words)]
            assert board.writes == [(space, at, value) for at, value in zip(addresses, values)]
        else:
            found = board.memory if space == MEMORY else board.registers
            data = b"".join(found[at].to_bytes(8, "little") for at in addresses)
            assert await board.ask(request(number, space, first, words), 4 + 8 * words) == done(number, data)


@cocotb.test()
async def a_damaged_frame_is_refused_and_writes_nothing(dut):
    board = Board(dut)
    await board.boot()
    data = random.randbytes(16)
    whole = request(5, MEMORY, 64, 2, data)
    for _ in range(8):
        at = random.choice([1, 2, *range(4, len(whole))])  # byte 0 and 3 say how long it is
        bad = bytearray(whole)
        bad[at] ^= 1 << random.randrange(8)
        assert await board.ask(bad, 4) == with_crc(b"N" + bytes([bad[1]])) and board.writes == []
    for space in (FACTS, 3, 255):
        assert await board.ask(request(6, space, 0, 1, bytes(8)), 4) == with_crc(b"N\x06") and board.writes == []
    assert await board.ask(request(6, 3, 0, 1), 4) == with_crc(b"N\x06")
    assert await board.ask(whole, 4) == done(5) and len(board.writes) == 2


@cocotb.test()
async def a_frame_that_comes_again_writes_once(dut):
    board = Board(dut)
    await board.boot()
    frame = request(9, REGISTERS, 16, 1, (3).to_bytes(8, "little"))
    for _ in range(3):
        assert await board.ask(frame, 4) == done(9)
    assert board.writes == [(REGISTERS, 16, 3)]
    assert await board.ask(request(10, *(REGISTERS, 16, 1), frame[8:16]), 4) == done(10) and len(board.writes) == 2
    for _ in range(2):  # a read is answered each time
        assert await board.ask(request(11, REGISTERS, 16, 1), 12) == done(11, frame[8:16])


@cocotb.test()
async def half_a_frame_is_forgotten(dut):
    board = Board(dut)
    await board.boot()
    whole = request(5, MEMORY, 0, 3, random.randbytes(24))
    for _ in range(4):
        await board.send(whole[: random.randint(1, len(whole) - 1)])
        await cycles(dut, (1 << SILENCE_W) + 20)
        await board.answer(0)
    await board.send(b"\0\xffKN")  # what begins no frame
    assert await board.ask(whole, 4) == done(5) and len(board.writes) == 3


@pytest.mark.parametrize("divisor", [4, 16])
def test_uart_bridge(divisor):
    parameters = {"DIVISOR": divisor, "MEM_BYTES": MEM_BYTES, "CLOCK_HZ": CLOCK_HZ, "SILENCE_W": SILENCE_W}
    run("ram", "gc_uart_bridge", parameters, models=FILES)


@pytest.mark.parametrize("width", [7, 32])
def test_refuses(width):
    expect_elaboration_error("ram", "gc_uart_bridge", {"SILENCE_W": width}, "SILENCE_W_must", models=FILES)
