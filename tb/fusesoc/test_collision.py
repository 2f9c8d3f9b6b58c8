# SPDX-License-Identifier: Apache-2.0
"""A user's design whose modules have common names, beside gradcore and a library in SystemVerilog: nothing collides.

The project is written here and run by FuseSoC. It has a module `loss`, `control`, .. for every `gc_loss`, `gc_control`,
.. with the same parameters and ports, and others of names that everybody uses; its bench looks whose modules it got and
runs gradcore's bench of gc_loss, which must get gradcore's."""

import re

import pytest

from gradcore.files.places import ROOT
from tb.fusesoc.conftest import copy_of_library, plant

USER, LIBRARY = "example:user:collision:1.0.0", "other:lib:common:2.0.0"
# Instantiated in the bench: they say whose they are. The library's are SystemVerilog with a package and a class.
OF_THE_USER = ["control", "engine", "counters", "drain", "loss", "update", "weights", "dispatch", "ram_sdp", "fifo"]
OF_THE_LIBRARY = ["axi_ram", "stream_fifo", "arbiter", "stream_register", "mac_array"]
CORE = """CAPI=2:
name: "{name}"
filesets:
  rtl:
    files: [{files}]
    file_type: {language}
    depend: [{depend}]
"""
TARGETS = """  bench:
    files:
      - gc_loss_tb.v: {file_type: verilogSource}
      - collision_tb.v: {file_type: verilogSource}
      - gc_loss_tb.hex: {file_type: user, copyto: gc_loss_tb.hex}
    depend: ["gradcore:tb:player:0.1.0"]
targets:
  default: {filesets: [rtl]}
  icarus:
    filesets: [rtl, bench]
    flow: sim
    flow_options: {tool: icarus, iverilog_options: ["-g2012"]}
    toplevel: collision_tb
  verilator:
    filesets: [rtl, bench]
    flow: sim
    flow_options: {tool: verilator, mode: binary, verilator_options: ["--timing"]}
    toplevel: collision_tb
"""
SYSTEM_VERILOG = """package common_pkg;
    typedef enum logic [1:0] {IDLE, BUSY} state_t;
    class counter;
        int count = 0;
    endclass
endpackage
"""


def shells():
    """Modules of the former names with gradcore's parameters and ports; they do nothing."""
    for file in sorted(f for f in (ROOT / "rtl").rglob("*.v") if f.parent.name != "sim"):
        name = file.stem.removeprefix("gc_")
        if name not in OF_THE_USER + OF_THE_LIBRARY:
            (head,) = re.findall(rf"^module gc_{name}\b.*?^\);\n", file.read_text(), re.M | re.S)
            yield head.replace(f"gc_{name}", name, 1) + "endmodule\n"


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    whose = '(output wire [63:0] whose); assign whose = "user"; endmodule'
    own = "".join(f"module {name} {whose}\n" for name in OF_THE_USER)
    (folder / "common.v").write_text(own + "".join(shells()))
    other = "".join(
        f"module {name} import common_pkg::*; (output logic [63:0] whose);\nstate_t state; counter c;\n"
        "initial begin c = new; c.count = c.count + 1; state = BUSY;\n"
        'whose = state == BUSY && c.count == 1 ? "library" : ""; end\nendmodule\n'
        for name in OF_THE_LIBRARY
    )
    (folder / "common.sv").write_text(SYSTEM_VERILOG + other)
    names = [(name, "user") for name in OF_THE_USER] + [(name, "library") for name in OF_THE_LIBRARY]
    (folder / "collision_tb.v").write_text(
        "\n".join(
            [
                "module collision_tb;",
                "gc_loss_tb u_gradcore ();",
                *(f"wire [63:0] whose_{name}; {name} u_{name} (.whose(whose_{name}));" for name, _ in names),
                "initial begin #1;",
                *(
                    f'if (whose_{name} !== "{owner}") begin $display("{name}: not of the {owner}"); $fatal; end'
                    for name, owner in names
                ),
                'if (u_gradcore.u_loss.DW !== 12) $fatal; $display("collision: everybody has his own"); end',
                "endmodule",
                "",
            ]
        )
    )
    for file in ("gc_loss_tb.v", "gc_loss_tb.hex"):
        (folder / file).write_text((ROOT / "rtl" / "loss" / "sim" / file).read_text())
    library = CORE.format(name=LIBRARY, files="common.sv", language="systemVerilogSource", depend="")
    (folder / "library.core").write_text(library + "targets:\n  default: {filesets: [rtl]}\n")
    depend = f'"~gradcore:ip:gradcore:0.1.0", "{LIBRARY}"'
    user = CORE.format(name=USER, files="common.v", language="verilogSource", depend=depend)
    (folder / "user.core").write_text(user + TARGETS)
    return folder


def simulate(fusesoc, project, tool, root=ROOT):
    return fusesoc("--cores-root", root, "--cores-root", ".", "run", "--clean", f"--target={tool}", USER, cwd=project)


def test_the_shells_are_gradcores_modules():
    assert len(list(shells())) > 60


@pytest.mark.parametrize("tool", ["icarus", "verilator"])
def test_nothing_collides(tool, project, fusesoc):
    done = simulate(fusesoc, project, tool)
    assert done.returncode == 0 and "gc_loss_tb: passed" in done.stdout, done.stdout[-3000:]
    assert "collision: everybody has his own" in done.stdout, done.stdout[-3000:]


@pytest.mark.parametrize("tool", ["icarus", "verilator"])
def test_a_module_without_prefix_collides(tool, project, fusesoc, tmp_path):
    """gc_loss_lane with its old name: the user's module has its ports."""
    root = copy_of_library(tmp_path / "gradcore")
    for file in ("gc_loss", "gc_loss_lane"):
        plant(root / "rtl" / "loss" / f"{file}.v", "gc_loss_lane #(", "loss_lane #(")
    done = simulate(fusesoc, project, tool, root)
    assert done.returncode != 0 and "loss_lane" in done.stdout and "everybody" not in done.stdout, done.stdout[-3000:]
