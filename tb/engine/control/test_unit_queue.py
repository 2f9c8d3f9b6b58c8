# SPDX-License-Identifier: Apache-2.0
"""The queue of a unit: instructions start in order, each once, when their tokens and the room are there."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from gradcore.isa.instruction import FIELDS, Opcode
from tb.support.bench import PAUSES, cycles, reset, start
from tb.support.runner import parameter, run

FIELD = FIELDS[Opcode.LOAD]


def field(word: int, name: str) -> int:
    return word >> FIELD[name].first & (1 << FIELD[name].bits) - 1


def instruction(wait: int) -> int:
    """Random bits with this wait field."""
    mask = (1 << FIELD["wait"].bits) - 1
    return random.getrandbits(1024) & ~(mask << FIELD["wait"].first) | wait << FIELD["wait"].first


async def push(dut, words, pause: float = 0.0, forgotten: float = 0.0):
    """Gives the queue (index, instruction), beat by beat; before some of them the beats of one that is not pushed."""
    width = parameter("MEM_W")

    async def beats(word: int, count: int):
        """The first one may come with the push of the instruction before."""
        for place in range(count):
            while random.random() < pause:
                await cycles(dut, 1)
                dut.s_valid.value = 0
            dut.s_write.value, dut.s_place.value = 1, place
            dut.s_beat.value = word >> width * place & (1 << width) - 1
            await cycles(dut, 1)
            dut.s_write.value = dut.s_valid.value = 0

    for index, word in words:
        if random.random() < forgotten:
            await beats(random.getrandbits(1024), random.randint(1, 1024 // width))
        await beats(word, 1024 // width)
        while True:
            await ReadOnly()
            ready = dut.s_ready.value
            await cycles(dut, 1)
            if ready:
                break
        dut.s_index.value, dut.s_valid.value = index, 1
    await cycles(dut, 1)
    dut.s_valid.value = 0


class Unit:
    """Takes what the queue starts and compares every output in every cycle."""

    def __init__(self, dut, expected: list):
        self.dut, self.expected, self.started = dut, expected, 0
        self.work, self.left, self.index = None, 0, None
        self.was = None  # (room, available, take) of the cycle before

    async def cycle(self, room: bool, available: int, longest: int = 6):
        dut = self.dut
        done = self.work is not None and self.left == 0
        dut.s_room.value, dut.s_available.value, dut.s_done.value = room, available, done
        await ReadOnly()
        if dut.m_start.value:
            assert self.work is None, "two at a time"
            self.index, self.work = self.expected[self.started]
            self.started += 1
            wait = field(self.work, "wait")
            assert self.was == (True, self.was[1], wait) and wait & ~self.was[1] == 0, "a start without its tokens"
            self.left = random.randint(1, longest)
        take = int(dut.m_take.value)
        assert not take & ~available and not (take and (self.work is not None or not room))
        assert bool(dut.sts_active.value) == (self.work is not None)
        if self.work is not None:
            assert int(dut.m_instruction.value) == self.work
            assert int(dut.m_signal.value) == field(self.work, "signal")
            assert int(dut.m_tag.value) == field(self.work, "tag")
            assert not dut.sts_idle.value and dut.sts_busy.value and not dut.sts_waits.value
            assert not dut.sts_empty.value
        self.was = room, available, take
        await cycles(dut, 1)
        if self.work is not None:
            assert int(dut.sts_index.value) == self.index  # a cycle late
            self.left -= 1
        if done:
            self.work = None


def some(count: int) -> list:
    producers = parameter("PRODUCERS")
    return [
        (random.getrandbits(24), instruction(random.getrandbits(producers) & random.getrandbits(producers)))
        for _ in range(count)
    ]


async def begin(dut):
    await start(dut, s_room=0, s_available=0, s_done=0, s_write=0)


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def all_start_in_order_with_their_tokens(dut, pauses):
    await begin(dut)
    words = some(60)
    unit, producers = Unit(dut, words), parameter("PRODUCERS")
    cocotb.start_soon(push(dut, words, pauses[0], forgotten=0.3))
    for _ in range(12000):
        tokens = sum((random.random() < 0.8) << p for p in range(producers))
        await unit.cycle(random.random() >= pauses[1], tokens)
        if unit.started == len(words) and unit.work is None:
            break
    assert unit.started == len(words)
    await unit.cycle(True, 0)
    assert dut.sts_idle.value and dut.sts_empty.value


@cocotb.test()
async def four_wait_while_one_works_and_without_room_none_starts(dut):
    await begin(dut)
    words = [(number, instruction(0)) for number in range(6)]
    unit = Unit(dut, words)
    cocotb.start_soon(push(dut, words))
    for _ in range(100):
        await unit.cycle(False, 0)
    assert unit.started == 0 and not dut.s_ready.value
    await unit.cycle(True, 0)
    unit.left = 1000
    for _ in range(40):
        await unit.cycle(True, 0)
        unit.left = max(unit.left, 10)
    assert unit.started == 1 and not dut.s_ready.value  # one at work, four behind it


@cocotb.test()
async def a_start_comes_its_beats_and_a_cycle_after_its_push_and_after_the_one_before(dut):
    await begin(dut)
    words = [(number, instruction(0)) for number in range(5)]
    unit, least = Unit(dut, words), 1024 // parameter("MEM_W") + 1
    dut.s_room.value = 1
    await push(dut, words[:1])  # returns in the cycle after the push
    for number in range(1, least):
        await unit.cycle(True, 0)
        assert unit.started == 0, number
    cocotb.start_soon(push(dut, words[1:]))
    await unit.cycle(True, 0, longest=1)
    assert unit.started == 1
    for _ in range(200):
        await unit.cycle(False, 0)
    starts = []
    for number in range(5 * least):
        await unit.cycle(True, 0, longest=1)
        starts += [number] * (unit.started - 1 - len(starts))
    assert [after - before for before, after in zip(starts, starts[1:])] == [least] * 3


@cocotb.test()
async def the_one_that_waits_is_named_with_its_producer(dut):
    await begin(dut)
    producers = parameter("PRODUCERS")
    for missing in range(producers):
        words = [(random.getrandbits(24), instruction(1 << missing))]
        unit = Unit(dut, words)
        cocotb.start_soon(push(dut, words))
        others = (1 << producers) - 1 & ~(1 << missing)
        for _ in range(40):
            await unit.cycle(True, others)
        assert int(dut.sts_waits.value) == 1 << missing and int(dut.sts_index.value) == words[0][0]
        for _ in range(10):
            await unit.cycle(True, others | 1 << missing)
        assert unit.started == 1 and dut.sts_idle.value and dut.sts_empty.value


@cocotb.test()
async def a_reset_empties_it(dut):
    await begin(dut)
    words = some(3)
    await push(dut, words)
    await reset(dut)
    again = some(2)
    unit = Unit(dut, again)
    for _ in range(10):
        await unit.cycle(True, (1 << parameter("PRODUCERS")) - 1)
    assert dut.sts_idle.value
    cocotb.start_soon(push(dut, again))
    for _ in range(100):
        await unit.cycle(True, (1 << parameter("PRODUCERS")) - 1)
    assert unit.started == 2


@pytest.mark.parametrize("width", [64, 128, 256, 512])
def test_unit_queue(width):
    run("engine", "gc_unit_queue", {"MEM_W": width, "PRODUCERS": 6})
