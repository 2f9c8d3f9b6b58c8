# SPDX-License-Identifier: Apache-2.0
"""Registers that go into blocks: which, and that what comes out stays the same, cycle by cycle."""

import copy
import json
import random
import subprocess
import sys

import pytest

from ci.packing import pack
from gradcore.files.places import ROOT

PRODUCT = """module planted (input wire clk, input wire en, input wire rst, input wire signed [15:0] a,
    input wire signed [15:0] b, output wire signed [31:0] y);
  reg signed [15:0] a_q, b_q; reg signed [31:0] y_q; assign y = y_q; wire signed [31:0] p = a_q * b_q;
  always @(posedge clk) begin %s end
endmodule
"""
MEMORY = """module planted (input wire clk, input wire en, input wire we, input wire [9:0] to, input wire [9:0] from,
    input wire [17:0] data, output wire [17:0] y);
  (* no_rw_check, ram_style = "block" *) reg [17:0] memory [0:1023]; reg [17:0] word_q, y_q; assign y = %s;
  always @(posedge clk) begin if (we) memory[to] <= data; word_q <= memory[from]; %s end
endmodule
"""
ALL = {"REG_INPUTA_CLK", "REG_INPUTB_CLK", "REG_OUTPUT_CLK"}


def synthesised(text: str, folder) -> dict:
    (folder / "planted.v").write_text(text)
    steps = f"read_verilog {folder}/planted.v; synth_ecp5 -top planted -json {folder}/planted.json"
    subprocess.run([sys.executable, ROOT / "ci" / "yosys", "-q", "-p", steps], check=True, cwd=ROOT)
    return json.loads((folder / "planted.json").read_text())["modules"]["planted"]


class Block:
    """A register, multiplier or memory of a netlist: the values of its outputs from its state and its inputs."""

    def __init__(self, cell: dict) -> None:
        self.kind, self.parameters, self.wires = cell["type"], cell["parameters"], cell["connections"]
        self.kept, self.memory = {}, {}

    def value(self, port: str, nets: dict, default: int = 0) -> int:
        (bit,) = self.wires.get(port, [str(default)])
        return nets.get(bit, 0) if isinstance(bit, int) else int(bit == "1")

    def word(self, name: str, width: int, nets: dict) -> int:
        return sum(self.value(f"{name}{k}", nets) << k for k in range(width))

    def registered(self, place: str) -> bool:
        return self.parameters.get(f"REG_{place}_CLK", "NONE") == "CLK0"

    def signed(self, side: str, nets: dict) -> int:
        word = self.word(side, 18, nets)
        return word - (1 << 18 if word >> 17 and self.value(f"SIGNED{side}", nets) else 0)

    def outputs(self, nets: dict) -> dict:
        """Values of the outputs, by port."""
        if self.kind == "TRELLIS_FF":
            return {"Q": self.kept.get("Q", 0)}
        if self.kind == "DP16KD":
            place = "out" if self.parameters["REGMODE_" + self.reads()] == "OUTREG" else "word"
            return {f"DO{self.reads()}{k}": self.kept.get(place, 0) >> k & 1 for k in range(18)}
        product = self.kept.get("P", 0) if self.registered("OUTPUT") else self.product(nets)
        return {f"P{k}": product >> k & 1 for k in range(36)}

    def product(self, nets: dict) -> int:
        sides = {"A": "INPUTA", "B": "INPUTB"}
        a, b = (self.kept.get(s, 0) if self.registered(sides[s]) else self.signed(s, nets) for s in sides)
        return a * b & (1 << 36) - 1

    def reads(self) -> str:
        return "B" if self.wires["WEB"] == ["0"] else "A"

    def edge(self, nets: dict) -> None:
        kept = dict(self.kept)
        if self.kind == "TRELLIS_FF":
            if self.value("LSR", nets):
                kept["Q"] = int(self.parameters["REGSET"] == "SET")
            elif self.parameters["CEMUX"] != "CE" or self.value("CE", nets):
                kept["Q"] = self.value("DI", nets)
        elif self.kind == "MULT18X18D":
            new = {"A": self.signed("A", nets), "B": self.signed("B", nets), "P": self.product(nets)}
            for side, place in (("A", "INPUTA"), ("B", "INPUTB"), ("P", "OUTPUT")):
                if self.registered(place) and self.value(self.parameters[f"REG_{place}_CE"], nets):
                    kept[side] = new[side]
        else:
            read = self.reads()
            write = "B" if read == "A" else "A"
            at = {side: self.word(f"AD{side}", 14, nets) >> 4 for side in "AB"}
            if self.value(f"OCE{read}", nets, 1):
                kept["out"] = self.kept.get("word", 0)
            if self.value(f"CE{read}", nets, 1):
                kept["word"] = self.memory.get(at[read], 0)
            if self.value(f"CE{write}", nets, 1) and self.value(f"WE{write}", nets):
                self.memory[at[write]] = self.word(f"DI{write}", 18, nets)
        self.kept = kept


