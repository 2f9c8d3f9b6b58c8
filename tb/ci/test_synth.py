# SPDX-License-Identifier: Apache-2.0
"""Cell counts are what ci/resources.json says, and ci/synth refuses what must not be synthesised."""

import json
import subprocess
import sys

import pytest

from ci import clock
from ci.levels import families
from gradcore.files.places import ROOT
from gradcore.sim.sources import sources
from tb.ci.scripts import script
from tb.support.cases import long

CONFIGURATIONS = json.loads((ROOT / "ci" / "synth.json").read_text())
LONG = ("gc_mem_arbiter", "gc_dma_reader", "gc_dma_writer", "gc_memory_guard")
PORTS = "module planted (input wire clk, input wire [7:0] a, output wire [7:0] y);"


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A function that writes a module `planted` and returns ci/synth, which finds nothing else."""
    synth = script("synth")
    monkeypatch.setattr(synth, "ROOT", tmp_path)
    monkeypatch.setattr(synth, "sources", lambda core: [tmp_path / "planted.v"])

    def plant(text: str):
        (tmp_path / "planted.v").write_text(text)
        return synth

    return plant


@pytest.mark.parametrize("name", [long(n) if n in LONG else n for n, c in CONFIGURATIONS.items() if not c.get("slow")])
def test_cell_counts(name):
    done = subprocess.run([sys.executable, "ci/synth", "--check", name], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_table_shows_the_stored_counts():
    resources = json.loads((ROOT / "ci" / "resources.json").read_text())
    clocks = json.loads(clock.FIGURES.read_text())
    assert (ROOT / "doc" / "resources.md").read_text() == script("synth").table(resources, clocks)
    assert list(resources) == list(CONFIGURATIONS) and set(clocks) < set(CONFIGURATIONS)


@pytest.mark.parametrize(
    "text, word",
    [
        ("reg [7:0] q; always @* if (a[0]) q = a; assign y = q;", "selection is not empty: t:.dlatch"),
        ("wire [7:0] t = y & a; assign y = t | a;", "loop"),
        ("wire [7:0] z; inner u_one (.i(z), .o(y)); inner u_two (.i(y), .o(z));", "loop"),
        (
            "reg q; always @(posedge clk) q <= a[0]; always @(posedge clk) q <= a[1]; assign y = {8{q}};",
            "conflicting drivers",
        ),
    ],
)
def test_refuses(text, word, planted):
    inner = "module inner (input wire [7:0] i, output wire [7:0] o); assign o = ~i; endmodule\n"
    synth = planted(f"{inner}{PORTS} {text} endmodule\n")
    with pytest.raises(synth.SynthesisError, match=word):
        synth.synthesise("planted", "planted", {})


def test_counts_parameters_of_the_configuration(planted):
    synth = planted(
        "module planted #(parameter N = 1) (input wire clk, input wire [N-1:0] a, output reg [N-1:0] y);\n"
        "always @(posedge clk) y <= a;\nendmodule\n"
    )
    assert [synth.synthesise("planted", "planted", {"N": n})["cells"]["FF"] for n in (3, 5)] == [3, 5]


CHAIN = """module half (input wire clk, input wire [5:0] x, output wire p, output reg q);
  assign p = ^x;
  always @(posedge clk) q <= p;
endmodule
module planted (input wire clk, input wire [5:0] a, output wire y);
  reg [5:0] r;
  wire p;
  wire [5:0] t;
  always @(posedge clk) r <= a;
  half u_one (.clk(clk), .x(r), .p(p), .q(t[5]));
  assign t[4:0] = {5{p}} ^ a[4:0];
  half u_two (.clk(clk), .x({t[4:0], p}), .p(y), .q());
endmodule
"""


def test_levels_through_the_hierarchy(planted, monkeypatch):
    """From r through the first half's LUT, one of its own for t and the second half's into its register."""
    synth = planted(CHAIN)
    assert synth.synthesise("planted", "planted", {})["levels"] == 3
    monkeypatch.setattr(synth, "MOST_LEVELS", 2)
    with pytest.raises(synth.SynthesisError, match="planted: 3 levels from r.* more than 2"):
        synth.synthesise("planted", "planted", {})


SUM = """module planted (input wire clk, input wire [23:0] a, input wire [23:0] b, output reg [23:0] y);
  reg [23:0] p, q;
  always @(posedge clk) begin
    p <= a;
    q <= b;
    y <= p + (q ^ {q[22:0], q[23]});
  end
