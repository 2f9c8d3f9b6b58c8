# SPDX-License-Identifier: Apache-2.0
"""The register bank answers at every offset as rtl/engine/gradcore_regs.rdl says, and runs and ends programs."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from gradcore.isa import registers as reg
from tb.support.bench import cycles, reset, start
from tb.support.register_map import words
from tb.support.runner import expect_elaboration_error, parameter, run

OFFSETS = range(0, 0x1000, 4)
LOCKED = ("PROG_BASE", "PROG_LENGTH", "SEED", "BASE", "WATCHDOG", "WINDOW")  # while busy
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


class Map:
    """What every offset must read, by the register map, what has been written and what the inputs say."""

    def __init__(self, dut):
        self.dut, self.words = dut, words(ADDR_W=parameter("ADDR_W"), WINDOWS=parameter("WINDOWS"))
        self.offset = {word.path: offset for offset, word in self.words.items()}
        self.whole, self.done, self.failed, self.ignored, self.begun = (
            True,
            0,
            0,
            0,
            0,
        )  # begun: by the write of the cycle before
        self.seen = dict.fromkeys(OFFSETS, 0)  # bits that have read as one
        self.change()
        self.kept = {
            offset: sum((bits.reset or 0) << bits.low for bits in word.bits) for offset, word in self.words.items()
        }

    def change(self, draw=lambda bits: 0, busy=0, opened=0):
        """New values at the inputs that hold one; s_counter is given with each read."""
        widths = dict(s_code=8, s_index=24, s_addr=parameter("ADDR_W"), s_overflow=1, s_loss=64)
        self.inputs = {name: draw(width) for name, width in widths.items()} | dict(s_busy=busy, s_open=opened)
        self.counters = {
            offset: draw(32) & word.mask("hw") for offset, word in self.words.items() if offset >= reg.COUNTERS
        }
        for name, value in self.inputs.items():
            getattr(self.dut, name).value = value

    def hardware(self, offset, bits):
        """What the hardware shows in a field."""
        path, inputs = self.words[offset].path, self.inputs
        if path in ("CONFIG", "CONFIG2", "CONFIG3"):
            return (parameter(path) & bits.mask) >> bits.low
        if offset >= reg.COUNTERS:
            return (self.counters[offset] & bits.mask) >> bits.low
        return {
            "STATUS.busy": inputs["s_busy"] | self.begun,
            "STATUS.done": self.done,
            "STATUS.failed": self.failed,
            "STATUS.gradient_overflow": inputs["s_overflow"] & ~self.failed,
            "STATUS.bus_open": inputs["s_open"],
            "STATUS.locked_write": self.ignored,
            "ERROR.code": self.failed * inputs["s_code"],
            "ERROR.instruction": self.failed * inputs["s_index"],
            "ERROR_ADDR.low.value": self.failed * inputs["s_addr"] & 0xFFFFFFFF,
            "ERROR_ADDR.high.value": self.failed * inputs["s_addr"] >> 32,
            "LOSS.low.value": (1 - self.failed) * inputs["s_loss"] & 0xFFFFFFFF,
            "LOSS.high.value": (1 - self.failed) * inputs["s_loss"] >> 32,
        }[f"{path}.{bits.name}"]

    def flag(self, path, name):
        """Mask of a field."""
        return next(bits.mask for bits in self.words[self.offset[path]].bits if bits.name == name)

    def expected(self, offset):
        if offset not in self.words:
            return 0
        word = self.words[offset]
        return self.kept[offset] & word.mask("store", "w1c", "w1s", "const") | sum(
            self.hardware(offset, bits) << bits.low & bits.mask for bits in word.bits if bits.kind == "hw"
        )

    async def read(self, offset):
        """What the RTL answers, as 32 characters."""
        self.dut.s_counter.value = self.counters.get(offset, random.getrandbits(32))
        self.dut.s_reg_read.value, self.dut.s_reg_addr.value = 1, offset + random.randrange(4)
        await cycles(self.dut, 1)
        self.dut.s_reg_read.value = self.begun = 0
        return str(self.dut.m_reg_rdata.value)

    def locked(self, path):
        """Would a write to this register be ignored?"""
        busy = self.inputs["s_busy"] or self.begun
        return path.startswith(LOCKED) and busy or path.startswith("WINDOW") and self.kept[self.offset["LOCK"]]

    def misaligned(self):
        """Those of PROG_BASE and BASE0..3 that are no multiple of the beat."""
        addresses = [
            self.kept[self.offset[path + ".low"]] | self.kept.get(self.offset.get(path + ".high"), 0) << 32
            for path in ("PROG_BASE", *(f"BASE[{n}]" for n in range(4)))
        ]
        return [address for address in addresses if address % (parameter("MEM_W") // 8)]

    async def write(self, offset, value, events=0):
        """A write, unless `whole` every second one with random byte strobes, together with the pulses s_done (1) and
        s_failed (2); sees what it starts and what it is told meanwhile."""
        dut, status, (done, failed) = self.dut, self.offset["IRQ_STATUS"], (events & 1, events >> 1)
        dut.s_done.value, dut.s_failed.value = done, failed
        strobes = 15 if self.whole or offset in (reg.LOCK, reg.CTRL) else random.choice((15, random.randrange(16)))
        mask = sum(0xFF << 8 * n for n in range(4) if strobes >> n & 1)
        word = self.words.get(offset)
        pulses = (
            {bits.name: (value & mask) >> bits.low & 1 for bits in word.bits if bits.kind == "pulse"} if word else {}
        )
        free = not (self.inputs["s_busy"] or self.begun or self.inputs["s_open"])
        begins, scrubs = (int(pulses.get(name, 0) and free) for name in ("start", "scrub"))
        dut.s_reg_write.value, dut.s_reg_addr.value = 1, offset + random.randrange(4)
        dut.s_reg_wdata.value, dut.s_reg_strb.value = value, strobes
        await ReadOnly()
        wrong = self.misaligned()
        assert (dut.m_asked.value, dut.m_misaligned.value) == (begins, bool(wrong))
        assert not (begins and wrong) or dut.m_asked_addr.value == wrong[0]
        await cycles(dut, 1)
        dut.s_reg_write.value = dut.s_done.value = dut.s_failed.value = 0
        told = dut.m_start.value, dut.m_stop.value, dut.m_force.value, dut.m_scrub.value
        assert told == (begins, pulses.get("stop", 0), pulses.get("force", 0), scrubs), hex(offset)
        changed, value = False, value & mask
        low = self.words.get(offset - 4)
        if word and self.locked(word.path):
            self.ignored |= strobes != 0
        elif (
            not word and low and low.path.endswith(".low") and self.locked(low.path)
        ):  # ADDR_W 32: the place of the high word
            self.ignored |= strobes != 0
        elif word:
            kept = self.kept[offset] & ~(word.mask("store") & mask) & ~(value & word.mask("w1c"))
            new = kept | value & word.mask("store", "w1s")
            changed, self.kept[offset] = word.path.startswith("WINDOW") and new != self.kept[offset], new
        assert dut.m_changed.value == changed, hex(offset)
        self.begun = begins | scrubs
        if begins:
            self.done = self.failed = self.ignored = self.kept[status] = 0
        self.done, self.failed = self.done | done, self.failed | failed
        self.kept[status] |= done * self.flag("IRQ_STATUS", "done") | failed * self.flag("IRQ_STATUS", "failed")

    async def check(self, offset):
        wanted = self.expected(offset)
        found = await self.read(offset)
        assert found == f"{wanted:032b}", hex(offset)
        self.seen[offset] |= int(found, 2)
        on = [
            all(self.kept[self.offset[path]] & self.flag(path, name) for path in ("IRQ_ENABLE", "IRQ_STATUS"))
            for name in ("done", "failed")
        ]
        assert self.dut.irq.value == any(on)

    async def reads_after_reset(self):
        """Every bit, none unknown; that of an input's value says what the input does."""
        dut = self.dut
        assert not any(
            int(port.value)
            for port in (dut.m_start, dut.m_stop, dut.m_force, dut.m_scrub, dut.m_changed, dut.m_misaligned, dut.irq)
        )
        assert not any(int(getattr(dut, name).value) for name in self.outputs())
        self.done = self.failed = self.ignored = self.begun = 0
        for offset in OFFSETS:
            bits = self.words[offset].bits if offset in self.words else ()
            wanted = sum((self.hardware(offset, b) if b.reset is None else b.reset) << b.low for b in bits)
            assert await self.read(offset) == f"{wanted:032b}", hex(offset)

    def outputs(self):
        """The configuration that the map's values mean to the engine."""

        def kept(path):
            return self.kept[self.offset[path]]

        def wide(path):
            return kept(path + ".low") | (kept(path + ".high") << 32 if path + ".high" in self.offset else 0)

        def flat(width, values):
            return sum(value << width * i for i, value in enumerate(values))

        address, windows = parameter("ADDR_W"), [f"WINDOW[{n}]" for n in range(parameter("WINDOWS"))]
        pages = flat(address - 12, [wide(f"{window}.{end}") >> 12 for end in ("base", "end") for window in windows])
        rights = flat(1, [kept(window + ".base.low") >> bit & 1 for bit in (0, 1) for window in windows])
        return {
            "cfg_prog_base": wide("PROG_BASE"),
            "cfg_prog_length": kept("PROG_LENGTH"),
            "cfg_seed": kept("SEED"),
            "cfg_watchdog": kept("WATCHDOG"),
            "cfg_base": flat(address, [wide(f"BASE[{n}]") for n in range(4)]),
            "cfg_windows": pages | rights << 2 * len(windows) * (address - 12),
        }


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
        for offset in random.sample(OFFSETS, len(OFFSETS)):
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


@pytest.mark.parametrize("windows", range(1, 9))
def test_register_bank(windows):
    address = {1: 32, 2: 33, 4: 40, 8: 48}.get(windows, random.randint(32, 48))
    configs = {
        "MEM_W": random.choice((64, 128, 256, 512)),
        "CONFIG": random.getrandbits(31),
        "CONFIG2": random.getrandbits(31),
        "CONFIG3": random.getrandbits(16),
    }
    tests = (
        None if windows == 4 else ["answers_as_the_map_says", "every_bit_of_a_window_counts_as_a_change_and_no_other"]
    )
    run("engine", "gc_register_bank", {"ADDR_W": address, "WINDOWS": windows, **configs}, testcase=tests)


@pytest.mark.parametrize("windows", (0, 9))
def test_register_bank_refuses(windows):
    expect_elaboration_error("engine", "gc_register_bank", {"WINDOWS": windows}, "WINDOWS_must")
