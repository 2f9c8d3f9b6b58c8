# SPDX-License-Identifier: Apache-2.0
"""Every proof of formal/ holds, and each is seen to fail on an RTL with a fault."""

import shutil
import subprocess
import sys

import pytest

from gradcore.files.places import ROOT
from tb.support.cases import long

# proof: (source, text, what stands there in the faulty copy)
FAULTS = {
    "stream/stream_register": ("stream/gc_stream_register", "skid_q ? skid_data_q : s_data", "s_data"),
    "stream/stream_fifo": ("stream/gc_stream_fifo", "&& (!valid_q || m_ready)", ""),
    "stream/register_queue": ("stream/gc_register_queue", "!level[AW]", "1'b1"),
    "stream/stream_upsize": (
        "stream/gc_stream_upsize",
        "assign s_ready = !m_valid || m_ready",
        "assign s_ready = 1'b1",
    ),
    "stream/stream_downsize": ("stream/gc_stream_downsize", "last_q || m_flush", "last_q"),
    "stream/delay_line": ("stream/gc_delay_line", "(CLEAR != 0 && clear) ? {W{1'b0}} : stage[i]", "stage[i]"),
    "axi/axil_slave": ("axi/gc_axil_slave", "aw_q && w_q && !bvalid_q", "aw_q && w_q"),
    "axi/axi_master": ("axi/gc_axi_master", "assign m_axi_wlast   = s_wdat_last", "assign m_axi_wlast   = 1'b1"),
    "avalon/avalon_agent": ("avalon/gc_avalon_agent", "byteenable_q <= avs_byteenable", "byteenable_q <= 4'hf"),
    "avalon/avalon_master": (
        "avalon/gc_avalon_master",
        "s_wdat_valid && s_wdat_ready && s_wdat_last",
        "s_wdat_valid && s_wdat_last",
    ),
    "dma/dma_bursts": ("dma/gc_dma_bursts", "run_end ? low : room", "low"),
    "dma/dma_reader": ("dma/gc_dma_reader", "free >= {1'b0, next_beats}", "|free"),
    "dma/dma_writer": ("dma/gc_dma_writer", "last_sent_q && !data_q && ~(|waiting_q)", "last_sent_q && !data_q"),
    "dma/memory_guard": ("dma/gc_window_check", "page < cfg_end", "page <= cfg_end"),
    "dma/mem_arbiter": ("dma/gc_request_pick", "holds_q ? held_q[i] : ~(|below)", "~(|below)"),
}


def proofs():
    return sorted(str(f.relative_to(ROOT / "formal").with_suffix("")) for f in (ROOT / "formal").glob("*/*.sby"))


def prove(root, *words):
    return subprocess.run(
        [sys.executable, ROOT / "ci" / "formal", "--root", root, *words], capture_output=True, text=True, timeout=300
    )


def test_every_proof_has_a_fault():
    assert proofs() == sorted(FAULTS)


@pytest.mark.parametrize("proof", [long(proof) if proof == "dma/memory_guard" else proof for proof in proofs()])
def test_proof_holds(proof):
    done = prove(ROOT, proof.split("/")[1])
    assert done.returncode == 0 and f"{proof}.sby: proved" in done.stdout, done.stdout


@pytest.mark.parametrize("proof", FAULTS)
def test_fault_is_found(proof, tmp_path):
    source, text, fault = FAULTS[proof]
    for folder in ("rtl", "formal"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    file = tmp_path / "rtl" / f"{source}.v"
    original = file.read_text()
    assert text in original
    file.write_text(original.replace(text, fault, 1))
    done = prove(tmp_path, proof.split("/")[1])
    # A counterexample from reset, not a broken file or an induction that does not close.
    assert done.returncode == 1 and "failed assertion" in done.stdout and "DONE (FAIL" in done.stdout, done.stdout
