# SPDX-License-Identifier: Apache-2.0
"""LOADW into the weight buffer, then every way to read it, against the model."""

import random
from functools import partial

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ReadOnly

from gradcore.isa.instruction import Opcode, instruction
from gradcore.machine.transfers import LoadWeights
from tb.engine.transfer.machine import after, begin, dram, end, model, refill
from tb.support.bench import cycles, reset, start
from tb.support.bits import unpack
from tb.support.runner import parameter, run

INPUTS = {
    "start": 0,
    "cfg_base": 0,
    "s_rd_valid": 0,
    "s_rd_addr": 0,
    "s_rd_rot": 0,
    "s_rd_ramp": 0,
    "s_rd_split": 0,
    "s_b_valid": 0,
    "s_b_addr": 0,
    "s_b_rot": 0,
    "s_scrub": 0,
    "s_scrub_addr": 0,
}


def random_loadw(machine, outer=3, inner=8):
    config = machine.config
    n = {"n_outer": random.randint(1, outer), "n_inner": random.randint(1, inner)}
    words = n["n_outer"] * n["n_inner"]
    return instruction(
        Opcode.LOADW,
        addr=config.mem_bytes * random.randrange(8),
        run_beats=-(-words * config.row_bytes // config.mem_bytes),
        n1=1,
        n2=1,
        n_words=words,
        base=random.getrandbits(16),
        **n,
    )


def row(machine, addr, rot, ramp=0):
    """Words of a read: at the address, or with `ramp` word j of the j-th row behind it."""
    j = np.arange(machine.config.cols)
    return machine.weights[(j + rot) % machine.config.cols, (addr + ramp * j) % machine.config.wgt_depth].tolist()


async def scrub(dut, machine):
    for addr in range(machine.config.wgt_depth):
        dut.s_scrub.value, dut.s_scrub_addr.value = 1, addr
        await cycles(dut, 1)
    dut.s_scrub.value = 0
    await cycles(dut, 8)
    machine.weights[:] = 0


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def rows_are_read_as_the_model_holds_them(dut, stall):
    cols, lanes, dw, latency = (parameter(name) for name in ("COLS", "LANES", "DW", "READ"))
    await start(dut, **INPUTS)
    machine = model(8 if lanes == 64 else 4, cols)
    await scrub(dut, machine)
    memory = dram(dut, machine, stall)
    for _ in range(12):
        instr = random_loadw(machine)
        refill(memory, machine)
        machine = after(machine, partial(LoadWeights, instr=instr))
        await begin(dut, instr)
        await end(dut)
        await cycles(dut, 10)
        due = []
        for now in range(40 + latency):
            ask = now < 40
            addr, rot, ramp = random.getrandbits(16), random.randrange(cols), random.getrandbits(1)
            split = random.getrandbits(1) if not ramp else 0
            addr -= addr % lanes if split else 0
            dut.s_rd_valid.value, dut.s_rd_addr.value, dut.s_rd_rot.value = int(ask), addr, rot
            dut.s_rd_ramp.value, dut.s_rd_split.value = ramp, split
            due.append(
                [w for g in range(lanes // cols) for w in row(machine, addr ^ (g * cols if split else 0), rot, ramp)]
                if ask
                else None
            )
            await ReadOnly()
            if now >= latency and (wanted := due[now - latency]):
                assert unpack(dut.m_rd_data.value, dw, lanes) == wanted, instr
            await cycles(dut, 1)


@cocotb.test()
async def the_second_port_gets_its_rows_in_order(dut):
    cols, dw = parameter("COLS"), parameter("DW")
    await start(dut, **INPUTS)
    machine = model(8 if parameter("LANES") == 64 else 4, cols)
    await scrub(dut, machine)
    memory = dram(dut, machine, 0.0)
    instr, asked, got = random_loadw(machine), [], []
    refill(memory, machine)
    machine = after(machine, partial(LoadWeights, instr=instr))
    await begin(dut, instr)
    await end(dut)
    await cycles(dut, 10)
    for now in range(160):
        addr, rot, ask = instr["base"] + random.randrange(instr["n_words"]), random.randrange(cols), now < 100
        dut.s_b_valid.value, dut.s_b_addr.value, dut.s_b_rot.value = int(ask), addr % 65536, rot
        dut.s_rd_valid.value = random.getrandbits(1)
        await ReadOnly()
        if ask and dut.s_b_ready.value:
            asked.append(row(machine, addr, rot))
        if dut.m_b_valid.value:
            got.append(unpack(dut.m_b_data.value, dw, cols))
        await cycles(dut, 1)
    assert got == asked and len(got) > 20


@cocotb.test()
async def lengths_that_do_not_agree_are_bad(dut):
    await start(dut, **INPUTS)
    machine = model(8 if parameter("LANES") == 64 else 4, parameter("COLS"))
    dram(dut, machine, 0.2)
    for field, wrong in (("n_words", 1), ("n_words", -1), ("run_beats", 2), ("n_inner", 1), ("n_outer", 1)):
        await reset(dut)
        instr = random_loadw(machine)
        instr["n_outer"], instr["n_inner"], instr["n_words"] = 2, 3, 6
        instr["run_beats"] = -(-6 * machine.config.row_bytes // machine.config.mem_bytes)
        instr[field] += wrong
        await begin(dut, instr)
        for _ in range(400):
            if dut.m_bad.value:
                break
            await cycles(dut, 1)
        assert dut.m_bad.value, (field, wrong)


@pytest.mark.parametrize("lanes, cols, width, mem_w", [(16, 4, 8, 64), (16, 16, 16, 128), (64, 16, 11, 512)])
def test_weight_unit(lanes, cols, width, mem_w):
    run(
        "engine",
        "gc_weight_unit",
        {
            "COLS": cols,
            "COLS_LOG": cols.bit_length() - 1,
            "LANES": lanes,
            "DW": width,
            "DEPTH": 64,
            "READ": 8,
            "MEM_W": mem_w,
            "ADDR_W": 40,
        },
    )
