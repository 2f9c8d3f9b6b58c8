# SPDX-License-Identifier: Apache-2.0
import os
import random
import re

import cocotb
import numpy as np
import pytest

from gradcore.compiler.moves import COLUMNS_KEPT, PAIR_ROWS_KEPT, ROWS_KEPT
from gradcore.files.places import ROOT
from gradcore.isa.config import EngineConfig
from gradcore.isa.fold import to_bytes
from gradcore.isa.instruction import ADD, CHOOSE, FIELDS, LOAD_TABLE, MAXIMUM, SUM, Opcode, instruction
from gradcore.machine.machine import Machine
from gradcore.machine.vector import Vector
from gradcore.ops.dropout import P_MAX
from gradcore.report.memories import PIXEL_DEPTH
from tb.dma.memory import Image
from tb.support.bench import cycles, reset, start
from tb.support.cases import first
from tb.support.runner import expect_elaboration_error, parameter, run
from tb.support.vectors import PAIRS, place, random_vector, taps

SIZE = 1 << 18
ROOM = SIZE // 4
TAPS = 1 << 15  # of a random instruction


def config() -> EngineConfig:
    grid = parameter("GRID")
    return EngineConfig(grid, grid, parameter("DW"), parameter("MEM_W") // 8)


def drive(dut, instr, bases, seed):
    for name in FIELDS[Opcode.VECTOR]:
        if hasattr(dut, f"cfg_{name}"):
            width = len(getattr(dut, f"cfg_{name}"))
            getattr(dut, f"cfg_{name}").value = instr[name] & ((1 << width) - 1)
    dut.cfg_seed.value = seed
    for name in ("base", "base_b", "base_out"):
        getattr(dut, f"cfg_{name}").value = bases[name]


class Bench:
    """The unit, its memory, and the machine model with a memory of its own."""

    def __init__(self, dut, **memory):
        self.dut = dut
        words = np.random.default_rng(random.getrandbits(32))
        image = words.integers(0, 256, SIZE, np.uint8)
        half = image[: SIZE // 2].view("<i2")
        half[:] = words.choice(np.array([-32768, 32767, -1, 0, 1, 2, 3, 5]), len(half))
        self.memory = Image(dut, image, parameter("MEM_W") // 8, **memory)
        self.machine = Machine(config(), image.copy(), order="program")
        self.machine.table[:] = 0

    async def clear(self):
        for addr in range(512):
            self.dut.s_scrub.value, self.dut.s_scrub_addr.value = 1, addr
            await cycles(self.dut, 1)
        self.dut.s_scrub.value = 0
        await cycles(self.dut, 8)

    async def execute(self, operation=None, limit=None) -> int:
        """A random instruction; returns its cycles."""
        drawn, beat = random_vector(random, config(), ROOM, operation, TAPS), parameter("MEM_W") // 8
        align = [beat * random.randrange((ROOM - size) // beat + 1) for size in (drawn.sources,) * 2 + (drawn.results,)]
        a, b = (random.randrange(2) * ROOM + at for at in align[:2])
        place(drawn, a, b, 2 * ROOM + align[2])
        instr = drawn.instr
        offset = {name: beat * random.getrandbits(20) for name in ("base", "base_b", "base_out")}
        for name, key in zip(("addr", "addr_b", "addr_out"), offset, strict=True):
            instr[name] = (instr[name] - offset[key]) % (1 << 48)
        return await self.run(instr, offset, limit)

    async def run(self, instr, bases, limit=None) -> int:
        instr["base_sel"], instr["base_sel_b"], instr["base_sel_out"] = 0, 1, 2
        self.machine.bases = [*bases.values(), 0]
        self.machine.seed = random.getrandbits(32)
        self.machine.saturated = dict.fromkeys(self.machine.saturated, 0)
        work = Vector(self.machine, instr)
        work.drain(work.gather())
        drive(self.dut, instr, bases, self.machine.seed)
        self.dut.start.value = 1
        await cycles(self.dut, 1)
        self.dut.start.value, taken, saturated = 0, 0, 0
        while not self.dut.m_done.value:
            await cycles(self.dut, 1)
            taken += 1
            saturated += int(self.dut.sts_saturated.value)
            if taken == (100_000 + 20 * taps(instr) if limit is None else limit):
                raise TimeoutError(instr)
        bad = np.flatnonzero(self.memory.image != self.machine.memory)
        assert not len(bad), (instr, bad[:8] - 2 * ROOM, len(bad))
        wanted = dict(act=0, delta=0, update=0) | {"delta" if instr["gradient"] else "act": saturated}
        assert self.machine.saturated == wanted, instr
        return taken


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3])
async def equals_the_machine_model(dut, stall):
    await start(dut, start=0, s_scrub=0)
    bench = Bench(dut, stall=stall, latency=(1, 40))
    await bench.clear()
    for operation in range(LOAD_TABLE + 1):
        await bench.execute(operation)
    for _ in range(int(os.environ["COUNT"])):
        await bench.execute()


@cocotb.test()
async def windows_far_behind_the_map_have_no_taps(dut):
    """So many rows that their numbers would come round in the map again; all of them at the same address."""
    await start(dut, start=0, s_scrub=0)
    bench, beat = Bench(dut, latency=4), parameter("MEM_W") // 8
    if 4200 * beat > SIZE - ROOM:
        return
    far = dict(n_beats=1, n_y=4200, n_x=1, n_ky=1, n_kx=1, step_y=128, step_x=1, height=3, width=1, first_y=0)
    far |= dict(stride_y=beat, stride_x=beat, advance_y=0, advance_x=beat, addr_out=ROOM)
    instr = instruction(Opcode.VECTOR, operation=SUM, multiplier=1, **far)
    await bench.run(instr, dict.fromkeys(("base", "base_b", "base_out"), 0))


@cocotb.test()
async def rows_and_columns_count_modulo_4096(dut):
    """Of the same word everywhere, so that only its random numbers make it another one."""
    await start(dut, start=0, s_scrub=0)
    bench, beat = Bench(dut, latency=4), parameter("MEM_W") // 8
    same = dict(n_beats=1, n_ky=1, n_kx=1, step_y=1, step_x=1, height=32767, width=32767, addr_out=ROOM)
    if 4200 * beat > SIZE - ROOM:
        return
    same |= dict(zip(random.choice([("n_y", "n_x"), ("n_x", "n_y")]), (4200, 1), strict=True))
    more = dict(rounding=3, shift=16, rnd_tag=5, n_base=9, fold=random.randrange(3), keep_threshold=9999, keep_tag=7)
    instr = instruction(Opcode.VECTOR, operation=SUM, multiplier=23456, **same, **more)
    await bench.run(instr, dict.fromkeys(("base", "base_b", "base_out"), 0))


@cocotb.test()
async def random_numbers_of_several_parts(dut):
    """Two rows of two pixels each, whose last part is short, or of one beat, or whole."""
    await start(dut, start=0, s_scrub=0)
    bench, beat = Bench(dut, latency=4), parameter("MEM_W") // 8
    for beats in (65, 130, 128, 67):
        same = dict(n_beats=beats, n_ky=1, n_kx=1, step_y=1, step_x=1, height=2, width=2, n_y=2, n_x=2)
        same |= dict(stride_x=beats * beat, advance_x=beats * beat, addr_out=2 * ROOM)
        more = dict(rounding=3, shift=16, rnd_tag=5, n_base=9, multiplier=23456, keep_threshold=9999, keep_tag=7)
        instr = instruction(Opcode.VECTOR, operation=SUM, **same, **more)
        await bench.run(instr, dict.fromkeys(("base", "base_b", "base_out"), 0))


@cocotb.test()
async def drops_words_by_their_places(dut):
    """In every fold and rounding, with two random numbers per word or one; both probabilities at their limits, and the
    thresholds 1 and 65535."""
    await start(dut, start=0, s_scrub=0)
    bench, beat = Bench(dut, latency=4), parameter("MEM_W") // 8
    limits = [0, 1, round(P_MAX * 65536), 65535]
    for fold in range(config().log_grid + 1):
        for mode in random.sample(range(4), 4):
            beats, n_y, n_x = random.randint(1, 9), random.randint(1, 3), random.randint(1, 4)
            ones = dict(n_beats=beats, n_ky=1, n_kx=1, step_y=1, step_x=1, height=n_y, width=n_x, n_y=n_y, n_x=n_x)
            ones |= dict(stride_x=beats * beat, advance_x=beats * beat, addr=random.randrange(2) * ROOM)
            ones |= dict(stride_y=n_x * beats * beat, advance_y=n_x * beats * beat, addr_out=2 * ROOM)
            more = dict(rounding=mode, fold=fold, n_base=random.getrandbits(16), rnd_tag=random.getrandbits(16))
            more |= dict(keep_tag=random.getrandbits(16), multiplier=random.choice([4096, 6144, 40960]), shift=14)
            threshold = random.choice([*limits, random.getrandbits(16)])
            instr = instruction(Opcode.VECTOR, operation=SUM, keep_threshold=threshold, **ones, **more)
            await bench.run(instr, dict.fromkeys(("base", "base_b", "base_out"), 0))


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3])
async def a_beat_counts_once(dut, stall):
    """Beats of words that just fit when they are doubled, none, one or all of them replaced by some that do not."""
    await start(dut, start=0, s_scrub=0)
    bench, top = Bench(dut, stall=stall, latency=4), 1 << parameter("DW") - 2
    shape, rng = (60, parameter("MEM_W") // 8 // config().word_bytes), np.random.default_rng(random.getrandbits(32))
    words, large = (rng.choice(some, shape) for some in ([-top, 0, top - 1], [-2 * top, -top - 1, top, 2 * top - 1]))
    for beat, many in enumerate(rng.permutation([0, 1, shape[1]] * 20)):
        at = rng.permutation(shape[1])[:many]
        words[beat, at] = large[beat, at]
    data = to_bytes(words, config().word_bytes).ravel()
    bench.memory.image[: len(data)] = bench.machine.memory[: len(data)] = data
    ones = dict.fromkeys(("n_y", "n_x", "n_ky", "n_kx", "step_y", "step_x", "height", "width"), 1)
    instr = instruction(Opcode.VECTOR, operation=SUM, multiplier=2, n_beats=len(words), addr_out=ROOM, **ones)
    await bench.run(instr, dict.fromkeys(("base", "base_b", "base_out"), 0))
    assert bench.machine.saturated["act"] == 40


# (operation, taps, steps) of windows that overlap and are too large for the slots: by a row, by a column, by both.
TOO_LARGE = [
    (MAXIMUM, (5, 2), (1, 1)),
    (MAXIMUM, (2, 6), (1, 1)),
    (SUM, (6, 6), (2, 1)),
    (SUM, (6, 2), (2, 1)),
    (SUM, (3, 8), (1, 2)),
    (CHOOSE, (3, 2), (1, 1)),
    (CHOOSE, (2, 5), (1, 1)),
    (CHOOSE, (6, 3), (2, 2)),
]


@cocotb.test()
async def windows_too_large_for_the_slots(dut):
    """Pixels of theirs are not taken as kept: others lie in their slots."""
    await start(dut, start=0, s_scrub=0)
    bench, beat = Bench(dut, latency=(1, 9)), parameter("MEM_W") // 8
    for operation, (n_ky, n_kx), (step_y, step_x) in TOO_LARGE:
        beats, back = random.randint(1, 3), operation == CHOOSE
        column, row = beats * beat, 8 * beats * beat
        window = dict(n_beats=beats, n_ky=n_ky, n_kx=n_kx, step_y=step_y, step_x=step_x, transpose=int(back))
        window |= dict(n_y=3, n_x=4, height=7, width=8, stride_y=row, stride_x=column, multiplier=1, shift=3)
        window |= dict(advance_y=row * (1 if back else step_y), advance_x=column * (1 if back else step_x))
        if back:  # from the last tap on, so that all lie in the map
            window |= dict(first_y=n_ky - 1, first_x=n_kx - 1)
        at = (n_ky - 1) * row + (n_kx - 1) * column if back else 0
        instr = instruction(Opcode.VECTOR, operation=operation, addr=at, addr_b=ROOM + at, addr_out=2 * ROOM, **window)
        await bench.run(instr, dict.fromkeys(("base", "base_b", "base_out"), 0))


# (operation, fields, pixels read of each source, pixels that pass): means over windows as large as the slots, maxima
# with their indices and the way back through those windows, over a map 6 wide, and two sources of long pixels.
MAP = dict(n_beats=64, n_ky=3, n_kx=3, height=6, width=6)
MEANS = MAP | dict(n_ky=4, n_kx=4, n_y=2, n_x=3, step_y=1, step_x=1)
MAXIMA = MAP | dict(n_y=2, n_x=2, step_y=2, step_x=2, index_behind=1)
BACK = MAP | dict(n_beats=48, n_y=6, n_x=6, step_y=2, step_x=2, height=3, width=3, transpose=1)
TERMS = dict(n_beats=1000, n_y=1, n_x=1, n_ky=1, n_kx=1, step_y=1, step_x=1, height=1, width=1)
WORK = [
    (SUM, MEANS, 2 * 4 * 6, 6 * 16),
    (MAXIMUM, MAXIMA, 2 * 3 * 5, 4 * (9 + 1)),
    (CHOOSE, BACK, 8 * 3, 8 * 3 + 8 * 8),
    (ADD, TERMS, 1, 2),
]


@cocotb.test()
async def a_beat_per_cycle(dut):
    """Of long parts: a pass takes a beat per cycle, beside it words of the result leave; a pixel is read once for all
    windows of a row."""
    await start(dut, start=0, s_scrub=0)
    bench, beat = Bench(dut, latency=4), parameter("MEM_W") // 8
    parts = max(1, parameter("MEM_W") // (8 if parameter("DW") == 8 else 16) // 16)
    for operation, work, read, passes in WORK:
        fields = work | dict(multiplier=7, shift=5, rounding=3, addr_b=512, addr_out=2 * ROOM)
        fields["keep_threshold"] = 9999 * (operation == SUM)
        beats, results = work["n_beats"], work["n_y"] * work["n_x"] * work["n_beats"]
        column, row = beats * beat, work["width"] * beats * beat
        fields |= dict(stride_y=row, stride_x=column)
        hop = 1 if "transpose" in work else work["step_y"]
        fields |= dict(advance_y=hop * row, advance_x=hop * column)
        if "index_behind" in work:
            fields["index_behind"] = results * beat
        bench.memory.reads.clear()
        instr = instruction(Opcode.VECTOR, operation=operation, **fields)
        taken = await bench.run(instr, dict.fromkeys(("base", "base_b", "base_out"), 0))
        sources = 2 if operation in PAIRS else 1
        assert sum(length + 1 for _, length in bench.memory.reads) == read * sources * beats
        least = max(passes * beats, results * parts * (2 if "index_behind" in work else 1))
        # With four cycles for a beat of the result the queue is too short for those of a maximum and its indices.
        more = 1.4 if parts > 2 and "index_behind" in work else 1.05
        assert least <= taken < least * more + 200, (operation, least, taken)


@cocotb.test()
async def cycles_of_one_beat(dut):
    """From `start` to the request, from the beat to `m_done`, and the memory's answers between."""
    await start(dut, start=0, s_scrub=0)
    latency, beat = random.randint(1, 30), parameter("MEM_W") // 8
    bench, parts = Bench(dut, latency=latency), max(1, beat // (1 if parameter("DW") == 8 else 2) // 16)
    ones = dict.fromkeys(("n_beats", "n_y", "n_x", "n_ky", "n_kx", "step_y", "step_x", "height", "width"), 1)
    for operation, own in ((MAXIMUM, {}), (SUM, {}), (SUM, dict(keep_threshold=9)), (MAXIMUM, dict(index_behind=beat))):
        fields = ones | dict(operation=operation, addr_out=2 * ROOM) | own
        taken = await bench.run(instruction(Opcode.VECTOR, **fields), dict.fromkeys(("base", "base_b", "base_out"), 0))
        more = 5 if "index_behind" in own else 0
        assert taken + 1 == 13 + latency + 43 + parts + more + latency


@cocotb.test()
async def starts_anew_after_a_reset(dut):
    await start(dut, start=0, s_scrub=0)
    bench = Bench(dut, stall=0.2, latency=(1, 20))
    await bench.clear()
    for _ in range(6):
        before = bench.memory.image.copy()
        try:
            await bench.execute(random.randrange(LOAD_TABLE), limit=random.randrange(200))
        except TimeoutError:  # in the middle
            await reset(dut, 2)
            bench.machine.memory[:] = bench.memory.image[:] = before
    await bench.execute(SUM)


@pytest.mark.parametrize(
    "grid, dw, mem_w, addr_w, count",
    first(
        2,
        [
            (4, 8, 64, 32, 20),
            (8, 12, 128, 40, 20),
            (8, 16, 64, 48, 30),
            (4, 16, 512, 48, 12),
            (4, 8, 512, 40, 8),
            (8, 16, 512, 48, 12),
            (8, 8, 64, 40, 20),
            (4, 16, 64, 40, 20),
        ],
    ),
)
def test_vector(grid, dw, mem_w, addr_w, count):
    parameters = {"GRID": grid, "DW": dw, "MEM_W": mem_w, "ADDR_W": addr_w, "BURST": random.choice([32, 64, 128])}
    run("vector", "gc_vector", parameters, sim="verilator", env={"COUNT": str(count)})


def test_the_compiler_counts_with_the_slots_of_the_rtl():
    unit, gather = ((ROOT / "rtl" / "vector" / f"gc_vector{name}.v").read_text() for name in ("", "_gather"))
    zeros = r"(\d)'[db]0\}"
    pair_y, all_y, all_x = re.search(
        rf"most_y = pair_q \? \{{1'b0, unit_y, {zeros} : \{{unit_y, {zeros};.*most_x = \{{unit_x, {zeros};", unit, re.S
    ).groups()
    assert (1 << int(all_y), 1 << int(pair_y), 1 << int(all_x)) == (ROWS_KEPT, PAIR_ROWS_KEPT, COLUMNS_KEPT)
    part = int(re.search(r"localparam PART +=  *(\d+);", unit)[1])
    assert {int(slots) * part for slots in re.findall(r"DEPTH\((\d+) << PW\)", gather) if slots != "1"} == {PIXEL_DEPTH}


@pytest.mark.parametrize(
    "bad, reason",
    [
        ({"GRID": 6}, "GRID_"),
        ({"DW": 7}, "DW_"),
        ({"DW": 17}, "DW_"),
        ({"MEM_W": 96}, "MEM_W_"),
        ({"ADDR_W": 49}, "ADDR_W_"),
        ({"BURST": 4}, "BURST_must"),
        ({"BURST": 24}, "BURST_must"),
    ],
)
def test_refuses(bad, reason):
    expect_elaboration_error("vector", "gc_vector", bad, reason)
