# SPDX-License-Identifier: Apache-2.0
"""Every piece passes four linters in both languages, and each linter is seen to find the defect it is there for. Python
passes ruff and mypy."""

import re
import subprocess
import sys

import pytest

from gradcore.files.places import ROOT
from gradcore.sim.sources import core_names
from tb.support.lint import Piece, commands, findings_of, lint, modules, pieces

# defect: (linter that has to find it, a word of its message, body of a module with ports clk, a, b, y)
DEFECTS = {
    "two_drivers": (
        "yosys 2005",
        "conflicting drivers",
        "reg q; always @(posedge clk) q <= a[0]; always @(posedge clk) q <= b[0]; assign y = {8{q}};",
    ),
    "latch": ("verilator", "LATCH", "reg [7:0] q; always @* if (a[0]) q = b; assign y = q;"),
    "width": ("verilator", "WIDTH", "wire [3:0] part = b[3:0]; assign y = a + part;"),
    "unused_bits": ("verilator", "UNUSED", "assign y = {8{a[0]}};"),
    "use_before_declaration": ("slang", "before its declaration", "assign y = a & late; wire [7:0] late = b;"),
    "mixed_signs": ("slang", "sign", "wire signed [7:0] s = a; assign y = s & b;"),
    "loop": ("yosys 2005", "loop", "wire [7:0] t = y & a; assign y = t | b;"),
    "implicit_wire": ("icarus", "typo", "assign y = a & b & {8{typo}};"),
    "missing_module": ("icarus", "gone", "gone u_gone (.x(a)); assign y = b;"),
    # SystemVerilog alone: each tool for itself. Icarus and Yosys name the line.
    "keyword_verilator": ("verilator SystemVerilog", "inside", "wire [7:0] inside = a; assign y = inside & b;"),
    "keyword_icarus": ("icarus SystemVerilog", "v:4: syntax error", "wire [7:0] inside = a; assign y = inside & b;"),
    "keyword_yosys": ("yosys SystemVerilog", "v:4: ERROR: syntax", "wire [7:0] logic = a; assign y = logic & b;"),
    "keyword_slang": ("slang", "inside", "wire [7:0] inside = a; assign y = inside & b;"),
    "start_value": (
        "verilator SystemVerilog",
        "PROCASSINIT",
        "reg [7:0] q = 8'd0; always @(posedge clk) q <= a & b; assign y = q;",
    ),
}
# IEEE 1800-2017, table B.1, without the words that 1364-2005 reserves.
KEYWORDS = [
    "accept_on",
    "alias",
    "always_comb",
    "always_ff",
    "always_latch",
    "assert",
    "assume",
    "before",
    "bind",
    "bins",
    "binsof",
    "bit",
    "break",
    "byte",
    "chandle",
    "checker",
    "class",
    "clocking",
    "const",
    "constraint",
    "context",
    "continue",
    "cover",
    "covergroup",
    "coverpoint",
    "cross",
    "dist",
    "do",
    "endchecker",
    "endclass",
    "endclocking",
    "endgroup",
    "endinterface",
    "endpackage",
    "endprogram",
    "endproperty",
    "endsequence",
    "enum",
    "eventually",
    "expect",
    "export",
    "extends",
    "extern",
    "final",
    "first_match",
    "foreach",
    "forkjoin",
    "global",
    "iff",
    "ignore_bins",
    "illegal_bins",
    "implements",
    "implies",
    "import",
    "inside",
    "int",
    "interconnect",
    "interface",
    "intersect",
    "join_any",
    "join_none",
    "let",
    "local",
    "logic",
    "longint",
    "matches",
    "modport",
    "nettype",
    "new",
    "nexttime",
    "null",
    "package",
    "packed",
    "priority",
    "program",
    "property",
    "protected",
    "pure",
    "rand",
    "randc",
    "randcase",
    "randsequence",
    "ref",
    "reject_on",
    "restrict",
    "return",
    "s_always",
    "s_eventually",
    "s_nexttime",
    "s_until",
    "s_until_with",
    "sequence",
    "shortint",
    "shortreal",
    "soft",
    "solve",
    "static",
    "string",
    "strong",
    "struct",
    "super",
    "sync_accept_on",
    "sync_reject_on",
    "tagged",
    "this",
    "throughout",
    "timeprecision",
    "timeunit",
    "type",
    "typedef",
    "union",
    "unique",
    "unique0",
    "until",
    "until_with",
    "untyped",
    "var",
    "virtual",
    "void",
    "wait_order",
    "weak",
    "wildcard",
    "with",
    "within",
]
PIECES = pieces()


@pytest.mark.parametrize("name", PIECES)
def test_is_clean(name):
    findings = lint(PIECES[name])
    assert not findings, "\n".join(f"--- {tool}\n{output}" for tool, output in findings.items())


