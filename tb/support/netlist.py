# SPDX-License-Identifier: Apache-2.0
"""An engine as Yosys leaves it: cells of UltraScale+, simulated with the models that Yosys brings."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pyosys
from filelock import FileLock

from gradcore.files.places import ROOT
from gradcore.isa.config import EngineConfig
from gradcore.sim.build import build, engine_parameters
from gradcore.sim.sources import sources
from tb.ci.scripts import script

CELLS = Path(pyosys.__file__).parent / "share" / "xilinx" / "cells_sim.v"
TOP = "gc_engine"
# There are models of neither the block RAM nor the DSP of this family: both become LUTs.
OPTIONS = "-noiopad -nobram -nodsp"


def build_netlist(config: EngineConfig) -> Path:
    """Library of the netlist of a simulated engine."""
    parameters, commands = engine_parameters(config), script("synth").COMMANDS["xcup"].format(top=TOP)
    values = " ".join(f"-set {key} {value}" for key, value in parameters.items())
    steps = [
        f"read_verilog {' '.join(str(file) for file in sources('engine'))}",
        f"chparam {values} {TOP}",
        f"hierarchy -check -top {TOP}",
        f"rename -top {TOP}",  # a module with parameters may have got another name
        commands.replace("-noiopad", OPTIONS),
    ]
    texts = [file.read_text() for file in (ROOT / "ci" / "yosys_script.py", *sources("engine"))]
    state = hashlib.sha256("\n".join([*steps, *texts]).encode()).hexdigest()
    folder = ROOT / "build" / "netlist" / state[:16]
    folder.mkdir(parents=True, exist_ok=True)
    netlist = folder / "netlist.v"
    with FileLock(folder / "lock"):
        if not netlist.exists():
            part = folder / "netlist.part"
            (folder / "netlist.ys").write_text("\n".join([*steps, f"write_verilog -noattr {part}", ""]))
            with (folder / "netlist.log").open("w") as log:
                words = [sys.executable, ROOT / "ci" / "yosys_script.py", folder / "netlist.ys"]
                subprocess.run(words, cwd=ROOT, stdout=log, stderr=log, check=True)
            part.replace(netlist)
    return build([netlist, CELLS], parameters, fixed=True)[0]