endmodule
"""


def test_a_path_has_levels_carry_bits_and_a_time(planted):
    """From the lowest bit through one LUT and along the whole chain."""
    synth = planted(SUM)
    rows = synth.synthesise("planted", "planted", {})["clock"]["planted"]
    assert set(rows) == set(families())
    for family, delays in families().items():
        row, ns = rows[family], delays.register + delays.lut + delays.chain + 24 * delays.carry
        assert (row["levels"], row["carry"], row["mhz"]) == (1, 24, round(1000 / ns))
        assert row["from"].startswith(("p[", "q[")) and row["to"] == "y[23]"


def test_a_module_that_got_slower_is_named():
    row = {"mhz": 300, "levels": 4, "carry": 9, "from": "a_q", "to": "b_q"}
    stored = {"planted": {"stratix10": row}, "gone": {"stratix10": row}}
    assert not list(clock.slower(stored, {"planted": {"stratix10": row | {"mhz": 301}}, "new": {"stratix10": row}}))
    (message,) = clock.slower(stored, {"planted": {"stratix10": row | {"mhz": 299}}})
    assert message == "planted: 299 MHz on stratix10, 300 before: 4 levels, 9 carry bits, a_q -> b_q"


def test_counts_every_cell_or_says_which_it_does_not_know():
    synth = script("synth")
    counts = synth.count({"LUT6": 3, "LUT2": 1, "RAMB18E2": 3, "RAM32M": 2, "FDRE": 7, "INV": 5, "DSP48E2": 1})
    assert (
        counts["LUT"] == 4
        and counts["BRAM"] == 1.5
        and counts["LUTRAM"] == 8
        and counts["FF"] == 7
        and counts["DSP"] == 1
    )
    with pytest.raises(synth.SynthesisError, match="XYZ"):
        synth.count({"XYZ": 1})


def test_families_have_cells_and_tables_of_their_own(planted):
    synth = script("synth")
    assert synth.count(
        {"MISTRAL_ALUT5": 3, "MISTRAL_ALUT_ARITH": 2, "MISTRAL_NOT": 1, "MISTRAL_M10K": 1}, "cyclonev"
    ) == {"ALUT": 3, "ARITH": 2, "FF": 0, "DSP": 0, "M10K": 1}
    with pytest.raises(synth.SynthesisError, match="LUT6"):
        synth.count({"LUT6": 1}, "cyclonev")
    synth = planted(
        "module planted (input wire clk, input wire [15:0] a, input wire [15:0] b, output reg [31:0] y);\n"
        "always @(posedge clk) y <= a * b;\nendmodule\n"
    )
    entry = {"core": "planted", "parameters": {}, "top": "planted", "family": "cyclonev"}
    entry |= synth.synthesise("other", "planted", {}, "planted", "cyclonev")
    assert entry["cells"] == {"ALUT": 0, "ARITH": 0, "FF": 32, "DSP": 0.5, "M10K": 0}
    first, second = synth.table({"other": entry}, {}).split("## Stand-in for Stratix 10")
    assert "planted" not in first and "| planted | planted |  |  |  | 32 | 0.5 |  |" in second


def yosys(folder, name, commands):
    """Run commands through ci/yosys_script.py: (exit code, output)."""
    (folder / f"{name}.ys").write_text(commands)
    done = subprocess.run(
        [sys.executable, script("synth").YOSYS, f"{name}.ys"], cwd=folder, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_modules_mapped_by_themselves_give_the_cells_of_the_whole(tmp_path):
    """The commands of ci/synth, with map_luts written out, against synth_xilinx in one go."""
    read = f"read_verilog {' '.join(map(str, sources('weight_buffer')))}\n"
    read += "chparam -set COLS 8 -set DEPTH 128 -set GROUPS 2 gc_weight_buffer\n"
    read += "hierarchy -top gc_weight_buffer\nrename -top gc_weight_buffer\n"
    cells = {}
    for name, commands in (
        ("parts", script("synth").COMMANDS["xcup"]),
        ("whole", "synth_xilinx -family xcup -noiopad -top {top}"),
    ):
        code, text = yosys(
            tmp_path,
            name,
            f"{read}{commands.format(top='gc_weight_buffer')}\ntee -q -o {name}.json stat -hierarchy -json\n",
        )
        assert code == 0, text
        cells[name] = json.loads((tmp_path / f"{name}.json").read_text())["design"]["num_cells_by_type"]
    assert cells["parts"] == cells["whole"] and "LUT6" in cells["whole"]


def test_a_module_that_cannot_be_mapped_ends_the_script(tmp_path):
    (tmp_path / "planted.v").write_text(CHAIN)
    code, text = yosys(
        tmp_path,
        "planted",
        "read_verilog planted.v\nsynth_xilinx -run begin:map_luts -top planted\n"
        "abc9 -lut nothing\nwrite_json planted.json\n",
    )
    assert code and "ERROR" in text and not (tmp_path / "planted.json").exists()
