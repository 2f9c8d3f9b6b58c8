# SPDX-License-Identifier: Apache-2.0
"""The register bank answers at every offset as rtl/engine/gradcore_regs.rdl says, and runs and ends programs."""

import random

import cocotb
import pytest

from gradcore.isa import registers as reg
from tb.engine.control.register_file import OFFSETS, Map
from tb.support.bench import cycles, reset, start
from tb.support.cases import first
from tb.support.register_map import words
from tb.support.runner import expect_elaboration_error, parameter, run

INPUTS = dict(
    s_reg_write=0,
    s_reg_read=0,
    s_reg_addr=0,
    s_reg_wdata=0,
    s_reg_strb=0,
    s_busy=0,
    s_open=0,
    s_done=0,
    s_failed=0,
    s_code=0,
    s_index=0,
    s_addr=0,
    s_overflow=0,
    s_loss=0,
    s_counter=0,
)


async def write(dut, addr, value, strobes=15):
    dut.s_reg_write.value, dut.s_reg_addr.value, dut.s_reg_wdata.value, dut.s_reg_strb.value = 1, addr, value, strobes
    await cycles(dut, 1)
    dut.s_reg_write.value = 0


async def read(dut, addr):
    dut.s_reg_read.value, dut.s_reg_addr.value = 1, addr
    await cycles(dut, 1)
    dut.s_reg_read.value = 0
    return int(dut.m_reg_rdata.value)


@cocotb.test()
async def answers_as_the_map_says(dut):
    """Every offset, with software and hardware writing at random."""
    await start(dut, **INPUTS)
    registers = Map(dut)
    await registers.reads_after_reset()
    unwritable = [offset for offset in OFFSETS if "w" not in getattr(registers.words.get(offset), "access", "")]
    for n in range(6):  # zeros, ones, random: bus_open, busy, busy, the last with locked windows and a start
        registers.whole = n < 2  # every bit is to be seen
        registers.change(
            (lambda bits: 0, lambda bits: (1 << bits) - 1, random.getrandbits)[min(n, 2)], n in (3, 4), n == 2
        )
        if n == 5:  # what a failed program does not show
            dut.s_overflow.value, dut.s_loss.value = registers.inputs["s_overflow"], registers.inputs["s_loss"] = (
                1,
                (1 << 64) - 1,
            )
        order = random.sample(OFFSETS, len(OFFSETS))
        if registers.whole:  # a start locks what is written behind it
            order.sort(key=reg.CTRL.__eq__)
        for offset in order:
            events = random.randrange(4) if registers.inputs["s_busy"] and random.random() < 0.05 else 0
            if offset != reg.LOCK or n in (0, 4):
                await registers.write(
                    offset,
                    (0, 0xFFFFFFFF, random.getrandbits(32) | (offset in (reg.LOCK, reg.CTRL)))[min(n, 2)],
                    events,
                )
            if events:
                await registers.check(reg.STATUS)
                await registers.write(reg.IRQ_STATUS, random.getrandbits(32), random.randrange(4))
                await registers.check(reg.IRQ_STATUS)
        for offset in unwritable:  # last, so that none of them can be another name of a register
            await registers.write(offset, random.choice((0, 0xFFFFFFFF)), 3 * (n == 1))
        for offset in random.sample(OFFSETS, len(OFFSETS)):
            await registers.check(offset)
        assert {name: int(getattr(dut, name).value) for name in registers.outputs()} == registers.outputs()
    for offset, word in registers.words.items():  # every bit of the map exists, the parameters' apart
        assert word.path.startswith("CONFIG") or not word.mask("store", "w1c", "w1s", "hw") & ~registers.seen[offset], (
            word.path
        )
    registers.change()
    dut.s_reg_write.value, dut.s_reg_addr.value, dut.s_reg_wdata.value, dut.s_reg_strb.value = (
        1,
        reg.CTRL,
        15,
        15,
    )  # a reset is stronger
    await reset(dut)
    dut.s_reg_write.value = 0
    await registers.reads_after_reset()


@cocotb.test()
async def every_register_that_is_locked_says_so_and_no_other(dut):
    await start(dut, **INPUTS)
    registers = Map(dut)
    for offset in [offset for offset, word in registers.words.items() if "w" in word.access and offset != reg.CTRL]:
        for busy in ("program", "scrub", "start", "lock"):
            registers.change()
            if busy == "lock" and not registers.kept[reg.LOCK]:
                await registers.write(reg.LOCK, reg.LOCK_WINDOWS)
            await registers.write(reg.CTRL, reg.SCRUB if busy == "scrub" else reg.START)
            if busy in ("program", "lock"):
                await registers.check(reg.STATUS)
            registers.change(busy=busy == "program")
            await registers.write(offset, random.getrandbits(32))
            await registers.check(reg.STATUS)
            await registers.check(offset)
            registers.change()
        registers.kept[reg.LOCK] = 0
        dut.lock_q.value = 0


@cocotb.test()
async def the_first_misaligned_address_is_told(dut):
    await start(dut, **INPUTS)
    registers = Map(dut)
    for _ in range(60):
        for path in ("PROG_BASE", *(f"BASE[{n}]" for n in range(4))):
            mask = 1 << random.randrange(8) if random.random() < 0.4 else 0
            await registers.write(registers.offset[path + ".low"], random.getrandbits(24) << 8 | mask)
            await registers.write(registers.offset[path + ".high"], random.getrandbits(32))
        await registers.write(reg.CTRL, reg.START)  # sees it
        await registers.check(reg.STATUS)


