# SPDX-License-Identifier: Apache-2.0
"""Every drained column of random COMPUTE instructions: its place by the loops of doc/instructions.md, its fields by
isa."""

import random
from itertools import product

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from gradcore.isa.instruction import BP, FIELDS, FP, WU, Opcode, encode, instruction
from tb.support.access import ACCESS_W, record
from tb.support.bench import cycles, start
from tb.support.runner import parameter, run

SAME = (
    "signal",
    "dst_buf",
    "relu",
    "pool",
    "gate_write",
    "scale",
    "loss",
    "grad_first",
    "rounding",
    "split",
    "fold",
    "shift",
    "t_pos",
    "t_neg",
    "loss_shift",
    "n_valid",
    "rnd_tag",
    "map0",
    "n_base",
    "factor_shift",
    "factor_0",
    "factor_1",
    "keep_threshold",
    "factor_tag",
    "keep_tag",
)
LOOPS = ("n_g", "n_rg", "n_by", "n_bx", "n_ky", "n_kx")


def random_compute(cols):
    """Fields anywhere in their range, but small loops and folds that make sense."""
    fields = {name: random.randint(*place.range) for name, place in FIELDS[Opcode.COMPUTE].items() if name != "opcode"}
    fields |= {name: random.randint(1, 3) for name in LOOPS} | {
        "mode": random.choice([FP, BP, WU]),
        "n_last": random.randint(1, cols),
    }
    if fields["keep_out"] and random.random() < 0.3:  # one pass
        fields |= {"mode": random.choice([FP, BP]), "n_g": 1, "n_by": 1, "n_bx": 1}
    else:
        fields["keep_out"] = 0
    fields["pool"] = random.getrandbits(1)
    fields["fold"] = random.randint(fields["pool"], 3)
    if fields["fold"]:
        fields |= {"skip_y": 0, "skip_x": 0}
    inner = fields["fold"] - fields["pool"]
    fields["dst_fold"] = random.choice([*range(inner + 1), fields["fold"]])
    fields["gate_fold"] = random.randint(0, fields["fold"])
    return instruction(Opcode.COMPUTE, **fields)


def block(instr, axis, index):
    """(origin of the computed block, of the written one, displacement there, vectors from the first: destination,
    gate)."""
    fold, pool, backward = instr["fold"], instr["pool"], instr["mode"] == BP
    first = instr[f"in_b{axis}0" if backward else f"b{axis}0"]
    at, inner = first + index * (1 + instr[f"skip_{axis}"] * backward), fold - pool
    if pool and instr["dst_fold"] == fold:  # two pooled blocks share a storage block
        own, shift, moved = (
            at // 2 << fold,
            at % 2 << inner,
            (at // 2 - first // 2) * instr[f"dst_stride_{axis}"],
        )
    else:
        own, shift, moved = at << inner, 0, index * instr[f"dst_stride_{axis}"] << inner - instr["dst_fold"]
    return at << fold, own, shift, moved, index * instr[f"gate_stride_{axis}"] << fold - instr["gate_fold"]


def map_word(instr, g, by, bx, j, cols):
    chan = g * cols + j
    (y0, own_y, dy, dst_y, gate_y), (x0, own_x, dx, dst_x, gate_x) = block(instr, "y", by), block(instr, "x", bx)
    dst = record(
        addr=(instr["dst_base"] + chan + dst_y + dst_x) % 65536,
        y0=own_y,
        x0=own_x,
        dy=dy,
        dx=dx,
        chan=chan,
        stride_y=instr["dst_stride_y"],
        stride_x=instr["dst_stride_x"],
        fold_a=instr["fold"] - instr["pool"],
        fold_s=instr["dst_fold"],
        rot_y=instr["dst_rot_y"],
        rot_x=instr["dst_rot_x"],
        height=instr["dst_height"],
        width=instr["dst_width"],
    )
    gate = record(
        addr=instr["gate_base"] + chan + gate_y + gate_x,
        y0=y0,
        x0=x0,
        chan=chan,
        stride_y=instr["gate_stride_y"],
        stride_x=instr["gate_stride_x"],
        fold_a=instr["fold"],
        fold_s=instr["gate_fold"],
        rot_y=instr["gate_rot_y"],
        rot_x=instr["gate_rot_x"],
        height=instr["height"],
        width=instr["width"],
    )
    return {"dst": dst, "gate": gate}


def gradient_word(instr, rg, ky, kx, g, j, cols):
    if j == cols:
        return {"grad_addr": (instr["grad_bias_base"] + rg) % 65536}
    row = rg * instr["grad_stride_rg"] + ky * instr["grad_stride_ky"] + kx * instr["grad_stride_kx"]
    return {"grad_addr": (instr["grad_base"] + row + g * cols + j) % 65536}


def passes(instr, cols):
    """(columns, sum column, words of its columns) of each pass; one that keeps its sums is a column without a word."""
    if instr["keep_out"]:
        return [(1, False, {})]
    wu = instr["mode"] == WU
    loops = [range(instr[name]) for name in (("n_rg", "n_ky", "n_kx", "n_g") if wu else ("n_g", "n_by", "n_bx"))]
    found = []
    for place in product(*loops):
        g = place[3 if wu else 0]
        columns = instr["n_last"] if g == instr["n_g"] - 1 else cols
        total = wu and instr["bias"] and not any(place[1:])
        word = gradient_word if wu else map_word
        found.append(
            (columns, total, {j: word(instr, *place, j, cols) for j in (*range(columns), *([cols] if total else []))})
        )
    return found


@cocotb.test()
async def every_column_finds_its_place(dut):
    cols = parameter("COLS")
    await start(dut, s_push=0, s_pass=0, s_columns=0, s_sum=0, s_instruction=0)
    for _ in range(12):
        batch = [random_compute(cols) for _ in range(random.randint(1, 4))]
        for instr in batch:
            assert dut.s_room.value
            dut.s_push.value, dut.s_instruction.value = 1, int.from_bytes(encode(instr), "little")
            await cycles(dut, 1)
        dut.s_push.value, dut.s_instruction.value = 0, random.getrandbits(1024)
        assert len(batch) < 4 or not dut.s_room.value
        for instr in batch:
            same = {name: instr[name] & (1 << FIELDS[Opcode.COMPUTE][name].bits) - 1 for name in SAME}
            same |= {"wu": int(instr["mode"] == WU), "backward": int(instr["mode"] == BP)}
            same["factor"] = 0 if instr["mode"] == WU or instr["keep_out"] else instr["factor"]
            every = passes(instr, cols)
            for number, (columns, total, words) in enumerate(every):
                await cycles(dut, random.choice([0, 0, 3]) or 1)
                dut.s_pass.value, dut.s_columns.value, dut.s_sum.value = 1, columns, int(total)
                await cycles(dut, 1)
                dut.s_pass.value = 0
                steps = cols + 1 if total else columns
                for j in range(steps):
                    await cycles(dut, 1)
                    await ReadOnly()
                    assert bool(dut.m_valid.value) == (j in words)
                    assert bool(dut.m_final.value) == (number == len(every) - 1 and j == steps - 1)
                    if j in words:
                        found = {name: int(getattr(dut, f"m_{name}").value) for name in (*words[j], *same)}
                        assert found == words[j] | same, (instr, j)
        await cycles(dut, 2)
        assert not dut.sts_busy.value and not dut.m_valid.value


@pytest.mark.parametrize("cols", [4, 16, 64])
def test_compute_places(cols):
    run("engine", "gc_compute_places", {"COLS": cols, "COLS_LOG": cols.bit_length() - 1, "ACCESS_W": ACCESS_W})
