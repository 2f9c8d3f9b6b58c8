# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.support.bench import PAUSES, cycles, reset, start
from tb.support.runner import parameter, run


def base() -> int:
    """The highest bit of an address."""
    return 1 << parameter("ADDR_W") - 1


class Port:
    """The memory: takes bursts, confirms each some cycles after its last beat, not before `hold` is gone; `beats` by
    address."""

    def __init__(self, dut, stall):
        self.dut, self.stall = dut, stall
        self.begin()
        cocotb.start_soon(self._run())

    def begin(self, hold=False):
        self.beats, self.hold, self.bad, self.done = {}, hold, False, 0

    async def _run(self):
        dut, burst, answers, now = self.dut, None, [], 0
        while True:
            dut.m_wreq_ready.value = int(burst is None and random.random() >= self.stall)
            dut.m_wdat_ready.value = int(random.random() >= self.stall)
            answer = bool(answers) and answers[0] <= now and not self.hold
            dut.s_wrsp_valid.value = int(answer)
            await ReadOnly()
            if answer:
                answers.pop(0)
            if dut.rst.value:
                burst, answers = None, []
            else:
                self.bad |= bool(dut.sts_bad.value)
                self.done += bool(dut.m_done.value)
                if dut.m_wreq_valid.value and dut.m_wreq_ready.value:
                    burst = int(dut.m_wreq_addr.value)
                if dut.m_wdat_valid.value and dut.m_wdat_ready.value:
                    assert dut.m_wdat_strb.value.to_unsigned() == (1 << parameter("MEM_W") // 8) - 1
                    self.beats[burst] = int(dut.m_wdat_data.value)
                    burst += parameter("MEM_W") // 8
                    if dut.m_wdat_last.value:
                        burst = None
                        answers.append(now + random.randint(1, 20))
            await cycles(dut, 1)
            now += 1


def memory_words(word, packed=False):
    """(a word of LANES values as it lies in memory, bits): each sign-extended to whole bytes, or bit 0 of each."""
    lanes, width = parameter("LANES"), parameter("DW")
    if packed:
        return sum((word >> width * lane & 1) << lane for lane in range(lanes)), lanes
    size, out = 8 if width == 8 else 16, 0
    for lane in range(lanes):
        value = word >> width * lane & (1 << width) - 1
        value -= (value >> width - 1) << width
        out |= (value & (1 << size) - 1) << size * lane
    return out, size * lanes


async def begin(dut, words, beats, packed=False):
    dut.cfg_addr.value, dut.cfg_base.value, dut.cfg_base_sel.value = 4096, base() << parameter("ADDR_W"), 1
    dut.cfg_run_beats.value, dut.cfg_n_words.value, dut.start.value = beats, words, 1
    for level in (1, 2):
        getattr(dut, f"cfg_n{level}").value, getattr(dut, f"cfg_stride{level}").value = 1, random.getrandbits(32)
    dut.cfg_packed.value = int(packed) if parameter("PACKED") else random.getrandbits(1)
    await cycles(dut, 1)
    dut.start.value = 0


async def send(dut, words, pause):
    for word in words:
        while True:
            valid = random.random() >= pause
            dut.s_valid.value, dut.s_data.value = int(valid), word
            await ReadOnly()
            taken = valid and dut.s_ready.value
            await cycles(dut, 1)
            if taken:
                break
    dut.s_valid.value = 0


async def wait(dut, port, what):
    for _ in range(3000):
        if what():
            return
        await cycles(dut, 1)
    raise AssertionError(f"done {port.done}, bad {port.bad}")


def needed(words, packed=False):
    """Beats of so many words."""
    return -(-words * memory_words(0, packed)[1] // parameter("MEM_W"))


def some_packed():
    return bool(parameter("PACKED") and random.getrandbits(1))


def sizes(limit=40):
    return [1, 2, random.randint(3, limit), limit]


@cocotb.test()
@cocotb.parametrize(pauses=PAUSES)
async def words_fill_their_beats(dut, pauses):
    await start(dut, start=0, s_valid=0, s_wrsp_valid=0)
    port = Port(dut, pauses[1])
    for count in 2 * sizes():
        packed = some_packed()
        words = [random.getrandbits(parameter("LANES") * parameter("DW")) for _ in range(count)]
        port.begin()
        await begin(dut, count, needed(count, packed), packed)
        await send(dut, words, pauses[0])
        await wait(dut, port, lambda: port.done)
        await cycles(dut, 3)
        assert port.done == 1 and not port.bad
        width, beat = memory_words(0, packed)[1], parameter("MEM_W")
        expected = sum(memory_words(word, packed)[0] << width * i for i, word in enumerate(words))
        found = sum(value << beat * i for i, (_, value) in enumerate(sorted(port.beats.items())))
        assert sorted(port.beats) == [base() + 4096 + i * beat // 8 for i in range(needed(count, packed))]
        assert found == expected  # zero behind the last word


@cocotb.test()
@cocotb.parametrize(late=["with the others", "when the beats are written"])
async def words_left_over_are_bad(dut, late):
    """Whether they come before or after the last beat has been confirmed."""
    await start(dut, start=0, s_valid=0, s_wrsp_valid=0)
    port = Port(dut, 0.3)
    for count in sizes():
        packed = some_packed()
        beats = needed(count, packed)
        more = next(n for n in range(1, 99) if needed(count + n, packed) > beats)
        port.begin(hold=late == "with the others")
        await begin(dut, count + more, beats, packed)
        fill = next(n for n in range(count, 99) if needed(n + 1, packed) > beats)
        sending = cocotb.start_soon(send(dut, [0] * (count + more if port.hold else fill), 0.3))
        if port.hold:
            await cycles(dut, 20 * (count + more))
            port.hold = False
        await wait(dut, port, lambda: port.done)
        await cycles(dut, 2)
        assert port.bad
        sending.cancel()
        dut.s_valid.value = 0
        await reset(dut)


@cocotb.test()
async def words_that_end_too_early_are_bad(dut):
    await start(dut, start=0, s_valid=0, s_wrsp_valid=0)
    port = Port(dut, 0.3)
    for count in sizes():
        packed = some_packed()
        port.begin()
        await begin(dut, count, needed(count, packed) + random.choice([1, 5]), packed)
        await send(dut, [0] * count, 0.3)
        await wait(dut, port, lambda: port.bad)
        assert not port.done
        await reset(dut)


@pytest.mark.parametrize(
    "lanes, width, mem_w, packed",
    [
        (4, 16, 64, 0),
        (16, 8, 64, 0),
        (16, 11, 128, 1),
        (4, 16, 256, 0),
        (4, 8, 512, 0),
        (64, 8, 64, 1),
        (16, 16, 512, 1),
    ],
)
def test_word_writer(lanes, width, mem_w, packed):
    sizes = {"LANES": lanes, "DW": width, "MEM_W": mem_w, "ADDR_W": random.randint(32, 48)}
    run("engine", "gc_word_writer", sizes | {"PACKED": packed})