@cocotb.test()
async def every_bit_of_a_window_counts_as_a_change_and_no_other(dut):
    await start(dut, **INPUTS)
    registers = Map(dut)
    for offset, word in registers.words.items():
        if word.path.startswith("WINDOW"):
            value = random.getrandbits(32)
            for change in (0, *(1 << bit for bit in range(32)), ~word.mask("store") & 0xFFFFFFFF, 0):
                value ^= change
                await registers.write(offset, value)  # sees it


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
    assert (
        dut.irq.value == 1
        and await read(dut, reg.STATUS) == reg.DONE
        and await read(dut, reg.IRQ_STATUS) == reg.IRQ_DONE
    )
    await write(dut, reg.IRQ_STATUS, reg.IRQ_FAILED)
    assert dut.irq.value == 1
    await write(dut, reg.IRQ_STATUS, reg.IRQ_DONE)
    assert dut.irq.value == 0 and await read(dut, reg.STATUS) == reg.DONE
    await write(dut, reg.CTRL, reg.START)
    assert await read(dut, reg.STATUS) == reg.BUSY  # at once
    assert await read(dut, reg.STATUS) == 0
    dut.s_code.value, dut.s_index.value, dut.s_addr.value, dut.s_overflow.value = 0x5A, 0xABCDE, 0x12_3456_7890, 1
    assert (await read(dut, reg.ERROR), await read(dut, reg.ERROR_ADDR), await read(dut, reg.ERROR_ADDR + 4)) == (
        0,
        0,
        0,
    )
    await pulse(dut, s_failed=1)
    assert dut.irq.value == 0 and await read(dut, reg.STATUS) == reg.FAILED
    await write(dut, reg.IRQ_ENABLE, reg.IRQ_FAILED)
    assert dut.irq.value == 1 and await read(dut, reg.IRQ_STATUS) == reg.IRQ_FAILED
    assert (await read(dut, reg.ERROR), await read(dut, reg.ERROR_ADDR), await read(dut, reg.ERROR_ADDR + 4)) == (
        0xABCDE5A,
        0x34567890,
        0x12,
    )
    dut.s_loss.value, dut.s_counter.value = 0x0123456789ABCDEF, 77
    assert (await read(dut, reg.LOSS), await read(dut, reg.LOSS + 4)) == (0, 0)  # of a failed program
    assert await read(dut, reg.COUNTERS + 8) == 77
    dut.s_open.value = 1
    await write(dut, reg.CTRL, reg.START)
    assert dut.m_start.value == 0 and await read(dut, reg.STATUS) == reg.FAILED | reg.BUS_OPEN
    dut.s_open.value = 0
    await write(dut, reg.CTRL, reg.START)
    await cycles(dut, 1)
    assert (await read(dut, reg.LOSS), await read(dut, reg.LOSS + 4)) == (0x89ABCDEF, 0x01234567)
    assert dut.irq.value == 0 and await read(dut, reg.STATUS) == reg.GRAD_OVERFLOW
    await pulse(dut, s_failed=1)
    await reset(dut)
    assert dut.irq.value == 0 and await read(dut, reg.STATUS) == reg.GRAD_OVERFLOW


@cocotb.test()
async def a_write_without_strobes_does_nothing(dut):
    """Halves of a wider write, as a width converter gives them out: the neighbour of CTRL, IRQ_STATUS and every
    register that keeps a value."""
    await start(dut, **INPUTS)
    registers = words(ADDR_W=parameter("ADDR_W"), WINDOWS=parameter("WINDOWS"))
    stores = {offset: word.mask("store") for offset, word in registers.items() if word.mask("store")}
    for offset in stores:
        await write(dut, offset, 0x5A5A5A5A)
    await pulse(dut, s_done=1)
    for offset in (*stores, reg.CTRL, reg.IRQ_STATUS):
        await write(dut, offset, 0xFFFFFFFF, 0)
        assert (dut.m_start.value, dut.m_stop.value) == (0, 0)
    for strobes in range(0, 16, 2):  # the bits of CTRL and IRQ_STATUS are in byte 0
        await write(dut, reg.CTRL, 0xFFFFFFFF, strobes)
        assert (dut.m_start.value, dut.m_stop.value) == (0, 0)
        await write(dut, reg.IRQ_STATUS, 0xFFFFFFFF, strobes)
    assert await read(dut, reg.IRQ_STATUS) == reg.IRQ_DONE and await read(dut, reg.STATUS) == reg.DONE
    for offset, mask in stores.items():
        assert await read(dut, offset) == 0x5A5A5A5A & mask, hex(offset)


@pytest.mark.parametrize("windows", first(3, [1, 4, 8, 2, 3, 5, 6, 7]))
def test_register_bank(windows):
    address = {1: 32, 2: 33, 4: 40, 8: 48}.get(windows, random.randint(32, 48))
    configs = {
        "MEM_W": random.choice((64, 128, 256, 512)),
        "CONFIG": random.getrandbits(31),
        "CONFIG2": random.getrandbits(31),
        "CONFIG3": random.getrandbits(19),
    }
    tests = (
        None if windows == 4 else ["answers_as_the_map_says", "every_bit_of_a_window_counts_as_a_change_and_no_other"]
    )
    run("engine", "gc_register_bank", {"ADDR_W": address, "WINDOWS": windows, **configs}, testcase=tests)


@pytest.mark.parametrize("windows", (0, 9))
def test_register_bank_refuses(windows):
    expect_elaboration_error("engine", "gc_register_bank", {"WINDOWS": windows}, "WINDOWS_must")
