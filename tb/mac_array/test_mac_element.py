# SPDX-License-Identifier: Apache-2.0
"""What synthesis makes of an element and of a column; the function is tested in test_mac_array."""

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


@pytest.mark.parametrize("dw, acc_w", [(8, 20), (13, 41), (16, 48)])
def test_an_element_is_one_dsp_block_and_nothing_else(dw, acc_w):
    assert cells("gc_mac_element", DW=dw, ACC_W=acc_w) == {"DSP48E1": 1}


def test_a_column_adds_only_the_row_and_step_registers():
    lanes, dw = 4, 16
    found = cells("gc_mac_column", LANES=lanes, GROUPS=2, DW=dw, ACC_W=48)
    assert found.pop("DSP48E1") == lanes
    assert sum(n for name, n in found.items() if name.startswith("FD")) == lanes * dw + 4
    assert all(name.startswith("FD") for name in found), found
