# SPDX-License-Identifier: Apache-2.0
"""Random bursts of both directions at once through the hosts: data, order, last beats, responses, rates."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from tb.avalon.bus import AvalonMemory
from tb.support.bench import cycles, reset, start
from tb.support.runner import expect_elaboration_error, parameter, run

INPUTS = dict(
    avm_read_waitrequest=0,
    avm_read_readdata=0,
    avm_read_readdatavalid=0,
    avm_read_response=0,
    avm_write_waitrequest=0,
    avm_write_response=0,
    avm_write_writeresponsevalid=0,
    s_rreq_addr=0,
    s_rreq_len=0,
    s_wreq_addr=0,
    s_wreq_len=0,
    s_wdat_data=0,
    s_wdat_strb=0,
    s_wdat_last=0,
)
HALF = 1 << 16  # reads below, writes above


def bursts(count, base):
    beat, result = parameter("MEM_W") // 8, []
    for _ in range(count):
        first = random.randrange(4096 // beat)
        beats = random.randint(1, min(4096 // beat - first, random.choice([1, 4, 256])))
        result.append((base + 4096 * random.randrange(HALF // 4096) + first * beat, beats))
    return result


async def reads(dut, memory, wanted, pause):
    """Ask for bursts one behind the other and take their beats; returns [(data, code)] of each burst."""
    beat, got, todo, shown = parameter("MEM_W") // 8, [[]], deque(wanted), False
    while len(got) <= len(wanted):
        shown = bool(todo) and (shown or random.random() >= pause)
        dut.s_rreq_valid.value = int(shown)
        if shown:
            dut.s_rreq_addr.value, dut.s_rreq_len.value = todo[0][0], todo[0][1] - 1
        await ReadOnly()
        if shown and dut.s_rreq_ready.value:
            todo.popleft()
            shown = False
        if dut.m_rdat_valid.value:
            got[-1].append((int(dut.m_rdat_data.value).to_bytes(beat, "little"), int(dut.m_rdat_resp.value)))
            if dut.m_rdat_last.value:
                got.append([])
        await cycles(dut, 1)
    return got[:-1]


async def writes(dut, wanted, pause):
    """Each burst's request, then its beats; returns the data of the bursts and the codes of the responses."""
    width, codes, todo, sent, left = parameter("MEM_W"), [], deque(wanted), [], 0
    shown = word = None
    while len(codes) < len(wanted):
        shown = not left and bool(todo) and (shown or random.random() >= pause)
        dut.s_wreq_valid.value = int(bool(shown))
        if shown:
            dut.s_wreq_addr.value, dut.s_wreq_len.value = todo[0][0], todo[0][1] - 1
        if left and word is None and random.random() >= pause:
            word = random.getrandbits(width)
        dut.s_wdat_valid.value, dut.s_wdat_last.value, dut.s_wdat_strb.value = (
            int(word is not None),
            int(left == 1),
            (1 << width // 8) - 1,
        )
        dut.s_wdat_data.value = word or 0
        await ReadOnly()
        if shown and dut.s_wreq_ready.value:
            left, shown = todo.popleft()[1], False
            sent.append(b"")
        elif word is not None and dut.s_wdat_ready.value:
            sent[-1] += word.to_bytes(width // 8, "little")
            word, left = None, left - 1
        if dut.m_wrsp_valid.value:
            codes.append(int(dut.m_wrsp_resp.value))
        await cycles(dut, 1)
    dut.s_wreq_valid.value, dut.s_wdat_valid.value = 0, 0
    return sent, codes


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(pause=[0.0, 0.4])
async def bursts_of_both_directions_arrive(dut, pause):
    await start(dut, **INPUTS)
    memory = AvalonMemory(dut, dut, parameter("MEM_W") // 8, 2 * HALF, pause)
    memory.write(0, random.randbytes(HALF))
    wanted_reads, wanted_writes = bursts(50, 0), bursts(20, HALF)
    faults = {("read", 7): 2, ("read", 30): 3, ("write", 3): 2, ("write", 11): 3}
    memory.faults = faults
    reading = cocotb.start_soon(reads(dut, memory, wanted_reads, pause))
    sent, codes = await writes(dut, wanted_writes, pause)
    for k, (burst, (address, beats)) in enumerate(zip(await reading, wanted_reads, strict=True)):
        assert b"".join(data for data, _ in burst) == memory.read(address, beats * memory.beat)
        assert {code for _, code in burst} == {faults.get(("read", k), 0)}
    assert (memory.reads, memory.writes) == (wanted_reads, wanted_writes)
    assert codes == [faults.get(("write", k), 0) for k in range(len(codes))]
    expected = bytearray(memory.read(0, HALF) + bytes(HALF))
    for k, ((address, _), data) in enumerate(zip(wanted_writes, sent, strict=True)):
        if ("write", k) not in faults:
            expected[address : address + len(data)] = data
    assert memory.bytes == expected


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_write_burst_takes_a_cycle_more_than_its_beats(dut):
    await start(dut, **INPUTS)
    AvalonMemory(dut, dut, parameter("MEM_W") // 8, 2 * HALF, latency=(0, 0))
    dut.s_wreq_valid.value, dut.s_wdat_valid.value, count, taken = 1, 1, 0, 0
    left = 0
    for _now in range(60):
        dut.s_wreq_len.value, dut.s_wdat_last.value, dut.s_wdat_strb.value = (
            4,
            int(left == 1),
            (1 << parameter("MEM_W") // 8) - 1,
        )
        await ReadOnly()
        if dut.s_wreq_ready.value:
            left, taken = 5, taken + 1
        elif dut.s_wdat_ready.value:
            left, count = left - 1, count + 1
        await cycles(dut, 1)
    assert (taken, count) == (10, 50)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def reset_in_the_middle_of_bursts(dut):
    await start(dut, **INPUTS)
    for _ in range(5):
        dut.s_wreq_valid.value, dut.s_wreq_len.value, dut.s_rreq_valid.value, dut.s_rreq_len.value = 1, 9, 1, 9
        await cycles(dut, random.randint(1, 5))
        dut.s_wreq_valid.value, dut.s_rreq_valid.value = 0, 0
        await reset(dut)
        dut.s_wdat_valid.value = 1
        await ReadOnly()
        assert dut.s_wreq_ready.value == 1 and dut.avm_write_write.value == 0 and dut.avm_read_read.value == 0
        await cycles(dut, 1)
        dut.s_wdat_valid.value = 0
        dut.s_rreq_valid.value, dut.s_rreq_len.value = 1, 0
        await cycles(dut, 1)
        dut.s_rreq_valid.value, dut.avm_read_readdatavalid.value = 0, 1
        await ReadOnly()
        assert dut.m_rdat_valid.value == 1 and dut.m_rdat_last.value == 1, "lengths or beats of before the reset"
        await cycles(dut, 1)
        dut.avm_read_readdatavalid.value = 0


@pytest.mark.parametrize("sim", ["icarus", "verilator"])
@pytest.mark.parametrize("width", [128, 512])
def test_avalon_master(width, sim):
    outstanding = random.choice([2, 4, 8, 32, 64])
    run("avalon", "gc_avalon_master", {"MEM_W": width, "ADDR_W": 40, "OUTSTANDING": outstanding}, sim=sim)


@pytest.mark.parametrize("outstanding", [1, 12])
def test_refuses(outstanding):
    expect_elaboration_error("avalon", "gc_avalon_master", {"OUTSTANDING": outstanding}, "OUTSTANDING_must_be")