def plant(folder, body):
    unused = "" if re.search(r"\bb\b", body) else ", b"
    (folder / "planted.v").write_text(
        "`default_nettype none\nmodule planted (\n"
        "input wire clk, input wire [7:0] a, input wire [7:0] b, output wire [7:0] y);\n"
        f"{body}\nwire _unused = &{{1'b0, clk{unused}}};\nendmodule\n`default_nettype wire\n"
    )
    return commands(Piece(("planted.v",)), folder)


@pytest.mark.parametrize("defect", DEFECTS)
def test_planted_defect_is_found(defect, tmp_path):
    linter, word, body = DEFECTS[defect]
    planted = {name: command for name, command in plant(tmp_path, body).items() if name.startswith(linter)}
    assert planted and word in "".join(findings_of(planted, tmp_path).values()), findings_of(planted, tmp_path)


def test_every_keyword_of_systemverilog_is_found(tmp_path):
    """As the name of a wire; Verilog-2005 allows it."""
    clean = []
    for word in ["insides", *KEYWORDS]:
        planted = plant(tmp_path, f"wire [7:0] {word} = a & b; assign y = {word};")
        clean += [word] * (findings_of({"": planted["icarus SystemVerilog"]}, tmp_path) == {})
    assert clean == ["insides"]


def test_every_module_has_the_prefix_and_a_file_of_its_name():
    """A library shares its name space with the user's design. Models of a device's blocks have the block's name."""
    files = [f.relative_to(ROOT) for f in ROOT.rglob("*.v") if f.relative_to(ROOT).parts[0] != "build"]
    assert len(files) > 100
    assert not {str(f): modules([f]) for f in files if modules([f]) != [f.stem]}
    assert not [str(f) for f in files if f.parent.name != "primitives" and not f.stem.startswith("gc_")]


def test_no_line_is_longer_than_120_characters():
    """No module of a core is longer than 300 lines, and half of them not longer than 120."""
    files = [f for f in ROOT.rglob("*.v") if f.relative_to(ROOT).parts[0] != "build"]
    assert not [str(f) for f in files if max(map(len, f.read_text().splitlines())) > 120]
    lengths = sorted(len(f.read_text().splitlines()) for f in (ROOT / "rtl").rglob("*.v") if f.parent.name != "sim")
    assert lengths[-1] <= 300 and lengths[len(lengths) // 2] <= 120


def test_no_python_file_is_long():
    """None has more than 350 lines, and half of them not more than 150."""
    folders = ("model", "tb", "ci", "examples", "formal")
    files = [f for folder in folders for f in (ROOT / folder).rglob("*.py")] + [
        f for f in (ROOT / "ci").iterdir() if not f.suffix and f.is_file()
    ]
    lengths = sorted((len(f.read_text().splitlines()), str(f)) for f in files)
    assert lengths[-1][0] <= 350, lengths[-1]
    assert lengths[len(lengths) // 2][0] <= 150


def test_every_core_has_a_lint_target():
    for core in core_names():
        text = (ROOT / "rtl" / core / f"{core}.core").read_text()
        assert "\n  lint:" in text and "license: Apache-2.0" in text, core


def test_no_source_waives_a_warning():
    """A finding is mended, not silenced."""
    sources = [
        f
        for folder in ("rtl", "tb", "examples", "boards")
        for f in (ROOT / folder).rglob("*.v")
        if any(w in f.read_text() for w in ("lint_off", "verilator ", "synopsys "))
    ]
    assert not sources


def test_every_source_belongs_to_its_core():
    """A file that no core names is checked by nobody."""
    for core in core_names():
        text = (ROOT / "rtl" / core / f"{core}.core").read_text()
        files = [f.relative_to(ROOT / "rtl" / core) for f in (ROOT / "rtl" / core).rglob("*.v")]
        forgotten = [f for f in files if f"- {f}\n" not in text]
        assert not forgotten, f"{core}: {forgotten}"


def test_command_reports_an_unknown_core():
    done = subprocess.run([sys.executable, ROOT / "ci" / "lint", "no_such_core"], capture_output=True, text=True)
    assert done.returncode == 2 and "no_such_core" in done.stderr and "mac_array" in done.stderr


def clean(*command):
    """Run a linter of Python over the whole repository."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_python_is_formatted_and_without_findings_of_ruff():
    clean("ruff", "check", "--output-format", "concise", ".")
    clean("ruff", "format", "--check", ".")


def test_python_is_typed():
    clean("mypy")


def test_no_command_writes_to_the_null_device():
    """Icarus makes its output file executable: as root, `-o /dev/null` takes the device from everybody else."""
    scripts = [*(ROOT / "ci").iterdir(), *(ROOT / "tb" / "support").glob("*.py"), *(ROOT / "model").rglob("*.py")]
    texts = {f: f.read_text(errors="replace") for f in scripts if f.is_file()}
    assert not [f for f, text in texts.items() if re.search(r"os\.devnull|-o\W+/dev/null", text)]
