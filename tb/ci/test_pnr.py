# SPDX-License-Identifier: Apache-2.0
"""Small cores go through synthesis, place and route and are as fast as ci/pnr.json says; ci/pnr sees a slow core."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ci import ecp5
from gradcore.files.places import ROOT
from gradcore.sim.sources import core_names
from tb.ci.scripts import script

CONFIGURATIONS = json.loads((ROOT / "ci" / "pnr.json").read_text())
RESULTS = json.loads((ROOT / "ci" / "pnr_results.json").read_text())
FLOORS = {name: entry["floor"] for name, entry in CONFIGURATIONS.items() if "floor" in entry}
PORTS = "module planted (input wire clk, input wire [15:0] a, input wire [15:0] b, output wire [15:0] y);"
FAST = "reg [15:0] y_q; assign y = y_q; always @(posedge clk) y_q <= a ^ b;"
SLOW = """wire [15:0] t [0:8]; assign t[0] = a, y = t[8]; genvar k;
  generate for (k = 0; k < 8; k = k + 1) begin : g_sum assign t[k+1] = {t[k][7:0], t[k][15:8]} + (t[k] ^ b); end
  endgenerate"""
SMALL = ("--25k", "--package", "CABGA381", "--out-of-context")  # a device of 28 multipliers
WIDE = """reg [15:0] t [0:29]; always @* t[0] = a; assign y = t[29]; genvar k;
  generate for (k = 0; k < 29; k = k + 1) begin : g_product always @(posedge clk) t[k+1] <= t[k] * b; end
  endgenerate"""


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A function that writes a core `planted` and returns ci/pnr, which uses one seed and a floor of 100 MHz."""
    pnr = script("pnr")
    for name, file in (("CONFIGURATIONS", "pnr.json"), ("RESULTS", "results.json"), ("PAGE", "clock.md")):
        monkeypatch.setattr(pnr, name, tmp_path / file)
    monkeypatch.setattr(pnr, "SEEDS", (1,))
    monkeypatch.setattr(pnr, "ROOT", tmp_path)
    monkeypatch.setattr(pnr, "sources", lambda core: [tmp_path / f"{core}.v"])
    entry = {"core": "planted", "parameters": {}, "floor": 100}
    (tmp_path / "pnr.json").write_text(json.dumps({"planted": entry, "other": {"core": "other", "parameters": {}}}))

    def plant(text: str):
        (tmp_path / "planted.v").write_text(text)
        return pnr

    return plant


@pytest.fixture
def says(tmp_path, monkeypatch):
    """A function that puts a shell script in nextpnr's place and returns the folder to call it for."""

    def plant(script: str) -> Path:
        monkeypatch.setattr(ecp5, "NEXTPNR", tmp_path / "nextpnr")
        ecp5.NEXTPNR.write_text(f"#!/bin/sh\n{script}\n")
        ecp5.NEXTPNR.chmod(0o755)
        return tmp_path

    return plant


def results(pnr) -> dict:
    return json.loads(Path(pnr.RESULTS).read_text())


