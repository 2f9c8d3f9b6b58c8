# SPDX-License-Identifier: Apache-2.0
"""What a program leaves in the memories on chip can be read out by the next one, until they are scrubbed: then all of
them are zero."""

import random

import cocotb
import numpy as np
import pytest
from cocotb.handle import Force, Release

from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from gradcore.isa.instruction import GATE_BUFFER, WU, Opcode, instruction
from tb.support.bench import cycles, reset
from tb.support.cases import first
from tb.support.fuzz import serial
from tb.support.native import SCRUB, TABLE_DEPTH, NativeEngine
from tb.support.runner import parameter, run

BEAT, VECTOR, ROW = 64, 32, 8  # bytes
ONES = 0x2000  # of vectors of ones, behind BASE 1
PLACES, POINTS = 0x4000, 1024  # where the segments of VECTOR's table begin, how many there are


class Memories:
    """Programs for every memory of the engine: `fill` writes all its words, `show` brings them to the DRAM."""

    def __init__(self):
        self.depth = {name: parameter(f"{name}_DEPTH") for name in ("ACT", "WGT", "GRAD", "GATE")}

    def _vectors(self, addr, count, base_sel):
        """DRAM side and loops of a transfer of whole vectors."""
        assert count * VECTOR % BEAT == 0
        return dict(
            base_sel=base_sel,
            addr=addr,
            run_beats=count * VECTOR // BEAT,
            n1=1,
            n2=1,
            n_words=count,
            n_b=1,
            n_y=1,
            n_x=1,
            n_c=count,
            fold=2,
        )

    def _rows(self, addr, count, base_sel):
        return dict(
            base_sel=base_sel, addr=addr, run_beats=count * ROW // BEAT, n_words=count, n_outer=1, n_inner=count
        )

    def fill(self):
        act, wgt, grad, gate = self.depth.values()
        instructions = [instruction(Opcode.LOAD, buffer=buffer, **self._vectors(0, act, 1)) for buffer in (0, 1)]
        instructions += [
            instruction(Opcode.LOAD, buffer=GATE_BUFFER, **self._vectors(0, gate, 1)),
            instruction(Opcode.LOADW, **self._rows(0, wgt, 1) | dict(n1=1, n2=1)),
        ]
        wide = min(act, grad)  # channels, each of them gives a row of gradients for every tap
        operand = dict(
            fold=2, row_fold=2, col_fold=2, row_height=4, row_width=4, col_height=4, col_width=4, height=4, width=4
        )
        instructions.append(
            instruction(
                Opcode.COMPUTE,
                mode=WU,
                **operand,
                n_rg=1,
                n_ky=grad // wide,
                n_kx=1,
                n_g=wide // 4,
                n_last=4,
                n_by=1,
                n_bx=1,
                row_channels=4,
                col_channels=wide,
                grad_first=1,
                grad_stride_ky=wide,
                n_valid=1,
            )
        )
        instructions.append(self._vector(operation=isa.LOAD_TABLE, base_sel=1, n_beats=-(-2 * (POINTS + 1) // BEAT)))
        return isa.assemble(serial([*instructions, instruction(Opcode.END)]))

    def _vector(self, **fields):
        names = ("n_y", "n_x", "n_ky", "n_kx", "step_y", "step_x", "height", "width")
        return instruction(Opcode.VECTOR, **dict.fromkeys(names, 1), **fields)

    def show(self):
        """The program and the places of its results: (memory, address, bytes)."""
        act, wgt, grad, gate = self.depth.values()
        everything = dict(height=4095, width=4095, n_valid=1)
        at, instructions, places = 0, [], []

        def place(name, size):
            nonlocal at
            places.append((name, at, size))
            at += size
            return at - size

        for buffer in (0, 1):
            instructions.append(
                instruction(
                    Opcode.STORE,
                    buffer=buffer,
                    **everything,
                    **self._vectors(place(f"operand buffer {buffer}", act * VECTOR), act, 0),
                )
            )
        for row in range(0, gate, act):  # ones times the gates, by way of buffer 0
            instructions.append(instruction(Opcode.LOAD, scale=1, gate_base=row, **self._vectors(ONES, act, 1)))
            instructions.append(
                instruction(Opcode.STORE, **everything, **self._vectors(place(f"gates {row}..", act * VECTOR), act, 0))
            )
        # The old weights and the gradients alone.
        instructions.append(
            instruction(Opcode.UPDATE, resident=1, wgt_inner=wgt, **self._rows(place("weights", wgt * ROW), wgt, 0))
        )
        instructions.append(instruction(Opcode.UPDATE, lr_m=1, **self._rows(place("gradients", grad * ROW), grad, 0)))
        table = dict(base_sel=1, addr=PLACES, addr_out=place("table", 2 * POINTS), n_beats=2 * POINTS // BEAT)
        instructions.append(self._vector(operation=isa.TABLE, **table))
        return isa.assemble(serial([*instructions, instruction(Opcode.END)])), places


@cocotb.test()
async def nothing_is_left_after_a_scrub(dut):
    engine, memories = NativeEngine(dut), Memories()
    words = (
        1 + np.random.default_rng(cocotb.RANDOM_SEED).integers(0, 1 << 14, 1 << 12) * 2
    )  # odd: as gates all of them are one
    engine.memory.write(engine.IMAGES, words.astype("<i2").tobytes())
    engine.memory.write(engine.IMAGES + ONES, np.ones(1 << 12, "<i2").tobytes())
    segments = np.arange(-POINTS // 2, POINTS // 2) << 6
    engine.memory.write(engine.IMAGES + PLACES, segments.astype("<i2").tobytes())
    program, places = memories.show()

    async def show():
        engine.memory.write(0, bytes(engine.PROGRAM))  # the weights to which the gradients are added are zero
        await engine.run(program)
        return {name: np.frombuffer(engine.memory.read(at, size), "<i2") for name, at, size in places}

    await engine.boot()
    await engine.open_windows()
    await engine.run(memories.fill())
    for name, found in (await show()).items():
        assert found.all(), f"{name}: {np.sum(found == 0)} of {found.size} words are not seen"
    await reset(dut)
    await engine.open_windows()
    for name, found in (await show()).items():
        assert not found.any(), f"{name}: {np.sum(found != 0)} of {found.size} words are left"


@cocotb.test()
async def takes_as_long_as_the_deepest_memory_needs_from_a_reset_of_the_memories_on(dut):
    engine = NativeEngine(dut)
    await engine.boot()
    await engine.write(reg.CTRL, SCRUB)
    await cycles(dut, random.randrange(60))
    dut.g_engine.core_rst.value = Force(1)  # a reset of the memories takes back what is on its way to them
    await cycles(dut, random.randint(1, 3))
    dut.g_engine.core_rst.value = Release()
    while dut.g_engine.resetting.value:
        assert dut.g_engine.scrubbing.value
        await cycles(dut, 1)
    for cycle in range(max(TABLE_DEPTH, *Memories().depth.values()) + 8):
        assert dut.g_engine.scrubbing.value, f"cycle {cycle}"
        await cycles(dut, 1)
    assert not dut.g_engine.scrubbing.value


@pytest.mark.parametrize(
    "act, wgt, grad, gate", first(2, [(64, 16, 32, 128), (1024, 16, 16, 64), (64, 1024, 32, 64), (64, 16, 1024, 64)])
)
def test_scrub(act, wgt, grad, gate):
    """Each memory the deepest."""
    run(
        "engine",
        "gc_engine",
        {
            "GRID": 4,
            "COLS": 4,
            "MEM_W": 512,
            "ADDR_W": 40,
            "ACT_DEPTH": act,
            "WGT_DEPTH": wgt,
            "GRAD_DEPTH": grad,
            "GATE_DEPTH": gate,
        },
        testcase=None if gate == 128 else "takes_as_long_as_the_deepest_memory_needs_from_a_reset_of_the_memories_on",
    )
