# SPDX-License-Identifier: Apache-2.0
"""An engine as Yosys leaves it, simulated with the models of the cells that Yosys brings."""

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
from tb.sim import step
from tb.support.tools import tool_environment

XILINX = Path(pyosys.__file__).parent / "share" / "xilinx" / "cells_sim.v"
TOP = "gc_engine"
# There are models of neither the block RAM nor the DSP of either family: both become LUTs.
OPTIONS = "-noiopad -nobram -nodsp"
# `synth_ecp5` before it gives LUTs the family's name. abc9 takes eight times as long as abc.
ECP5 = ("synth_ecp5 -noflatten -nobram -nodsp -nowidelut -run begin:map_luts", "abc -lut 4", "clean")
# The models in place of the cells, dissolved; the engine's own modules stay.
ECP5_MODELS = (
    "delete =A:blackbox",
    "read_verilog -overwrite +/ecp5/cells_sim.v",
    f"hierarchy -check -top {TOP}",
    "proc",
    "setattr -mod -set keep_hierarchy 1 *gc_*",
    "flatten -noscopeinfo",
    "opt_expr",
    "opt_clean",
)
BENCH, ADDR_W = "gc_engine_tb", 40  # the bench's addresses
RECORDER = """module recorder;
    {values}
    initial begin
        $dumpfile("recording.fst");
        $dumpvars(1, {bench}.u_engine);
    end
endmodule
"""


def elaborate(parameters: dict) -> list:
    values = " ".join(f"-set {key} {value}" for key, value in parameters.items())
    return [
        f"read_verilog {' '.join(str(file) for file in sources('engine'))}",
        f"chparam {values} {TOP}",
        f"hierarchy -check -top {TOP}",
        f"rename -top {TOP}",  # a module with parameters may have got another name
    ]


def synthesise(steps: list, write: str, name: str) -> Path:
    """The file `name` that Yosys writes by `write` after `steps`; made once."""
    texts = [file.read_text() for file in (ROOT / "ci" / "yosys_script.py", *sources("engine"))]
    state = hashlib.sha256("\n".join([*steps, *texts]).encode()).hexdigest()
    folder = ROOT / "build" / "netlist" / state[:16]
    folder.mkdir(parents=True, exist_ok=True)
    netlist = folder / name
    with FileLock(folder / "lock"):
        if not netlist.exists():
            part = folder / "netlist.part"
            (folder / "netlist.ys").write_text("\n".join([*steps, f"{write} {part}", ""]))
            with (folder / "netlist.log").open("w") as log:
                words = [sys.executable, ROOT / "ci" / "yosys_script.py", folder / "netlist.ys"]
                subprocess.run(words, cwd=ROOT, stdout=log, stderr=log, check=True)
            part.replace(netlist)
    return netlist


def build_netlist(config: EngineConfig) -> Path:
    """Library of the netlist of a simulated engine: cells of UltraScale+."""
    parameters = engine_parameters(config)
    commands = script("synth").COMMANDS["xcup"].format(top=TOP).replace("-noiopad", OPTIONS)
    netlist = synthesise([*elaborate(parameters), commands], "write_verilog -noattr", "netlist.v")
    return build([netlist, XILINX], parameters, fixed=True)[0]


def record(config: EngineConfig, folder: Path) -> tuple[dict, int, Path]:
    """The RTL trains in Icarus as gc_step_player plays it. Parameters of the engine in the bench, the cycles, and a
    recording of the engine's ports."""
    parameters = {**engine_parameters(config), "ADDR_W": ADDR_W}
    values = "\n    ".join(f"defparam {BENCH}.u_engine.{key} = {value};" for key, value in parameters.items())
    (folder / "recorder.v").write_text(RECORDER.format(values=values, bench=BENCH))
    (folder / step.PLACE.name).write_text(step.text(config))
    files = map(str, sources("engine", target="sim"))
    compiled = ["iverilog", "-g2005", "-s", BENCH, "-s", "recorder", "-o", "bench", *files, "recorder.v"]
    for words in (compiled, ["vvp", "-n", "bench", "-fst"]):
        done = subprocess.run(words, cwd=folder, env=tool_environment(), capture_output=True, text=True)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert " passed, " in done.stdout, done.stdout
    return parameters, int(done.stdout.split(" cycles")[0].split()[-1]), folder / "recording.fst"


def replay(parameters: dict, recording: Path) -> tuple[int, str]:
    """Replay at the netlist of cells of the ECP5: exit code of Yosys, and what it says."""
    netlist = synthesise([*elaborate(parameters), *ECP5, *ECP5_MODELS], "write_rtlil", "netlist.il")
    words = [sys.executable, "-m", "tb.support.replay", netlist, recording, f"{BENCH}.u_engine"]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout
