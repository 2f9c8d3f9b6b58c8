# SPDX-License-Identifier: Apache-2.0
"""Every core's target `sim` as a user calls it: green, and red on a broken operator; its list is the package's."""

import pytest
import yaml

from gradcore.files.places import ROOT
from gradcore.sim.sources import core_names
from tb.fusesoc.conftest import copy_of_library, plant
from tb.sim.cores import FILES
from tb.support.cases import long

# core: (source, operators as they are, broken)
FAULTS = {
    "ram": ("ram/gc_ram_sdp", "if (OUT_REG != 0) begin", "if (OUT_REG == 0) begin"),
    "stream": ("stream/gc_stream_downsize", "last_q || m_flush", "last_q && m_flush"),
    "mac_array": ("mac_array/gc_mac_element", "addend + product", "addend - product"),
    "operand_buffer": ("operand_buffer/gc_skew_address", "BANK - m_rot_y", "BANK + m_rot_y"),
    "weight_buffer": ("weight_buffer/gc_weight_buffer", "addr + rise", "addr - rise"),
    "gradient_buffer": ("gradient_buffer/gc_gradient_lane", "low} + {1'b0, old}", "low} - {1'b0, old}"),
    "requantise": ("requantise/gc_round_shift_step", "|| (|below)", "&& (|below)"),
    "loss": ("loss/gc_loss_lane", "s_data} + addend", "s_data} - addend"),
    "drain": ("drain/gc_pool2x2_window", "s_pool && right_top", "s_pool || right_top"),
    "upsample": ("upsample/gc_upsample", "gate[l] | ~cfg_scale", "gate[l] & ~cfg_scale"),
    "softmax": ("softmax/gc_softmax_divide_lane", "fits ? {upper", "!fits ? {upper"),
    "vector": ("vector/gc_vector_gather", "second == early_bits[DW-1:0]", "second != early_bits[DW-1:0]"),
    "update": ("update/gc_update_lane", ".SUBTRACT(1)) u_change", ".SUBTRACT(0)) u_change"),
    "dma": ("dma/gc_dma_bursts", "low <= room", "low < room"),
    "sequencer": ("sequencer/gc_loop_nest", "{1'b0, left} == THREE", "{1'b0, left} == TWO"),
    "engine": ("engine/compute/gc_lane_mask", "{1'b0, number} < s_images", "{1'b0, number} >= s_images"),
    "axi": ("axi/gc_axil_slave", "m_reg_read ? araddr_q", "!m_reg_read ? araddr_q"),
    "avalon": ("avalon/gc_avalon_agent", "read_answer_q && !rst", "read_answer_q || !rst"),
}
# The same at the side of the memory. The bench waits for the watchdog.
HANGING = {
    "axi master": ("axi/gc_axi_master", "m_axi_awvalid && !m_axi_awready", "m_axi_awvalid || !m_axi_awready"),
    "avalon master": ("avalon/gc_avalon_master", "{1'b0, s_rreq_len} + 9'd1", "{1'b0, s_rreq_len} - 9'd1"),
}
# The whole engine sees those of its parts.
PARTS = ["mac_array", "drain", "update"]


def bench(core):
    return "gc_engine_tb" if core == "gradcore" else f"gc_{core}_tb"


def test_every_core_has_a_fault():
    assert sorted(FAULTS) == core_names()


@pytest.mark.parametrize("core", [*FAULTS, "gradcore"])
def test_passes(core, fusesoc):
    done = fusesoc.run("sim", f"gradcore:ip:{core}:0.1.0")
    assert done.returncode == 0 and f"{bench(core)}: passed, " in done.stdout, done.stdout[-3000:]
    assert "arning" not in done.stdout, done.stdout[-3000:]


@pytest.mark.parametrize(
    "core, source",
    [(core, core) for core in FAULTS]
    + [long(source.split()[0], source) for source in HANGING]
    + [long("gradcore", part) for part in PARTS],
)
def test_goes_red(core, source, fusesoc, tmp_path):
    root = copy_of_library(tmp_path)
    file, right, wrong = (FAULTS | HANGING)[source]
    plant(root / "rtl" / f"{file}.v", right, wrong)
    done = fusesoc.run("sim", f"gradcore:ip:{core}:0.1.0", root)
    assert done.returncode != 0 and f"{bench(core)}:" in done.stdout, done.stdout[-3000:]
    assert "passed" not in done.stdout, done.stdout[-3000:]


@pytest.mark.parametrize("name", FILES)
def test_list_is_what_the_package_gives(name):
    """Else: build/venv/bin/python ci/vectors NAME."""
    place, text = FILES[name]
    assert place.read_text() == text()


@pytest.mark.parametrize("core", core_names())
def test_bench_stays_out_of_the_default_target(core):
    targets = yaml.safe_load((ROOT / "rtl" / core / f"{core}.core").read_text().removeprefix("CAPI=2:\n"))["targets"]
    assert targets["sim"]["filesets"] == ["rtl", "bench"] and targets["sim"]["toplevel"] == bench(core)
    assert all("bench" not in target["filesets"] for name, target in targets.items() if name != "sim")