@pytest.mark.parametrize("name", FLOORS)
def test_small_cores_reach_their_floor(name):
    """Cell counts as stored, fmax of every seed at least the floor."""
    done = subprocess.run([sys.executable, "ci/pnr", "--check", name], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_floors_lie_below_the_noise():
    assert len(FLOORS) == 3
    for name, floor in FLOORS.items():
        assert 0.7 * min(RESULTS[name]["fmax"]) < floor < 0.85 * min(RESULTS[name]["fmax"]), name


def test_page_shows_the_stored_results():
    assert (ROOT / "doc" / "clock.md").read_text() == script("pnr").page(RESULTS, CONFIGURATIONS)
    assert list(RESULTS) == [name for name in CONFIGURATIONS if name in RESULTS]


def test_every_core_has_a_configuration():
    assert {entry["core"] for entry in CONFIGURATIONS.values()} == set(core_names())


def test_a_long_path_is_below_the_floor(planted, capsys):
    pnr = planted(f"{PORTS} {SLOW} endmodule\n")
    assert pnr.main(["planted"]) == 1
    assert "planted: FAILED, below the floor of 100 MHz" in capsys.readouterr().out
    path = results(pnr)["planted"]["path"]
    assert path["to"] == "output y" and path["lut"] >= 8 and path["carry"] >= 8 and path["mult"] == 0
    assert sum(path["ns"].values()) == pytest.approx(1000 / results(pnr)["planted"]["fmax"][0], abs=0.2)


def test_results_outlive_a_failure_and_first_stays(planted, capsys):
    """The second core has an error; then the first one becomes smaller."""
    pnr = planted(f"{PORTS} {FAST} endmodule\n")
    (pnr.ROOT / "other.v").write_text("module other (input wire clk, output wire y); nothing u_n (); endmodule\n")
    assert pnr.main([]) == 1
    assert "other: FAILED\nERROR" in capsys.readouterr().out
    before = results(pnr)
    assert list(before) == ["planted"] and before["planted"]["first"] == before["planted"]["fmax"]
    assert before["planted"]["cells"] == {"COMB": 17, "FF": 64, "MULT": 0, "EBR": 0}  # 16 and a constant
    assert "Not measured: `other`." in pnr.PAGE.read_text()

    planted(f"{PORTS} {FAST.replace('a ^ b', 'a')} endmodule\n")
    assert pnr.main(["--check", "planted"]) == 1 and "results.json has" in capsys.readouterr().out
    assert pnr.main(["planted"]) == 0
    after = results(pnr)["planted"]
    assert after["cells"]["FF"] == 48 and after["first"] == before["planted"]["fmax"] != after["fmax"]
    assert pnr.main(["--check", "planted"]) == 0


def test_a_core_that_does_not_fit_is_a_result(planted, capsys, monkeypatch):
    monkeypatch.setattr(ecp5, "OPTIONS", SMALL)
    pnr = planted(f"{PORTS} {WIDE} endmodule\n")
    entry = {"core": "planted", "parameters": {}}
    pnr.CONFIGURATIONS.write_text(json.dumps({"planted": entry}))
    assert pnr.main(["planted"]) == 0
    assert "planted: does not fit, too few MULT18X18D" in capsys.readouterr().out
    assert results(pnr) == {"planted": {**entry, "lacks": "MULT18X18D"}}
    assert "does not fit, too few MULT18X18D" in pnr.PAGE.read_text()
    assert pnr.main(["--check", "planted"]) == 0


@pytest.mark.parametrize(
    "text, kind",
    [
        ("Unable to place cell 'u.a[3]', no BELs remaining to implement cell type 'DP16KD'", "DP16KD"),
        ("Unable to find legal placement for cell 'u' of type 'TRELLIS_FF' after 9 attempts, check", "TRELLIS_FF"),
        ("Unable to find legal placement for all cells, design is probably at utilisation limit.", "places"),
        ("failed to place chain starting at cell 'u_core.x'", "places"),
    ],
)
def test_messages_of_a_full_device(text, kind, says):
    with pytest.raises(ecp5.DoesNotFit, match=kind):
        ecp5.nextpnr(says(f"cat <<'END'\nERROR: {text}\nEND\nexit 1"), "seed1", ecp5.OPTIONS)


def test_a_router_without_an_end_is_stopped(says):
    """It goes on for ever, and is told of in the log."""
    lines = 'i=0; while i=$((i + 1)); do echo "Info:     iter=$i wires=1 overused=$((i % 7)) overuse=9"; done'
    folder = says(lines)
    with pytest.raises(ecp5.FlowError, match=f"no end in {ecp5.ROUNDS} rounds"):
        ecp5.nextpnr(folder, "seed1", ecp5.OPTIONS)
    last = (folder / "seed1.log").read_text().splitlines()[-1]
    assert ecp5.ROUND.match(last)[1] == str(ecp5.ROUNDS + 1)


def test_nextpnr_sees_its_folder_alone(says):
    folder = says('echo "$YOWASP_MOUNT"')
    ecp5.nextpnr(folder, "seed1", ecp5.OPTIONS)
    assert (folder / "seed1.log").read_text() == "/=.\n"


def test_another_failure_of_nextpnr_is_an_error(planted, capsys, monkeypatch):
    monkeypatch.setattr(ecp5, "OPTIONS", (*ecp5.OPTIONS, "--no-such-option"))
    assert planted(f"{PORTS} {FAST} endmodule\n").main(["planted"]) == 1
    assert "planted: FAILED" in capsys.readouterr().out


def test_unknown_names(capsys):
    assert script("pnr").main(["gc_nothing", "gc_mac_element"]) == 2
    assert capsys.readouterr().err == "ci/pnr.json has no gc_nothing\n"
