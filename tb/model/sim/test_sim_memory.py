# SPDX-License-Identifier: Apache-2.0
"""The memory compiled into the simulation: figures measured against the numbers set, data, rules, recording."""

import numpy as np
import pytest

from gradcore.sim.backend import IRQ, LIMIT, Memory, MemoryRuleBroken
from tb.model.sim.copy_engine import BEAT, READ_ONLY, WRITE_ONLY, copy, open_copy_engine, start

SIZE, TARGET, BEATS = 1 << 22, 1 << 21, 2048


def filled(backend, seed):
    data = np.random.default_rng(seed).integers(0, 256, BEATS * BEAT, dtype=np.uint8)
    backend.mem_write(4096, data)
    return data


@pytest.mark.parametrize("bytes_per_cycle", [16, 48, 64, 96, 128])
@pytest.mark.parametrize("mode", [0, READ_ONLY, WRITE_ONLY])
def test_bandwidth_is_shared_by_reads_and_writes(bytes_per_cycle, mode):
    with open_copy_engine(Memory(SIZE, bytes_per_cycle=bytes_per_cycle)) as backend:
        cycles = copy(backend, 4096, TARGET, BEATS, mode)
        beats = BEATS if mode else 2 * BEATS
        ports = 1 if mode else 2
        least = beats / min(ports, bytes_per_cycle / BEAT)
        assert least <= cycles <= least + 2 * 60 + 40
        assert backend.traffic == (BEATS * (mode != WRITE_ONLY), BEATS * (mode != READ_ONLY))


@pytest.mark.parametrize("latency", [1, 60, 250])
def test_latency_of_one_burst(latency):
    # Start pulse to request 1 cycle, data `latency` cycles after it and 15 beats on, then done and the interrupt.
    cycles = []
    for further in (0, 100):
        with open_copy_engine(Memory(SIZE, latency=latency + further)) as backend:
            cycles.append(copy(backend, 4096, TARGET, 16, READ_ONLY))
    assert cycles[1] - cycles[0] == 100
    assert latency + 16 <= cycles[0] <= latency + 16 + 3


def test_outstanding_requests_hide_the_latency_up_to_their_number():
    # Four bursts of 16 beats in flight per round trip of 200 cycles.
    with open_copy_engine(Memory(SIZE, latency=200, outstanding=4)) as backend:
        cycles = copy(backend, 4096, TARGET, BEATS, READ_ONLY)
        trips = BEATS / 64
        assert 200 * trips <= cycles <= 220 * trips + 20


