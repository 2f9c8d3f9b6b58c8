# SPDX-License-Identifier: Apache-2.0
"""The buses of the compiled simulation, around a stand-in that copies memory: data and figures through every front, and
faults in a front."""

import numpy as np
import pytest

from gradcore.files.places import ROOT
from gradcore.sim.backend import Memory, MemoryRuleBroken
from tb.model.sim.copy_engine import copy, open_copy_engine

SIZE, TARGET, BEATS = 1 << 20, 1 << 19, 512
AVALON = ("gc_avalon_master.v", "gc_burst_ends.v", "gc_avalon_agent.v", "gc_engine_avalon.v")
FILES = {
    "sim-axi": [ROOT / "rtl" / "axi" / name for name in ("gc_axi_master.v", "gc_axil_slave.v", "gc_engine_axi.v")],
    "sim-avalon": [
        *(ROOT / "rtl" / "avalon" / name for name in AVALON),
        ROOT / "rtl/stream/gc_credit_counter.v",
    ],
}


def copied(name, files, mem_w, **memory):
    """Run a copy and compare it; returns its cycles."""
    beat = mem_w // 8
    with open_copy_engine(Memory(SIZE, bytes_per_cycle=2 * beat, **memory), name, files, MEM_W=mem_w) as backend:
        assert (backend.name, backend.beat_bytes) == (name, beat)
        data = np.random.default_rng(mem_w).integers(0, 256, BEATS * beat, dtype=np.uint8)
        backend.mem_write(4096, data)
        cycles = copy(backend, 4096, TARGET, BEATS)
        assert backend.traffic == (BEATS, BEATS) and backend.outstanding == 0
        assert (backend.mem_read(TARGET, data.size) == data).all(), "data"
        assert backend.read32(0) == 0x47524144 and backend.read32(0x30) == 4096
        return cycles


@pytest.mark.parametrize("name, mem_w", [("sim-axi", 256), ("sim-avalon", 512)])
def test_copies_through_a_front(name, mem_w):
    # A beat per cycle on each side; the Avalon front takes one more for each write burst of 16.
    least = BEATS * (17 if name == "sim-avalon" else 16) // 16
    free = copied(name, FILES[name], mem_w, latency=20)
    assert least <= free <= least + 2 * 20 + 40
    stalled = {seed: copied(name, FILES[name], mem_w, latency=20, stall=0.4, jitter=30, seed=seed) for seed in (1, 2)}
    assert stalled[1] != stalled[2] and min(stalled.values()) > BEATS / 0.6


MASTER, SLAVE, HOSTS, AGENT = "gc_axi_master.v", "gc_axil_slave.v", "gc_avalon_master.v", "gc_avalon_agent.v"
FAULTS = [
    ("sim-axi", MASTER, "aw_q ? awaddr_q :", "", "write request changed"),
    (
        "sim-axi",
        MASTER,
        "s_wreq_ready  = !aw_q",
        "s_wreq_ready  = m_axi_awready",
        "no interrupt",
    ),  # data wait for the address
    ("sim-axi", SLAVE, "if (s_axil_bready) bvalid_q", "bvalid_q", "register answer withdrawn"),
    (
        "sim-avalon",
        HOSTS,
        "avm_write_address    = address_q",
        "avm_write_address    = address_q ^ s_wdat_last",
        "inside the write burst",
    ),
    ("sim-avalon", HOSTS, "burst_q && !avm_write_waitrequest", "burst_q", "write data changed"),  # drops beats
    ("sim-avalon", AGENT, "read_answer_q  <= read_q", "read_answer_q  <= read_answer_q", "not at all"),
]


@pytest.mark.parametrize("name, file, old, new, text", FAULTS)
def test_a_fault_in_a_front_is_found(tmp_path, name, file, old, new, text):
    files = []
    for path in FILES[name]:
        source = path.read_text()
        if path.name == file:
            assert old in source
            (tmp_path / file).write_text(source.replace(old, new, 1))
        files.append(tmp_path / file if path.name == file else path)
    with pytest.raises((MemoryRuleBroken, AssertionError), match=text):
        copied(name, files, 128, latency=20, stall=0.4, jitter=30)
