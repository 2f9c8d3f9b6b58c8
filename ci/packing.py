# SPDX-License-Identifier: Apache-2.0
"""Registers beside a multiplier or a block RAM of the ECP5 go into it: Yosys leaves them outside.

MULT18X18D has registers at A and B and one at the product, DP16KD one at each port's word (FPGA-TN-02205 and
FPGA-TN-02204). A register goes in if it has no reset, all its bits have one clock and one enable, and, behind a block,
nothing else reads what it reads. What the netlist computes stays the same, in every cycle.
"""

import json
import re
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

# A multiplier's registers: their names in its parameters, their enables, and the control inputs that stay 0. Registers
# without an enable share CE0.
PLACES = {"A": "INPUTA", "B": "INPUTB", "P": "OUTPUT"}
ENABLES = {"A": "CE1", "B": "CE2", "P": "CE3"}
ALWAYS = "1"  # the enable of a register without one
REST = ("CLK1", "CLK2", "CLK3", "CE1", "CE2", "CE3", "RST0", "RST1", "RST2", "RST3")
SHARE = str(Path(find_spec("pyosys").origin).with_name("share"))  # Yosys's own files, +/ in its scripts


class Registers:
    """The registers of a module of one clock that fit a block, by what drives and what reads their nets."""

    def __init__(self, module: dict, enables: bool) -> None:
        self.cells, self.driver, self.readers = module["cells"], {}, defaultdict(list)
        self.enables = enables  # may a register in a multiplier have one?
        self.free = set()  # the registers of `driver`
        begun = {bit for net in module["netnames"].values() if "init" in net["attributes"] for bit in net["bits"]}
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                for bit in bits:
                    if cell["port_directions"][port] == "input":
                        self.readers[bit].append((name, port))
                    elif port == "Q" and self.fits(cell) and bit not in begun:
                        self.driver[bit] = name
                        self.free.add(name)
        for port in module["ports"].values():
            for bit in port["bits"]:
                self.readers[bit].append((None, "output"))

    @staticmethod
    def fits(cell: dict) -> bool:
        """Is it a register without a reset, at the rising edge?"""
        wires, modes = cell["connections"], cell["parameters"]
        if cell["type"] != "TRELLIS_FF" or (modes["CLKMUX"], modes["LSRMUX"]) != ("CLK", "LSR"):
            return False
        return wires.get("LSR", ["0"]) == ["0"] and modes["CEMUX"] in ("CE", "1 ")

    def control(self, name: str) -> tuple:
        """Clock and enable."""
        wires = self.cells[name]["connections"]
        return wires["CLK"][0], wires["CE"][0] if self.cells[name]["parameters"]["CEMUX"] == "CE" else ALWAYS

    def behind(self, bits: list) -> dict | None:
        """{net: register} of the nets of a block's output that something reads, if a register is all that does, and
        those have one control. None otherwise."""
        found = {}
        for bit in bits:
            if not self.readers[bit]:
                continue
            (name, port), *others = self.readers[bit]
            if others or port != "DI" or name not in self.free:
                return None
            found[bit] = name
        return found if len({self.control(name) for name in found.values()}) == 1 else None

    def before(self, bits: list) -> dict | None:
        """{net: register} of the nets of a block's input, if each is 0 or a register's, and those have one control."""
        found = {bit: self.driver.get(bit) for bit in bits if bit != "0"}
        if not found or None in found.values():
            return None
        return found if len({self.control(name) for name in found.values()}) == 1 else None

    def fit(self, found: dict | None) -> bool:
        """Are there registers, and may they go into a multiplier?"""
        return bool(found) and (self.enables or self.control(next(iter(found.values())))[1] == ALWAYS)

    def take_behind(self, cell: dict, found: dict) -> tuple:
        """The block's output is that of the registers, which are gone. Returns their control."""
        control = self.control(next(iter(found.values())))
        for port, (bit,) in cell["connections"].items():
            if cell["port_directions"][port] == "output" and bit in found:
                (word,) = cell["connections"][port] = self.cells.pop(found[bit])["connections"]["Q"]
                del self.driver[word]
        return control

    def take_before(self, name: str, ports: list, found: dict) -> tuple:
        """The block reads what the registers read. Those that nobody else reads are gone. Returns their control."""
        control, wires = self.control(next(iter(found.values()))), self.cells[name]["connections"]
        for port in ports:
            if (bit := wires[port][0]) in found:
                data = self.cells[found[bit]]["connections"]["DI"][0]
                wires[port] = [data]
                self.readers[bit].remove((name, port))
                self.readers[data].append((name, port))
        for bit, register in found.items():
            if not self.readers[bit]:
                del self.driver[bit]
                data = self.cells.pop(register)["connections"]["DI"][0]
                self.readers[data].remove((register, "DI"))
        return control


def pack_multiplier(name: str, registers: Registers) -> None:
    cell = registers.cells[name]
    wires, parameters = cell["connections"], cell["parameters"]
    if any(value == "CLK0" for value in parameters.values()):
        return  # the RTL names the multiplier with its registers
    ports = {side: [port for port in wires if re.fullmatch(rf"{side}\d+", port)] for side in "ABP"}
    bits = {side: [wires[port][0] for port in ports[side]] for side in "ABP"}
    taken = {}
    if registers.fit(found := registers.behind(bits["P"])):
        taken["P"] = registers.take_behind(cell, found)
    if all(registers.fit(registers.before(bits[side])) for side in "AB"):
        for side in "AB":
            found = registers.before(bits[side])
            taken[side] = registers.take_before(name, ports[side], found)
    for side, (clock, enable) in taken.items():
        pin = "CE0" if enable == ALWAYS else ENABLES[side]
        parameters |= {f"REG_{PLACES[side]}_CLK": "CLK0", f"REG_{PLACES[side]}_CE": pin}
        wires |= {**{port: ["0"] for port in REST if port not in wires}, "CLK0": [clock], "CE0": [ALWAYS]}
        wires[pin] = [enable]
    cell["port_directions"] |= {port: "input" for port in wires if port not in cell["port_directions"]}


def pack_memory(name: str, registers: Registers) -> None:
    cell = registers.cells[name]
    wires = cell["connections"]
    for side in "AB":
        words = [bits[0] for port, bits in wires.items() if port.startswith(f"DO{side}")]
        found = registers.behind(words)
        if found and cell["parameters"].get(f"REGMODE_{side}", "NOREG") == "NOREG":
            _, enable = registers.take_behind(cell, found)
            cell["parameters"][f"REGMODE_{side}"] = "OUTREG"
            wires[f"OCE{side}"] = [enable]


def pack(module: dict, enables: bool = True) -> None:
    """Pack the registers of a flat module of a netlist as Yosys writes it in JSON; `module` is changed. Without
    `enables` no register that has one goes into a multiplier: neighbours share four, and the placer does not know."""
    registers = Registers(module, enables)
    kinds = {"MULT18X18D": pack_multiplier, "DP16KD": pack_memory}
    for name in [name for name, cell in module["cells"].items() if cell["type"] in kinds]:
        kinds[module["cells"][name]["type"]](name, registers)


def pack_file(mapped: Path, packed: Path, enables: bool) -> None:
    """Read a netlist, pack the registers of its top, write it. Where a cell comes from is said in it; Yosys's own files
    are called +/ there: with where they are on the machine, nextpnr routes otherwise on another."""
    netlist = json.loads(mapped.read_text().replace(f"{SHARE}/", "+/"))
    (top,) = (module for module in netlist["modules"].values() if int(module["attributes"].get("top", "0"), 2))
    pack(top, enables)
    packed.write_text(json.dumps(netlist))
