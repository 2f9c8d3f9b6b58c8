# SPDX-License-Identifier: Apache-2.0
"""DDR3 chips for simulations of LiteDRAM: banks, open rows and latencies, with the words outside."""

from functools import reduce
from operator import or_

from litedram.common import PhySettings
from litedram.modules import MT41J256M8, SDRAMModule
from litedram.phy.dfi import Interface
from litedram.phy.model import get_sdram_phy_settings
from litex.gen import LiteXModule
from migen import Array, Cat, If, Mux, Replicate, Signal

CLOCK = 100e6  # Hz of the engine and of the controller; the memory's clock is four times as fast
PHASES = 4
BEATS_PER_PHASE = 2  # double data rate


def ddr3(width: int) -> tuple[SDRAMModule, PhySettings]:
    """DDR3-800 whose controller has data of `width` bits: a chip of 8 bits, 2 Gbit, for each 64 of them."""
    settings = get_sdram_phy_settings("DDR3", width // (PHASES * BEATS_PER_PHASE), CLOCK)
    return MT41J256M8(CLOCK, f"1:{PHASES}", speedgrade="800"), settings


class Chips(LiteXModule):
    """DRAM chips at the controller's DFI: `m_read` and `m_write` with the number of a beat, `s_data` of the read in the
    same cycle, `m_data` and `m_mask` (1: the byte stays) of the write. `bad`: a command to a bank without an open row,
    ever."""

    def __init__(self, module: SDRAMModule, settings: PhySettings) -> None:
        self.settings, geometry = settings, module.geom_settings
        self.dfi = Interface(
            geometry.addressbits, geometry.bankbits, settings.nranks, settings.dfi_databits, settings.nphases
        )
        align = (PHASES * BEATS_PER_PHASE).bit_length() - 1
        width = settings.dfi_databits * settings.nphases
        place = geometry.rowbits + geometry.bankbits + geometry.colbits - align
        self.m_read, self.m_read_beat, self.s_data = Signal(), Signal(place), Signal(width)
        self.m_write, self.m_write_beat = Signal(), Signal(place)
        self.m_data, self.m_mask = Signal(width), Signal(width // 8)
        self.bad = Signal()

        phases, banks = self.dfi.phases, 1 << geometry.bankbits
        rows = Array(Signal(geometry.rowbits, name=f"row_{n}") for n in range(banks))
        opened, opens, closes = Signal(banks), [], []
        reads, writes, beats, closed = [], [], [], []
        for phase in phases:
            bank = Signal(banks)
            self.comb += bank.eq(1 << phase.bank)
            row = ~phase.cs_n & ~phase.ras_n & phase.cas_n
            column = ~phase.cs_n & phase.ras_n & ~phase.cas_n
            a10 = phase.address[10]  # of a column command: close the row behind it; of a precharge: all banks
            opens.append(Mux(row & phase.we_n, bank, 0))
            closes.append(Mux(row & ~phase.we_n, bank | Replicate(a10, banks), Mux(column & a10, bank, 0)))
            self.sync += If(row & phase.we_n, rows[phase.bank].eq(phase.address))
            reads.append(column & phase.we_n)
            writes.append(column & ~phase.we_n)
            beats.append(Cat(phase.address[align : geometry.colbits], phase.bank, rows[phase.bank]))
            closed.append(column & ~((opened & bank) != 0))
        self.sync += [
            opened.eq((opened & ~reduce(or_, closes)) | reduce(or_, opens)),
            If(reduce(or_, closed), self.bad.eq(1)),
        ]

        self.comb += self.m_read.eq(reduce(or_, reads))
        for read, beat in zip(reads, beats):
            self.comb += If(read, self.m_read_beat.eq(beat))
        data = self.s_data
        for _ in range(settings.read_latency):
            later = Signal(width)
            self.sync += later.eq(data)
            data = later
        self.comb += Cat(*[phase.rddata for phase in phases]).eq(data)

        write, beat = reduce(or_, writes), Signal(place)
        for one, its in zip(writes, beats):
            self.comb += If(one, beat.eq(its))
        for _ in range(settings.write_latency):
            later, later_beat = Signal(), Signal(place)
            self.sync += [later.eq(write), later_beat.eq(beat)]
            write, beat = later, later_beat
        self.comb += [
            self.m_write.eq(write),
            self.m_write_beat.eq(beat),
            self.m_data.eq(Cat(*[phase.wrdata for phase in phases])),
            self.m_mask.eq(Cat(*[phase.wrdata_mask for phase in phases])),
        ]

    def pins(self) -> dict[str, Signal]:
        """The words' side by name."""
        return {
            "mem_read": self.m_read,
            "mem_read_beat": self.m_read_beat,
            "mem_read_data": self.s_data,
            "mem_write": self.m_write,
            "mem_write_beat": self.m_write_beat,
            "mem_write_data": self.m_data,
            "mem_write_mask": self.m_mask,
            "mem_bad": self.bad,
        }
