# SPDX-License-Identifier: Apache-2.0
"""ci/bitstream on a board that has two pins and a clock: a bitstream comes out, or says why not."""

import json

import pytest

from ci import ecp5
from tb.ci.scripts import script

BLINK = """module gc_planted (input wire clk, output wire led);
  reg [{high}:0] count_q; assign led = count_q[{high}];
  always @(posedge clk) count_q <= count_q + 1;
endmodule
"""
LPF = """LOCATE COMP "clk" SITE "G2";
FREQUENCY PORT "clk" {mhz} MHZ;
LOCATE COMP "led" SITE "{site}";
"""


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A function that writes the board `planted` and calls ci/bitstream on it."""
    bitstream = script("bitstream")
    monkeypatch.setattr(bitstream, "ROOT", tmp_path)
    monkeypatch.setattr(bitstream, "BOARDS", {"planted": ("core", "CABGA381")})
    monkeypatch.setattr(bitstream, "sources", lambda core: [])
    folder = tmp_path / "boards" / "planted"
    folder.mkdir(parents=True)

    def make(site: str = "B2", high: int = 7, mhz: int = 25):
        (folder / "gc_planted.v").write_text(BLINK.format(high=high))
        (folder / "planted.lpf").write_text(LPF.format(site=site, mhz=mhz))
        return bitstream.main(["planted"]), tmp_path / "build" / "bitstream" / "planted.bit"

    return make


def test_makes_a_bitstream(planted, capsys):
    code, bit = planted()
    assert code == 0 and bit.read_bytes()[:2] == b"\xff\0"
    said = capsys.readouterr().out
    assert said.startswith(f"build/bitstream/planted.bit: {bit.stat().st_size} bytes, COMB ") and said.endswith(
        " MHz of 25\n"
    )
    assert json.loads(bit.with_suffix(".json").read_text())["utilization"]["TRELLIS_FF"]["used"] == 8
    before = bit.read_bytes()
    assert planted()[0] == 0 and bit.read_bytes() == before
    assert planted(high=9)[0] == 0 and bit.read_bytes() != before


def test_nextpnr_is_told_nothing_of_the_machine(planted, tmp_path):
    """It would route otherwise elsewhere."""
    planted()
    folder = tmp_path / "build" / "pnr" / "planted"
    mapped, netlist = ((folder / name).read_text() for name in ("mapped.json", "netlist.json"))
    assert "/pyosys/share/" in mapped and '"+/' in netlist
    assert "pyosys" not in netlist and str(tmp_path) not in netlist


@pytest.mark.parametrize(
    "change, margin, text",
    [
        ({"site": "ZZ99"}, 1.0, "ZZ99"),
        ({"high": 15, "mhz": 900}, 1.0, "no end in 250 rounds: another seed may, or a lower clock"),
        ({"high": 15, "mhz": 900}, 0.1, "(FAIL at 900."),
    ],
)
def test_says_why_there_is_none(planted, capsys, monkeypatch, change, margin, text):
    assert planted()[0] == 0
    monkeypatch.setattr(ecp5, "MARGIN", margin)
    code, bit = planted(**change)
    assert code == 1 and not bit.exists() and text in capsys.readouterr().err
