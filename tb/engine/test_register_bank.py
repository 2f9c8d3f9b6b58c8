# SPDX-License-Identifier: Apache-2.0
import random

import cocotb

from gradcore import registers as reg
from tb.support.bench import cycles, reset, start
from tb.support.runner import expect_elaboration_error, run

WINDOWS = 4
INPUTS = dict(s_reg_write=0, s_reg_read=0, s_reg_addr=0, s_reg_wdata=0, s_busy=0, s_done=0, s_failed=0, s_code=0, s_index=0, s_addr=0,
              s_overflow=0, s_loss=0, s_counter=0)


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
    masks = {a: 0xFFFFFFFF for a in (*wide, reg.SEED)} | {a + 4: 0xFF for a in wide} | {reg.PROG_LENGTH: 0xFFFFFF, reg.IRQ_ENABLE: 3,
                                                                                                             reg.WATCHDOG: 0xFFFFFFFF}
    for n in range(WINDOWS):
        base = reg.WINDOW + reg.WINDOW_BYTES * n
        masks |= {base: 0xFFFFF003, base + 4: 0xFF, base + 8: 0xFFFFF000, base + 12: 0xFF}
    for _ in range(3):
        values = {a: random.getrandbits(32) for a in masks}
        for a, v in random.sample(list(values.items()), len(values)):
            await write(dut, a, v)
        for a in masks:
            assert await read(dut, a) == values[a] & masks[a], hex(a)
        base, end = ([values[a] >> 12 | (values[a + 4] & 0xFF) << 20 for a in range(first, reg.COUNTERS, reg.WINDOW_BYTES) if a in masks]
                     for first in (reg.WINDOW, reg.WINDOW + 8))
        rights = [values[reg.WINDOW + reg.WINDOW_BYTES * n] for n in range(WINDOWS)]
        flat = base + end + [sum((r >> bit & 1) << n for n, r in enumerate(rights)) for bit in (0, 1)]
        widths = [28] * 2 * WINDOWS + [WINDOWS] * 2
        assert int(dut.cfg_windows.value) == sum(value << sum(widths[:k]) for k, value in enumerate(flat))
        assert int(dut.cfg_watchdog.value) == values[reg.WATCHDOG]
        assert int(dut.cfg_base.value) == sum((values[a] | (values[a + 4] & 0xFF) << 32) << 40 * i for i, a in enumerate(reg.BASE))
    assert await read(dut, reg.ID) == reg.ID_VALUE and await read(dut, reg.VERSION) == reg.VERSION_VALUE
    for unnamed in (0x06C, 0x07C, 0x0C0, 0x0FC, 0x300, 0x900, 0xFFC):
        assert await read(dut, unnamed) == 0, hex(unnamed)
    await reset(dut)
    assert (int(dut.cfg_windows.value) >> 28 * 2 * WINDOWS, await read(dut, reg.WATCHDOG), await read(dut, reg.IRQ_ENABLE)) == (0, 0, 0)


async def pulse(dut, **values):
    for name, value in values.items():
        getattr(dut, name).value = value
    await cycles(dut, 1)
    for name in values:
        getattr(dut, name).value = 0


@cocotb.test()
async def start_stop_status_and_interrupt(dut):
    await start(dut, **INPUTS)
    await write(dut, reg.IRQ_ENABLE, reg.IRQ_DONE)
    await write(dut, reg.CTRL, reg.START)
    assert (dut.m_start.value, dut.m_stop.value) == (1, 0)
    dut.s_busy.value = 1
    await cycles(dut, 1)
    await write(dut, reg.CTRL, reg.START)
    assert dut.m_start.value == 0 and await read(dut, reg.STATUS) == reg.BUSY
    await write(dut, reg.CTRL, reg.STOP)
    assert (dut.m_start.value, dut.m_stop.value) == (0, 1)
    dut.s_busy.value = 0
    await pulse(dut, s_done=1)
    assert dut.irq.value == 1 and await read(dut, reg.STATUS) == reg.DONE and await read(dut, reg.IRQ_STATUS) == reg.IRQ_DONE
    await write(dut, reg.IRQ_STATUS, reg.IRQ_FAILED)
    assert dut.irq.value == 1
    await write(dut, reg.IRQ_STATUS, reg.IRQ_DONE)
    assert dut.irq.value == 0 and await read(dut, reg.STATUS) == reg.DONE
    await write(dut, reg.CTRL, reg.START)
    assert await read(dut, reg.STATUS) == 0
    dut.s_code.value, dut.s_index.value, dut.s_addr.value, dut.s_overflow.value = 0x5A, 0xABCDE, 0x12_3456_7890, 1
    assert (await read(dut, reg.ERROR), await read(dut, reg.ERROR_ADDR), await read(dut, reg.ERROR_ADDR + 4)) == (0, 0, 0)
    await pulse(dut, s_failed=1)
    assert dut.irq.value == 0 and await read(dut, reg.STATUS) == reg.FAILED | reg.GRAD_OVERFLOW
    await write(dut, reg.IRQ_ENABLE, reg.IRQ_FAILED)
    assert dut.irq.value == 1 and await read(dut, reg.IRQ_STATUS) == reg.IRQ_FAILED
    assert (await read(dut, reg.ERROR), await read(dut, reg.ERROR_ADDR), await read(dut, reg.ERROR_ADDR + 4)) == (0xABCDE5A, 0x34567890, 0x12)
    dut.s_loss.value, dut.s_counter.value = 0x0123456789ABCDEF, 77
    assert (await read(dut, reg.LOSS), await read(dut, reg.LOSS + 4)) == (0x89ABCDEF, 0x01234567)
    assert (await read(dut, reg.COUNTERS + 8), await read(dut, 0x2F0)) == (77, 77)
    await write(dut, reg.CTRL, reg.START)
    await cycles(dut, 1)
    assert dut.irq.value == 0 and await read(dut, reg.STATUS) == reg.GRAD_OVERFLOW
    await pulse(dut, s_failed=1)
    await reset(dut)
    assert dut.irq.value == 0 and await read(dut, reg.STATUS) == reg.GRAD_OVERFLOW


def test_register_bank():
    run("engine", "register_bank", {"ADDR_W": 40, "WINDOWS": WINDOWS})


def test_engine_refuses():
    for bad, text in (({"GRID": 5}, "GRID_must"), ({"COLS": 24}, "COLS_must"), ({"DW": 7}, "DW_must"), ({"DW": 17}, "DW_must"), ({"MEM_W": 96}, "MEM_W_must"),
                      ({"ADDR_W": 32}, "ADDR_W_must"), ({"ADDR_W": 49}, "ADDR_W_must"), ({"WGT_DEPTH": 1 << 17}, "WGT_DEPTH_or"),
                      ({"GRAD_DEPTH": 1 << 17}, "WGT_DEPTH_or"), ({"ACT_DEPTH": 1 << 17}, "DEPTH_beyond_the_addresses")):
        expect_elaboration_error("engine", "engine", bad, text)
