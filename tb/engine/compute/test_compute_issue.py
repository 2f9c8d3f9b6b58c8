# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ReadOnly

from gradcore.compiler.operation import compute_cycles
from gradcore.isa.instruction import BP, FP, WU, Opcode, assemble, instruction
from tb.support.access import ACCESS_W, fields
from tb.support.bench import cycles, start
from tb.support.cases import first
from tb.support.runner import parameter, run

LATE = 7  # results with a factor come so much later
GROUPS = {4: 4, 8: 8, 16: 4, 32: 2, 64: 1}  # of lanes, by columns


def random_compute(cols, kept=0.5):
    """`kept`: how many of those in FP and BP are of one pass, parts of a reduction."""
    mode = random.choice([FP, BP, WU])
    small = {name: random.randint(1, 3) for name in ("n_rg", "n_g", "n_by", "n_bx", "n_ky", "n_kx")}
    if mode != WU and random.random() < kept:
        small |= dict.fromkeys(("n_g", "n_by", "n_bx"), 1)
        small |= {name: random.getrandbits(1) for name in ("keep_in", "keep_out")}
    return instruction(
        Opcode.COMPUTE,
        mode=mode,
        bias=mode != BP and random.getrandbits(1),
        n_c=random.randint(1, random.choice([2, 2 * cols])),
        n_last=random.randint(1, cols),
        factor=random.choice([0, 0, 1, 2, 3]),
        **small,
    )


async def issue(dut, instr):
    """One instruction: what each of its cycles did. Now and then STORE takes a cycle."""
    word = int.from_bytes(np.asarray(assemble([instr])).tobytes(), "little")
    dut.s_instruction.value = word
    dut.start.value = 1
    await cycles(dut, 1)
    dut.start.value = 0
    log, marks, often = [], [], random.choice([0, 0, 0.5])
    while not log or not log[-1][0]:
        dut.s_hold.value = hold = random.random() < often
        await ReadOnly()
        log.append(
            tuple(
                int(s.value)
                for s in (dut.m_done, dut.m_pass, dut.m_pass_columns, dut.m_pass_sum, dut.sts_step, dut.sts_pad)
            )
        )
        assert int(dut.sts_yield.value) == (hold and not log[-1][5])
        await cycles(dut, 1)
        assert int(dut.m_valid.value) == log[-1][4]
        if dut.m_valid.value:
            marks.append((int(dut.m_first.value), int(dut.m_last.value)))
    dut.s_hold.value = 0
    return log, marks


def pass_marks(instr, cols, kept):
    """(first, last) of every step: where the array clears its sums and where it sends them. `kept`: the COMPUTE before
    has left its sums."""
    passes = compute_passes(instr)
    each = compute_cycles(instr, cols)[1] // passes
    marks = [(int(step == 0), int(step == each - 1)) for _ in range(passes) for step in range(each)]
    if instr["keep_in"] and kept:
        marks[0] = (0, marks[0][1])
    if instr["keep_out"]:
        marks[-1] = (marks[-1][0], 0)
    return marks


def compute_passes(instr):
    names = ("n_rg", "n_ky", "n_kx", "n_g") if instr["mode"] == WU else ("n_g", "n_by", "n_bx")
    return int(np.prod([instr[name] for name in names]))


@cocotb.test()
async def passes_leave_room_for_the_columns_of_the_one_before(dut):
    """Also across instructions, and not more room than that; every step of an instruction is issued once."""
    cols = parameter("COLS")
    await start(dut, start=0, s_clear=0, s_instruction=0, s_hold=0)
    clock, free, short = 0, 0, 0
    for _ in range(60):
        instr = random_compute(cols)
        log, _ = await issue(dut, instr)
        assert sum(step for *_, step, _ in log) == compute_cycles(instr, cols)[1]
        for _, ended, columns, sum_column, step, pad in log:
            assert not (step and pad)
            assert not pad or clock < free, "padding without need"
            if ended:
                assert clock >= free, (
                    f"the columns of the pass before are out in cycle {free}, this one ends in {clock}"
                )
                short += clock == free
                free = clock + (cols + 1 if sum_column else 1 if instr["keep_out"] else columns)
                assert not instr["keep_out"] or columns == 1
            clock += 1
        free += LATE * bool(instr["factor"] and instr["mode"] != WU and not instr["keep_out"])
        clock += 1  # the cycle of `start`
    assert short, "no pass was as short as it may be"


@cocotb.test()
async def sums_are_cleared_unless_they_were_kept(dut):
    """By the instruction directly before, in the same program."""
    cols = parameter("COLS")
    await start(dut, start=0, s_clear=0, s_instruction=0, s_hold=0)
    kept, seen = False, set()
    while len(seen) < 10:
        forgotten = kept and random.random() < 0.3
        if forgotten:
            dut.s_clear.value = 1
            await cycles(dut, 1)
            dut.s_clear.value, kept = 0, False
        instr = random_compute(cols, 0.9)
        assert (await issue(dut, instr))[1] == pass_marks(instr, cols, kept), f"{instr}, kept {kept}"
        seen |= {(kept, instr["keep_in"], instr["keep_out"])}
        seen |= {("forgotten", instr["keep_in"])} if forgotten else set()
        kept = bool(instr["keep_out"])


@cocotb.test()
async def groups_of_lanes_share_the_channels(dut):
    """With split the steps of a tap go through the channels of the first group and the rows of their weights."""
    cols, groups = parameter("COLS"), parameter("GROUPS")
    await start(dut, start=0, s_clear=0, s_instruction=0, s_hold=0)
    for split in (0, 1):
        n_c, row, wgt = random.randint(2 * cols, 3 * cols), random.randrange(1 << 16), random.randrange(1 << 16)
        instr = instruction(
            Opcode.COMPUTE,
            mode=FP,
            split=split,
            n_g=1,
            n_by=1,
            n_bx=1,
            n_ky=1,
            n_kx=1,
            n_c=n_c,
            n_last=1,
            row_base=row,
            wgt_base=wgt,
            wgt_stride_cg=cols * (groups if split else 1),
        )
        dut.s_instruction.value = int.from_bytes(np.asarray(assemble([instr])).tobytes(), "little")
        dut.start.value = 1
        await cycles(dut, 1)
        dut.start.value, got = 0, []
        for _ in range(n_c + 3):
            await cycles(dut, 1)
            if dut.m_valid.value:
                access = fields(int(dut.m_row.value))
                got.append(
                    (
                        int(dut.m_split.value),
                        access["addr"],
                        access["chan"],
                        int(dut.m_wgt_addr.value),
                        int(dut.m_wgt_rot.value),
                    )
                )
        channels = [i // cols * cols * (groups if split else 1) + i % cols for i in range(n_c)]
        assert got == [(split, (row + c) & 0xFFFF, c, (wgt + c) & 0xFFFF, c % cols) for c in channels]


@pytest.mark.parametrize("cols", first(3, GROUPS))
def test_compute_issue(cols):
    run(
        "engine",
        "gc_compute_issue",
        {"COLS": cols, "COLS_LOG": cols.bit_length() - 1, "GROUPS": GROUPS[cols], "ACCESS_W": ACCESS_W},
    )
