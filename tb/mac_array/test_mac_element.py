# SPDX-License-Identifier: Apache-2.0
"""What synthesis makes of an element, a column and an engine; the function is tested in test_mac_array."""

import json
import re
import subprocess
import sys

import pytest

from gradcore.files.places import ROOT
from gradcore.sim.sources import sources


def cells(top, **parameters):
    """Cells by type after mapping to 7-series DSP blocks, before lookup tables are formed."""
    files = " ".join(str(f.relative_to(ROOT)) for f in sources("mac_array"))
    sets = "".join(f"chparam -set {k} {v} {top}; " for k, v in parameters.items())
    script = (
        f"read_verilog {files}; {sets}synth_xilinx -family xc7 -noiopad -noclkbuf -flatten -top {top} -run :map_luts; "
        "clean; stat"
    )
    done = subprocess.run(
        [sys.executable, ROOT / "ci" / "yosys", "-p", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    statistics = done.stdout[done.stdout.rindex("Printing statistics") :]
    return {name: int(n) for n, name in re.findall(r"^\s+(\d+)\s+([A-Z]\S*)$", statistics, re.M)}


def blocks(core, top, folder, **parameters):
    """Cells by type of the whole hierarchy, before synthesis."""
    files = " ".join(str(f.relative_to(ROOT)) for f in sources(core))
    sets = "".join(f"chparam -set {k} {v} {top}; " for k, v in parameters.items())
    libraries = "read_verilog -lib +/xilinx/cells_xtra.v; read_verilog -lib +/ecp5/cells_sim.v +/ecp5/cells_bb.v; "
    script = f"{libraries}read_verilog {files}; {sets}hierarchy -check -top {top}; tee -q -o {folder}/cells stat -json"
    subprocess.run([sys.executable, ROOT / "ci" / "yosys", "-q", "-p", script], cwd=ROOT, check=True)
    return json.loads((folder / "cells").read_text())["design"]["num_cells_by_type"]


@pytest.mark.parametrize("core, top", [("axi", "gc_engine_axi"), ("avalon", "gc_engine_avalon")])
@pytest.mark.parametrize("dsp, block", [(1, "DSP48E2"), (2, "MULT18X18D")])
def test_a_whole_engine_is_made_of_the_block_that_is_named(core, top, dsp, block, tmp_path):
    sums = 4 * 4 if dsp == 1 else 0  # the sum column's
    assert blocks(core, top, tmp_path, GRID=4, COLS=4, DSP=dsp)[block] == 4 * 4 * 4 + sums


@pytest.mark.parametrize("dw, acc_w", [(8, 20), (13, 41), (16, 48)])
def test_an_element_is_one_dsp_block_and_nothing_else(dw, acc_w):
    assert cells("gc_mac_element", DW=dw, ACC_W=acc_w) == {"DSP48E1": 1}


def test_a_column_adds_only_the_row_and_step_registers():
    lanes, dw = 4, 16
    found = cells("gc_mac_column", LANES=lanes, GROUPS=2, DW=dw, ACC_W=48)
    assert found.pop("DSP48E1") == lanes
    assert sum(n for name, n in found.items() if name.startswith("FD")) == lanes * dw + 4
    assert all(name.startswith("FD") for name in found), found
