# SPDX-License-Identifier: Apache-2.0
"""What the register bank answers at every offset by rtl/engine/gradcore_regs.rdl."""

import random

from cocotb.triggers import ReadOnly

from gradcore.isa import registers as reg
from gradcore.ops.optimiser import RATE_ONE
from tb.support.bench import cycles
from tb.support.register_map import words
from tb.support.runner import parameter

OFFSETS = range(0, 0x1000, 4)
LOCKED = ("PROG_BASE", "PROG_LENGTH", "SEED", "RATE", "BASE", "WATCHDOG", "WINDOW")  # while busy


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
        assert all(int(getattr(dut, name).value) == (RATE_ONE if name == "cfg_rate" else 0) for name in self.outputs())
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
            "cfg_rate": kept("RATE"),
            "cfg_watchdog": kept("WATCHDOG"),
            "cfg_base": flat(address, [wide(f"BASE[{n}]") for n in range(4)]),
            "cfg_windows": pages | rights << 2 * len(windows) * (address - 12),
        }
