# SPDX-License-Identifier: Apache-2.0
import random

import cocotb

from gradcore import registers as reg
from tb.support.bench import cycles, reset, start
from tb.support.runner import expect_elaboration_error, run

INPUTS = dict(s_reg_write=0, s_reg_read=0, s_reg_addr=0, s_reg_wdata=0, s_busy=0, s_done=0, s_error=0, s_code=0, s_overflow=0, s_index=0, s_loss=0, s_counter=0)


async def write(dut, addr, value):
    dut.s_reg_write.value, dut.s_reg_addr.value, dut.s_reg_wdata.value = 1, addr, value
    await cycles(dut, 1)
    dut.s_reg_write.value = 0


async def read(dut, addr):
    dut.s_reg_read.value, dut.s_reg_addr.value = 1, addr
    await cycles(dut, 1)
    dut.s_reg_read.value = 0
    return int(dut.m_reg_rdata.value)


@cocotb.test()
async def written_registers_read_back(dut):
    await start(dut, **INPUTS)
    wide = [reg.PROG_BASE, *reg.BASE]
    masks = {a: 0xFFFFFFFF for a in (*wide, reg.SEED)} | {a + 4: 0xFF for a in wide} | {reg.PROG_LENGTH: 0xFFFFFF, reg.IRQ_ENABLE: 1}
    for _ in range(3):
        values = {a: random.getrandbits(32) for a in masks}
        for a, v in random.sample(list(values.items()), len(values)):
            await write(dut, a, v)
        for a in masks:
            assert await read(dut, a) == values[a] & masks[a], hex(a)
        assert int(dut.cfg_base.value) == sum((values[a] | (values[a + 4] & 0xFF) << 32) << 40 * i for i, a in enumerate(reg.BASE))
    assert await read(dut, reg.ID) == reg.ID_VALUE and await read(dut, reg.VERSION) == reg.VERSION_VALUE
    assert await read(dut, 0x0FC) == 0


@cocotb.test()
async def start_status_and_interrupt(dut):
    await start(dut, **INPUTS)
    await write(dut, reg.IRQ_ENABLE, 1)
    await write(dut, reg.CTRL, reg.START)
    assert dut.m_start.value == 1
    dut.s_busy.value = 1
    await cycles(dut, 1)
    await write(dut, reg.CTRL, reg.START)
    assert dut.m_start.value == 0 and await read(dut, reg.STATUS) == reg.BUSY
    dut.s_busy.value, dut.s_done.value = 0, 1
    await cycles(dut, 1)
    dut.s_done.value = 0
    assert dut.irq.value == 1 and await read(dut, reg.STATUS) == reg.DONE
    await write(dut, reg.IRQ_ENABLE, 0)
    assert dut.irq.value == 0
    dut.s_error.value = 1
    await cycles(dut, 2)
    assert await read(dut, reg.STATUS) == reg.DONE, "the last program's error counts before this one runs"
    dut.s_busy.value = 1
    await cycles(dut, 1)
    dut.s_busy.value = 0
    dut.s_error.value, dut.s_code.value, dut.s_index.value, dut.s_overflow.value = 1, 0x5A, 0xABCDE, 1
    assert await read(dut, reg.STATUS) == reg.DONE | reg.FAILED | reg.GRAD_OVERFLOW
    assert await read(dut, reg.ERROR) == 0xABCDE << 8 | 0x5A
    dut.s_loss.value = 0x0123456789ABCDEF
    assert (await read(dut, reg.LOSS), await read(dut, reg.LOSS + 4)) == (0x89ABCDEF, 0x01234567)
    dut.s_counter.value = 77
    assert await read(dut, reg.COUNTERS + 8) == 77
    dut.s_error.value = 0
    await write(dut, reg.CTRL, reg.START)
    await cycles(dut, 1)
    assert await read(dut, reg.STATUS) == reg.GRAD_OVERFLOW
    await reset(dut)
    assert dut.irq.value == 0


def test_register_bank():
    run("engine", "register_bank", {"ADDR_W": 40})


def test_engine_refuses():
    for bad, text in (({"GRID": 5}, "GRID_must"), ({"COLS": 24}, "COLS_must"), ({"DW": 7}, "DW_must"), ({"DW": 17}, "DW_must"), ({"MEM_W": 96}, "MEM_W_must"),
                      ({"ADDR_W": 32}, "ADDR_W_must"), ({"ADDR_W": 49}, "ADDR_W_must"), ({"WGT_DEPTH": 1 << 17}, "WGT_DEPTH_or"),
                      ({"GRAD_DEPTH": 1 << 17}, "WGT_DEPTH_or"), ({"ACT_DEPTH": 1 << 17}, "DEPTH_beyond_the_addresses")):
        expect_elaboration_error("engine", "engine", bad, text)
