# SPDX-License-Identifier: Apache-2.0
"""Every core passes four linters, and each linter is seen to find the defect it is there for."""

import re
import subprocess
import sys

import pytest

from gradcore.sources import ROOT, core_names
from tb.support.lint import commands_of, findings_of, lint_core

# defect: (linter that has to find it, a word of its message, body of a module with ports clk, a, b, y)
DEFECTS = {
    "two_drivers": ("yosys", "conflicting drivers", "reg q; always @(posedge clk) q <= a[0]; always @(posedge clk) q <= b[0]; assign y = {8{q}};"),
    "latch": ("verilator", "LATCH", "reg [7:0] q; always @* if (a[0]) q = b; assign y = q;"),
    "width": ("verilator", "WIDTH", "wire [3:0] part = b[3:0]; assign y = a + part;"),
    "unused_bits": ("verilator", "UNUSED", "assign y = {8{a[0]}};"),
    "use_before_declaration": ("slang", "before its declaration", "assign y = a & late; wire [7:0] late = b;"),
    "mixed_signs": ("slang", "sign", "wire signed [7:0] s = a; assign y = s & b;"),
    "loop": ("yosys", "loop", "wire [7:0] t = y & a; assign y = t | b;"),
    "implicit_wire": ("icarus", "typo", "assign y = a & b & {8{typo}};"),
    "missing_module": ("icarus", "gone", "gone u_gone (.x(a)); assign y = b;"),
}


@pytest.mark.parametrize("core", core_names())
def test_core_is_clean(core):
    findings = lint_core(core)
    assert not findings, "\n".join(f"--- {tool}\n{output}" for tool, output in findings.items())


@pytest.mark.parametrize("defect", DEFECTS)
def test_planted_defect_is_found(defect, tmp_path):
    linter, word, body = DEFECTS[defect]
    (tmp_path / "planted.v").write_text(
        "`default_nettype none\nmodule planted (input wire clk, input wire [7:0] a, input wire [7:0] b, output wire [7:0] y);\n"
        f"{body}\nwire _unused = &{{1'b0, clk{', b' if 'b' not in body else ''}}};\nendmodule\n`default_nettype wire\n")
    found = findings_of({name: command for name, command in commands_of(["planted.v"], ["planted"]).items()
                         if name.startswith(linter)}, tmp_path)
    assert word in "".join(found.values()), found


def test_every_core_has_a_lint_target():
    for core in core_names():
        text = (ROOT / "rtl" / core / f"{core}.core").read_text()
        assert "\n  lint:" in text and "license: Apache-2.0" in text, core


def test_no_source_waives_a_warning():
    """A finding is mended, not silenced."""
    sources = [f for f in (ROOT / "rtl").rglob("*.v") if any(w in f.read_text() for w in ("lint_off", "verilator ", "synopsys "))]
    assert not sources


def test_every_source_belongs_to_its_core():
    """A file that no core names is checked by nobody."""
    for core in core_names():
        text = (ROOT / "rtl" / core / f"{core}.core").read_text()
        forgotten = [f.name for f in (ROOT / "rtl" / core).glob("*.v") if f"- {f.name}" not in text]
        assert not forgotten, f"{core}: {forgotten}"


def test_command_reports_an_unknown_core():
    done = subprocess.run([sys.executable, ROOT / "ci" / "lint", "no_such_core"], capture_output=True, text=True)
    assert done.returncode != 0 and "FuseSoC finds no core gradcore:ip:no_such_core" in done.stderr


def test_no_command_writes_to_the_null_device():
    """Icarus makes its output file executable: as root, `-o /dev/null` takes the device from everybody else."""
    scripts = [*(ROOT / "ci").iterdir(), *(ROOT / "tb" / "support").glob("*.py"), *(ROOT / "model").rglob("*.py")]
    assert not [f for f in scripts if f.is_file() and re.search(r"os\.devnull|-o\W+/dev/null", f.read_text(errors="replace"))]