def played(module: dict, inputs: list) -> list:
    """Words of y, one for each dictionary of inputs."""
    blocks, words = [Block(cell) for cell in module["cells"].values() if cell["type"][0] != "$"], []
    for values in inputs:
        nets = {}
        for name, value in values.items():
            nets |= {bit: value >> k & 1 for k, bit in enumerate(module["ports"][name]["bits"])}
        for kind in ("TRELLIS_FF", "DP16KD", "MULT18X18D"):  # a product is of what the others give
            for block in (block for block in blocks if block.kind == kind):
                nets |= {
                    block.wires[port][0]: value for port, value in block.outputs(nets).items() if port in block.wires
                }
        words.append(sum(nets.get(bit, 0) << k for k, bit in enumerate(module["ports"]["y"]["bits"])))
        for block in blocks:
            block.edge(nets)
    return words


def packed(text: str, folder, enables: bool = True) -> tuple:
    """The blocks other than registers and the registers that are left, after the packed netlist has been played."""
    module = synthesised(text, folder)
    before = copy.deepcopy(module)
    pack(module, enables)
    widths = {
        n: len(port["bits"]) for n, port in module["ports"].items() if port["direction"] == "input" and n != "clk"
    }
    inputs = [{name: random.getrandbits(width) for name, width in widths.items()} for _ in range(300)]
    for values in inputs:
        values |= {name: random.choice([0, 5]) for name in ("to", "from") if name in values}
    words = played(before, inputs)
    assert played(module, inputs) == words and len(set(words)) > 50
    cells = list(module["cells"].values())
    return [c for c in cells if c["type"] in ("MULT18X18D", "DP16KD")], [c for c in cells if c["type"] == "TRELLIS_FF"]


@pytest.mark.parametrize(
    "text, inside, left",
    [
        ("a_q <= a; b_q <= b; y_q <= p;", ALL, 0),
        ("if (en) a_q <= a; b_q <= b; if (rst) y_q <= p;", ALL, 0),
        ("a_q <= a; b_q <= b; if (rst) y_q <= 0; else y_q <= p;", ALL - {"REG_OUTPUT_CLK"}, 32),
        ("if (rst) a_q <= 0; else a_q <= a; b_q <= b; y_q <= p;", {"REG_OUTPUT_CLK"}, 32),
        ("a_q[7:0] <= a[7:0]; if (en) a_q[15:8] <= a[15:8]; b_q <= b; y_q <= p;", {"REG_OUTPUT_CLK"}, 32),
        ("a_q <= a; b_q <= b; y_q[15:0] <= p[15:0]; if (en) y_q[31:16] <= p[31:16];", ALL - {"REG_OUTPUT_CLK"}, 32),
        ("a_q <= a; b_q <= a_q; y_q <= p;", ALL, 16),
    ],
)
def test_a_multiplier_takes_the_registers_beside_it(text, inside, left, tmp_path):
    (block,), registers = packed(PRODUCT % text, tmp_path)
    assert {name for name, value in block["parameters"].items() if value == "CLK0"} == inside
    assert len(registers) == left


@pytest.mark.parametrize(
    "text, inside",
    [
        ("a_q <= a; b_q <= b; y_q <= p;", ALL),
        ("if (en) a_q <= a; b_q <= b; y_q <= p;", {"REG_OUTPUT_CLK"}),
        ("a_q <= a; b_q <= b; if (en) y_q <= p;", ALL - {"REG_OUTPUT_CLK"}),
    ],
)
def test_without_enables_free_running_registers_alone(text, inside, tmp_path):
    (block,), _ = packed(PRODUCT % text, tmp_path, enables=False)
    assert {name for name, value in block["parameters"].items() if value == "CLK0"} == inside


def test_what_others_read_stays_outside(tmp_path):
    text = PRODUCT.replace("y = y_q", "y = {y_q[15:0], p[15:0]}") % "a_q <= a; b_q <= b; y_q <= p;"
    (block,), registers = packed(text, tmp_path)
    assert {name for name, value in block["parameters"].items() if value == "CLK0"} == ALL - {"REG_OUTPUT_CLK"}
    assert len(registers) == 16


@pytest.mark.parametrize(
    "shown, text, mode, left",
    [
        ("y_q", "y_q <= word_q;", "OUTREG", 0),
        ("y_q", "if (en) y_q <= word_q;", "OUTREG", 0),
        ("word_q", "y_q <= word_q;", "NOREG", 0),
        ("{y_q[17:9], word_q[8:0]}", "y_q <= word_q;", "NOREG", 9),
    ],
)
def test_a_memory_takes_the_register_behind_it(shown, text, mode, left, tmp_path):
    (block,), registers = packed(MEMORY % (shown, text), tmp_path)
    assert {block["parameters"][f"REGMODE_{side}"] for side in "AB"} == {"NOREG", mode}
    assert len(registers) == left