@pytest.mark.parametrize("stall", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("seed", [1, 2])
def test_copies_under_back_pressure(stall, seed):
    with open_copy_engine(Memory(SIZE, stall=stall, seed=seed)) as backend:
        data = filled(backend, seed)
        copy(backend, 4096, TARGET, BEATS)
        assert (backend.mem_read(TARGET, data.size) == data).all()


def test_same_seed_gives_the_same_cycles_and_another_seed_others():
    cycles = []
    for seed in (5, 5, 6):
        with open_copy_engine(Memory(SIZE, stall=0.3, seed=seed)) as backend:
            cycles.append(copy(backend, 4096, TARGET, BEATS))
    assert cycles[0] == cycles[1] != cycles[2]


def test_written_data_appear_with_the_response_not_before():
    with open_copy_engine(Memory(SIZE, latency=100)) as backend:
        data = filled(backend, 3)
        start(backend, 4096, TARGET, 16)
        assert backend.run(100 + 60) == LIMIT  # read, written, not yet answered
        assert backend.traffic == (16, 16)
        assert not backend.mem_read(TARGET, 16 * BEAT).any()
        backend.run(1000)
        assert (backend.mem_read(TARGET, 16 * BEAT) == data[: 16 * BEAT]).all()


@pytest.mark.parametrize(
    "source, target, text",
    [
        (SIZE, 0, "read outside the DRAM"),
        (0, SIZE, "write outside the DRAM"),
        (32, 0, "not aligned"),
        (4096 - BEAT, 0, "crosses 4 KiB"),
    ],
)
def test_broken_rules_end_the_run(source, target, text):
    with open_copy_engine(Memory(SIZE)) as backend:
        start(backend, source, target, 32)
        with pytest.raises(MemoryRuleBroken, match=text):
            backend.run(10_000)


def test_reset_in_mid_copy_leaves_nothing_behind():
    with open_copy_engine(Memory(SIZE)) as backend:
        data = filled(backend, 4)
        start(backend, 4096, TARGET, BEATS)
        backend.run(777)
        backend.reset()
        assert backend.read32(0x14) == 0
        copy(backend, 4096, TARGET + 4096, BEATS)
        assert (backend.mem_read(TARGET + 4096, data.size) == data).all()


def test_records_events_and_keeps_the_newest():
    with open_copy_engine(Memory(SIZE)) as backend:
        backend.record(1000)
        copy(backend, 4096, TARGET, BEATS)
        events, lost = backend.events()
        load = events[events["engine"] == 0]
        assert lost == 0 and (load["tag"] == 1 + np.arange(BEATS // 16)).all()
        assert (load["start"][1:] == load["end"][:-1]).all() and (events["end"] > events["start"]).all()
        assert set(events["engine"]) == {0, 4} and set(events["tag"][events["engine"] == 4]) == {0x7FF}
        total = len(events)
        backend.record(10)
        before = backend.cycles
        copy(backend, 4096, TARGET, BEATS)
        newest, lost = backend.events()
        assert len(newest) == 10 and lost > total - 20
        assert (np.diff(newest["end"].astype(int)) >= 0).all() and newest["start"].min() > before
        backend.record(0)
        assert len(backend.events()[0]) == 0


def test_dram_is_a_view_and_addresses_are_checked():
    with open_copy_engine(Memory(SIZE)) as backend:
        backend.mem_write(100, b"\x01\x02\x03")
        assert list(backend.dram[99:104]) == [0, 1, 2, 3, 0]
        backend.dram[100] = 9
        assert list(backend.mem_read(100, 2)) == [9, 2]
        backend.mem_write(200, np.array([-2], np.int16))
        assert list(backend.mem_read(200, 2)) == [0xFE, 0xFF]
        for call in (
            lambda: backend.mem_read(SIZE - 1, 2),
            lambda: backend.mem_write(-1, b"\0"),
            lambda: backend.mem_read(0, -1),
        ):
            with pytest.raises(ValueError):
                call()


@pytest.mark.parametrize("mem_w", [64, 128, 256])
def test_narrow_beats(mem_w):
    with open_copy_engine(Memory(SIZE, bytes_per_cycle=mem_w // 8), MEM_W=mem_w) as backend:
        assert backend.beat_bytes == mem_w // 8
        data = filled(backend, 7)[: 256 * mem_w // 8]
        cycles = copy(backend, 4096, TARGET, 256)
        assert (backend.mem_read(TARGET, data.size) == data).all() and 512 <= cycles <= 512 + 160


def test_refuses_impossible_memories():
    for wrong in ({"outstanding": 0}, {"outstanding": 65}, {"bytes_per_cycle": 0}, {"latency": -1}, {"stall": 1.0}):
        with pytest.raises(ValueError):
            Memory(**wrong)


@pytest.mark.parametrize("fault", ["silent", "deaf"])
@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_memory_that_falls_silent_answers_late(kind, fault):
    """Five bursts go well; no later one of the kind is answered, or even taken, until the memory revives."""
    with open_copy_engine(Memory(SIZE, outstanding=8)) as backend:
        data = filled(backend, 8)
        backend.fault(kind, 5, fault)
        start(backend, 4096, TARGET, BEATS)
        assert backend.run(20_000) == LIMIT
        traffic = backend.traffic
        if fault == "silent":
            assert traffic[0] >= 5 * 16 and 0 < backend.outstanding <= 16
        if kind == "read" or fault == "deaf":
            assert traffic[kind == "write"] <= 5 * 16
        written = backend.mem_read(TARGET, data.size).reshape(-1, 16 * BEAT).any(axis=1).sum()
        assert written == 5 if (kind, fault) == ("write", "silent") else written <= 5
        assert backend.run(20_000) == LIMIT and backend.traffic == traffic
        backend.revive()
        assert backend.run(1_000_000) == IRQ and backend.outstanding == 0
        assert (backend.mem_read(TARGET, data.size) == data).all()


@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_memory_that_is_reset_owes_nothing(kind):
    with open_copy_engine(Memory(SIZE)) as backend:
        filled(backend, 9)
        backend.fault(kind, 3, "silent")
        start(backend, 4096, TARGET, BEATS)
        backend.run(20_000)
        before, traffic = backend.dram.copy(), backend.traffic
        assert backend.outstanding
        backend.forget()
        assert backend.outstanding == 0
        backend.revive()
        backend.run(20_000)
        assert kind == "read" or (backend.dram == before).all()
        assert backend.traffic[kind == "write"] == traffic[kind == "write"]


def test_a_burst_that_stands_on_the_bus_is_not_taken_by_a_memory_that_was_reset():
    with open_copy_engine(Memory(SIZE)) as backend:
        backend.fault("read", 3, "deaf")
        start(backend, 4096, TARGET, BEATS, READ_ONLY)
        backend.run(1000)
        backend.forget()
        backend.run(1000)
        assert backend.traffic == (48, 0) and backend.outstanding == 0


def test_refuses_impossible_faults():
    with open_copy_engine(Memory(SIZE)) as backend:
        for wrong in (("reads", 0, 2), ("read", 0, 1), ("write", 0, "late")):
            with pytest.raises(ValueError, match="no fault"):
                backend.fault(*wrong)


def test_how_far_a_fault_is_away():
    with open_copy_engine(Memory(SIZE)) as backend:
        assert backend.until_fault("read") == backend.until_fault("write") == 0
        backend.fault("read", 1000, 2)
        copy(backend, 4096, TARGET, 16 * 10)
        assert backend.until_fault("read") == 1001 - 10 and backend.until_fault("write") == 0
        backend.fault("write", 9, 2)
        copy(backend, 4096, TARGET, 16 * 10)
        assert backend.until_fault("read") == 1001 - 20 and backend.until_fault("write") == 0
