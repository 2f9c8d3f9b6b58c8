# SPDX-License-Identifier: Apache-2.0
"""STORE between an operand buffer of the bench and a memory: every word in its place, zero outside the map and for
images that are padding."""

import random
from collections import deque
from itertools import product

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ReadOnly

from gradcore.isa.fold import lane_images
from gradcore.isa.instruction import Opcode, encode, instruction
from tb.dma.memory import Memory
from tb.support.access import ACCESS_W, fields
from tb.support.bench import cycles, start
from tb.support.bits import pack, unpack
from tb.support.runner import parameter, run

ADDRESS = 4096


class Buffer:
    """Answers reads in order after some cycles with random vectors, as an operand buffer masks them; `vectors` keeps
    all lanes of each."""

    def __init__(self, dut, stall):
        self.dut, self.stall, self.grid, self.width = dut, stall, parameter("GRID"), parameter("DW")
        self.vectors, self.places = [], []
        cocotb.start_soon(self._run())

    def _masked(self, access, vector):
        """The lanes of a vector inside the map of an access record (doc/architecture.md, "Access records")."""
        y0, x0, fold, height, width = (fields(access)[name] for name in ("y0", "x0", "fold_s", "height", "width"))
        row, col = np.divmod(np.arange(self.grid**2), self.grid)
        return np.where((y0 + row % (1 << fold) < height) & (x0 + col % (1 << fold) < width), vector, 0)

    async def _run(self):
        dut, queue, now = self.dut, deque(), 0
        while True:
            ready, answer = random.random() >= self.stall, bool(queue) and queue[0][0] <= now
            mark, data = (
                queue.popleft()[1:]
                if answer
                else (random.getrandbits(1), random.getrandbits(self.grid**2 * self.width))
            )
            dut.m_rd_ready.value, dut.s_rd_valid.value, dut.s_rd_mark.value, dut.s_rd_data.value = (
                int(ready),
                int(answer),
                mark,
                data,
            )
            await ReadOnly()
            if ready and not dut.rst.value and dut.m_rd_valid.value:
                assert int(dut.m_rd_buffer.value) == int(dut.s_instruction.value) >> 32 & 3
                access = fields(int(dut.m_rd_access.value))
                assert {name: access[name] for name in ("addr", "rot_y", "rot_x")} == self.places.pop(0)
                odd = 1 - (int(dut.s_instruction.value) >> 33 & 1)  # a word that is not masked is seen
                vector = [random.choice([1, random.getrandbits(self.width) | odd]) for _ in range(self.grid**2)]
                vector = np.array(vector)
                self.vectors.append(vector)
                masked = self._masked(int(dut.m_rd_access.value), vector)
                queue.append((now + 8 + random.randint(0, 3), int(dut.m_rd_mark.value), pack(masked, self.width)))
            await cycles(dut, 1)
            now += 1


def random_store(beat, size):
    """Small loops; a map that ends somewhere in its last blocks, or before them, or behind."""
    grid = parameter("GRID")
    fold = random.randint(0, grid.bit_length() - 1)
    n = {name: random.randint(1, most) for name, most in (("n_b", 3), ("n_y", 3), ("n_x", 2), ("n_c", 3))}
    words, buffer = int(np.prod(list(n.values()))), random.randrange(3)
    if buffer == 2:
        size = grid * grid // 8
    return instruction(
        Opcode.STORE,
        buffer=buffer,
        packed=buffer // 2,
        gate_base=random.getrandbits(20),
        rot_y=random.getrandbits(3),
        rot_x=random.getrandbits(3),
        urgent=random.getrandbits(1),
        addr=ADDRESS,
        run_beats=-(-words * size // beat),
        n1=1,
        n2=1,
        n_words=words,
        fold=fold,
        base=random.getrandbits(16),
        **n,
        stride_x=n["n_c"],
        stride_y=n["n_c"] * n["n_x"],
        stride_b=n["n_c"] * n["n_x"] * n["n_y"],
        height=random.choice([random.randint(1, n["n_y"] << fold), 4095]),
        width=random.choice([random.randint(1, n["n_x"] << fold), 4095]),
        n_valid=random.choice([random.randint(1, (grid >> fold) ** 2), 127]),
    )


def expected(instr, vectors):
    """Lanes in memory order, signed."""
    grid, fold, width = parameter("GRID"), instr["fold"], parameter("DW")
    row, col = np.divmod(np.arange(grid * grid), grid)
    lanes = []
    for (b, by, bx, _), vector in zip(
        product(*(range(instr[name]) for name in ("n_b", "n_y", "n_x", "n_c"))), vectors, strict=True
    ):
        inside = ((by << fold) + row % (1 << fold) < instr["height"]) & (
            (bx << fold) + col % (1 << fold) < instr["width"]
        )
        image = b < instr["n_b"] - 1 or lane_images(grid, fold, 0) < instr["n_valid"]
        signed = vector & 1 if instr["packed"] else vector - (vector >> width - 1 << width)
        lanes += np.where(inside & image, signed, 0).tolist()
    return lanes


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def words_of_the_map_arrive_and_zeros_beside_them(dut, stall):
    beat, lanes, element = parameter("MEM_W") // 8, parameter("GRID") ** 2, 1 if parameter("DW") == 8 else 2
    await start(dut, start=0, cfg_base=0, s_instruction=0)
    buffer, memory = Buffer(dut, stall), Memory(dut, beat, stall, latency=(1, 9))
    for _ in range(25):
        instr = random_store(beat, lanes * element)
        first = instr["gate_base"] if instr["packed"] else instr["base"]
        turn = {name: instr[name] for name in ("rot_y", "rot_x")}
        buffer.places = [turn | {"addr": first + k & 0xFFFFF} for k in range(instr["n_words"])]
        buffer.vectors.clear()
        memory.data.clear()
        dut.s_instruction.value, dut.start.value = int.from_bytes(encode(instr), "little"), 1
        await cycles(dut, 1)
        dut.start.value = 0
        for _ in range(5000):
            assert dut.m_bad.value == 0
            assert dut.m_rd_urgent.value == instr["urgent"]
            if dut.m_done.value:
                break
            await cycles(dut, 1)
        assert sorted(memory.data) == [ADDRESS + beat * k for k in range(instr["run_beats"])]
        bits, signed = (1, False) if instr["packed"] else (8 * element, True)
        found = [
            value for _, word in sorted(memory.data.items()) for value in unpack(word, bits, 8 * beat // bits, signed)
        ]
        wanted = expected(instr, buffer.vectors)
        assert found == wanted + [0] * (len(found) - len(wanted)), instr
        await cycles(dut, random.randint(1, 3))


@pytest.mark.parametrize("grid, width, mem_w", [(4, 8, 64), (4, 16, 512), (8, 11, 512), (8, 8, 128)])
def test_store_unit(grid, width, mem_w):
    run("engine", "gc_store_unit", {"GRID": grid, "DW": width, "MEM_W": mem_w, "ADDR_W": 40, "ACCESS_W": ACCESS_W})
