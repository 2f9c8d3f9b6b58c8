# SPDX-License-Identifier: Apache-2.0
"""The engine's control with buffers that are cleared and a memory that has a program: what happens before the first
fetch, and what is counted."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from gradcore.isa import instruction as isa
from gradcore.isa import registers as reg
from gradcore.isa.instruction import Opcode
from tb.engine.transfer.test_store_unit import random_store
from tb.support.bench import cycles, start
from tb.support.runner import parameter, run

INPUTS = (
    "s_reg_write",
    "s_reg_addr",
    "s_reg_wdata",
    "s_reg_read",
    "s_quiet",
    "s_moves",
    "s_fault",
    "s_scrubbing",
    "m_rreq_ready",
    "s_rdat_valid",
    "s_rdat_data",
    "s_rdat_last",
    "s_done",
    "s_mismatch",
    "s_compute_room",
    "s_read",
    "s_read_signal",
    "s_written",
    "s_written_signal",
    "s_step",
    "s_pad",
    "s_yield",
    "s_saturated",
    "s_overflow",
    "s_loss",
)
PROGRAM = 0x8000
END = isa.instruction(Opcode.END)
SCRUB = 40  # cycles
SATURATED = "act", "delta", "update", "act", "delta", "delta"  # what the bits of s_saturated are
UNNAMED = {0: 0xFFC, 4: 0xFFFF0000, 8: 0xFFF, 12: 0xFFFF0000}  # bits of a window's registers


class Control:
    """Drives the register port; a memory answers the fetch of a program, at first END; buffers take SCRUB cycles to
    clear; s_rst comes from gc_resets."""

    def __init__(self, dut):
        self.dut, self.scrubs, self.fetches, self.fetched_in_scrub, self.now, self.left = dut, 0, 0, 0, 0, 0
        self.beats, self.instructions, self.reset = [], [END], True
        cocotb.start_soon(self._serve())

    async def _serve(self):
        dut = self.dut
        while True:
            send = bool(self.beats)
            dut.s_rdat_valid.value, dut.s_rdat_last.value = int(send), int(len(self.beats) == 1)
            dut.s_rdat_data.value = self.beats[0] if send else 0
            dut.s_moves.value, dut.s_quiet.value, dut.s_scrubbing.value = int(send), int(not send), int(self.left > 0)
            dut.s_rst.value = int(self.reset)
            await ReadOnly()
            self.beats, self.reset = self.beats[1:], bool(dut.core_rst.value)
            if dut.m_rreq_valid.value and not dut.m_abort.value:
                self.fetches += int(dut.m_rreq_addr.value) == PROGRAM
                self.fetched_in_scrub += self.left > 0
                words, beat = isa.assemble(self.instructions).tobytes(), parameter("MEM_W") // 8
                first, count = int(dut.m_rreq_addr.value) - PROGRAM, int(dut.m_rreq_len.value) + 1
                places = range(first, first + count * beat, beat)
                self.beats += [int.from_bytes(words[at : at + beat], "little") for at in places]
            self.left = SCRUB if dut.m_scrub.value else max(0, self.left - 1)
            self.scrubs, self.now = self.scrubs + bool(dut.m_scrub.value), self.now + 1
            await cycles(dut, 1)

    async def write(self, offset, value):
        self.dut.s_reg_write.value, self.dut.s_reg_addr.value, self.dut.s_reg_wdata.value = 1, offset, value
        await cycles(self.dut, 1)
        self.dut.s_reg_write.value = 0

    async def read(self, offset):
        self.dut.s_reg_read.value, self.dut.s_reg_addr.value = 1, offset
        await cycles(self.dut, 1)
        self.dut.s_reg_read.value = 0
        return int(self.dut.m_reg_rdata.value)

    async def ended(self):
        """Cycles until STATUS shows an end; busy all the time before."""
        begun = self.now
        while (status := await self.read(reg.STATUS)) & reg.BUSY:
            assert self.now - begun < 10 * SCRUB
        self.status = status
        return self.now - begun

    async def program(self, scrubbed):
        """A program that is END; scrubbed before or not."""
        scrubs, fetches = self.scrubs, self.fetches
        await self.write(reg.CTRL, reg.START)
        took = await self.ended()
        assert self.status == reg.DONE and (took > SCRUB) == scrubbed
        assert (self.scrubs, self.fetches, self.fetched_in_scrub) == (scrubs + scrubbed, fetches + 1, 0)
        return [await self.read(reg.COUNTERS + 8 * n) for n in (0, 1, 2, 15)]


async def begin(dut):
    ones = {"s_rst": 1, "m_rreq_ready": 1, "s_compute_room": 1}
    await start(dut, **dict.fromkeys(INPUTS, 0) | ones | {"s_reg_strb": 15})
    control = Control(dut)
    for offset, value in ((reg.PROG_BASE, PROGRAM), (reg.PROG_LENGTH, 1), (reg.IRQ_ENABLE, 3), (reg.WATCHDOG, 20)):
        await control.write(offset, value)
    return control


@cocotb.test()
async def the_buffers_are_clear_before_the_first_fetch_and_that_is_not_counted(dut):
    control = await begin(dut)
    counts = await control.program(True)
    for offset, value in reg.window(2, 0x12345000, 0xFF6789AB000, reg.READ).items():
        assert await control.program(False) == counts
        await control.write(offset, value)
        assert await control.program(value != 0) == counts
        await control.write(offset, value | UNNAMED[offset % 16])
        assert await control.program(False) == counts
    await control.write(reg.LOCK, reg.LOCK_WINDOWS)
    await control.write(reg.WINDOW, 3)
    assert await control.program(False) == counts and counts[1] == 1024 // parameter("MEM_W")


@cocotb.test()
async def the_host_asks_for_a_scrub(dut):
    control = await begin(dut)
    for number in range(3):
        await control.write(reg.CTRL, reg.SCRUB)
        assert await control.read(reg.STATUS) & reg.BUSY
        await control.write(reg.SEED, 7)  # locked
        await control.write(reg.CTRL, reg.START | reg.SCRUB)  # ignored
        took = await control.ended()
        assert SCRUB - 5 < took < SCRUB + 5 and control.status == reg.LOCKED_WRITE | (reg.DONE if number else 0)
        assert (control.scrubs, dut.irq.value, await control.read(reg.SEED)) == (number + 1, 0, 0)
        await control.program(False)
        await control.write(reg.IRQ_STATUS, 3)


@cocotb.test()
async def a_stop_in_a_scrub_ends_the_program_behind_it(dut):
    control = await begin(dut)
    for moment in (0, 1, 2, SCRUB // 2, SCRUB - 2):
        await control.write(reg.CTRL, reg.START)
        await cycles(dut, moment + 1)
        await control.write(reg.CTRL, reg.STOP)
        took = await control.ended()
        assert control.status == reg.FAILED and took + moment > SCRUB - 2 and dut.irq.value == 1
        assert await control.read(reg.ERROR) == 6 and control.fetches == 0
        await control.write(reg.WINDOW, random.getrandbits(20) << 12 | 1)
    assert control.scrubs == 5
    await control.program(True)


@cocotb.test()
async def what_is_asked_for_in_the_cycle_of_an_error_is_waited_for(dut):
    control = await begin(dut)
    waited = 0
    for moment in range(16):
        await control.write(reg.CTRL, reg.START)
        await cycles(dut, moment + (SCRUB if moment == 0 else 0))
        await control.write(reg.CTRL, reg.STOP)
        for _ in range(SCRUB + 20):
            await ReadOnly()
            asked = not dut.s_quiet.value
            assert not (dut.core_rst.value and asked), moment
            waited += bool(dut.m_abort.value and asked)
            await cycles(dut, 1)
    assert waited


@cocotb.test()
async def a_misaligned_program_is_neither_scrubbed_for_nor_fetched(dut):
    control = await begin(dut)
    await control.write(reg.PROG_BASE, PROGRAM + 1)
    for _ in range(2):
        await control.write(reg.CTRL, reg.START)
        assert await control.ended() < 12
        assert (
            control.status == reg.FAILED
            and await control.read(reg.ERROR) == 9
            and await control.read(reg.ERROR_ADDR) == PROGRAM + 1
        )
    assert control.scrubs == control.fetches == 0
    await control.write(reg.PROG_BASE, PROGRAM)
    await control.program(True)


@cocotb.test()
async def a_second_start_in_the_next_cycle_is_none(dut):
    control = await begin(dut)
    await control.program(True)
    await control.write(reg.CTRL, reg.START)
    await control.write(reg.CTRL, reg.START)
    await control.ended()
    assert control.status == reg.DONE and control.fetches == 2


@cocotb.test()
async def saturations_that_meet_all_count(dut):
    control = await begin(dut)
    await control.program(True)
    await control.write(reg.WATCHDOG, 1 << 20)
    counts = dict.fromkeys(reg.SATURATIONS, 0)
    dut.m_rreq_ready.value = 0
    await control.write(reg.CTRL, reg.START)
    for _ in range(300):
        flags = random.choice([random.getrandbits(len(SATURATED)), (1 << len(SATURATED)) - 1, 0])
        dut.s_saturated.value = flags
        await ReadOnly()
        for n, kind in enumerate(SATURATED):
            counts[kind] += int(dut.counts.value) & flags >> n
        await cycles(dut, 1)
    dut.s_saturated.value, dut.m_rreq_ready.value = 0, 1
    await control.ended()
    found = {name: await control.read(reg.COUNTERS + 8 * n) for n, name in reg.COUNTER_NAMES.items()}
    assert counts == {kind: found[f"saturated.{kind}"] for kind in counts}


@cocotb.test()
async def a_unit_that_ends_after_a_long_silence_is_no_deadlock(dut):
    """STORE waits for LOAD, whose token comes some cycles behind its end; in these no unit is at work."""
    control = await begin(dut)
    await control.program(True)
    fields = random_store(parameter("MEM_W") // 8, 32).fields
    ones = dict.fromkeys(("n1", "n2", "n_words", "n_b", "n_y", "n_x", "n_c", "run_beats"), 1)
    load = isa.instruction(Opcode.LOAD, addr=fields["addr"], signal=1 << isa.ENGINES.index("store"), **ones)
    store = isa.instruction(Opcode.STORE, **fields | {"wait": 1 << isa.PRODUCERS.index("load")})
    control.instructions = [load, store, END]
    for offset, value in ((reg.PROG_LENGTH, 3), (reg.WATCHDOG, 0)):
        await control.write(offset, value)
    await control.write(reg.CTRL, reg.START)
    for unit in ("load", "store"):
        bit = 1 << isa.ENGINES.index(unit)
        while int(dut.sts_active.value) != bit:
            assert await control.read(reg.STATUS) & reg.BUSY
        await cycles(dut, random.randint(280, 600))
        dut.s_done.value = bit
        await cycles(dut, 1)
        dut.s_done.value = 0
    await control.ended()
    assert control.status == reg.DONE


@cocotb.test()
async def short_instructions_behind_a_long_one_are_all_done_before_the_end(dut):
    """The next one comes from its queue beat by beat; meanwhile nothing else is left of the program."""
    control = await begin(dut)
    await control.program(True)
    stores = [isa.instruction(Opcode.STORE, **random_store(parameter("MEM_W") // 8, 32).fields) for _ in range(5)]
    control.instructions = [*stores, END]
    for offset, value in ((reg.PROG_LENGTH, len(control.instructions)), (reg.WATCHDOG, 0)):
        await control.write(offset, value)
    await control.write(reg.CTRL, reg.START)
    unit, ended = 1 << isa.ENGINES.index("store"), 0
    while await control.read(reg.STATUS) & reg.BUSY:
        if int(dut.sts_active.value) == unit:
            await cycles(dut, 2 if ended else 400)
            dut.s_done.value, ended = unit, ended + 1
            await cycles(dut, 1)
            dut.s_done.value = 0
    assert await control.read(reg.STATUS) == reg.DONE and ended == len(stores)


@pytest.mark.parametrize("width", [64, 512])
def test_control(width):
    depths = dict.fromkeys(("ACT_DEPTH", "WGT_DEPTH", "GRAD_DEPTH", "GATE_DEPTH"), 64)
    run("engine", "gc_control", {"GRID": 4, "COLS": 4, "MEM_W": width} | depths)
