# SPDX-License-Identifier: Apache-2.0
"""The longest logic path of a synthesised netlist in LUT levels, from register to register through the hierarchy.

Reads what Yosys `write_json` writes after `synth_xilinx`. A LUT counts one level, so does the read of a memory or shift
register made of LUTs; carry chains and wide multiplexers (MUXF) beside the LUTs count none. Flip-flops, block RAMs and
DSPs begin and end paths, as do the ports of the top module: an input arrives from a register there.
"""

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.setrecursionlimit(100_000)
THROUGH = {
    r"LUT[1-6]": 1,
    r"INV|BUFG|CARRY[48]|MUXF[789]": 0,
}  # cells without memory: levels from every input to every output
ASYNC = {
    r"SRL16E|SRLC32E": ("A", "A0", "A1", "A2", "A3"),
    r"RAM\w+": ("DPRA", "ADDR", "A", "DPRA0"),
}  # these inputs reach the outputs
CLOCKS = {"C", "CLK", "WCLK", "CLKARDCLK", "CLKBWRCLK"}


@dataclass
class Module:
    """What a module's ports see, by (port, bit): depth from a register to an output, from an input to a register, from
    inputs to an output."""

    arrive: dict = field(default_factory=dict)
    leave: dict = field(default_factory=dict)
    through: dict = field(default_factory=dict)
    worst: tuple = (0, "", "")  # levels, first net, last net


def _rule(kind: str):
    """(levels, inputs that reach the outputs or None for all; is it also a register?) of a primitive."""
    for pattern, levels in THROUGH.items():
        if re.fullmatch(pattern, kind):
            return levels, None, False
    for pattern, inputs in ASYNC.items():
        if re.fullmatch(pattern, kind) and not kind.startswith("RAMB"):
            return 1, inputs, True
    return 0, (), True


def _plain(kind: str) -> str:
    """Name of a module without its parameters: Yosys writes $paramod\\name\\P=.. or $paramod$hash\\name."""
    return re.sub(r"^\$paramod(?:\$\w+)?\\(\w+).*$", r"\1", kind)


class _Analysis:
    def __init__(self, netlist: dict):
        self.modules = netlist["modules"]
        self.done = {}

    def module(self, name: str) -> Module:
        if name not in self.done:
            self.done[name] = self._analyse(self.modules[name])
        return self.done[name]

    def _own(self, kind: str) -> bool:
        """Is it a module of the design and no primitive of the device?"""
        return kind in self.modules and not {"blackbox", "whitebox"} & set(self.modules[kind]["attributes"])

    def _analyse(self, source: dict) -> Module:
        result, driver, names, cells = Module(), {}, {}, source["cells"]
        for name, net in source["netnames"].items():
            for k, bit in enumerate(net["bits"]):
                if bit not in names or net.get("hide_name", 0) == 0:
                    names[bit] = f"{name}[{k}]" if len(net["bits"]) > 1 else name
        for port, entry in source["ports"].items():
            if entry["direction"] == "input":
                driver |= {bit: (None, port, k) for k, bit in enumerate(entry["bits"])}
        for cell in cells.values():
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "output":
                    driver |= {bit: (cell, port, k) for k, bit in enumerate(bits)}
        memo = {}

        def sources(bit) -> dict:
            """Depth at a net by where the path begins: an input (port, bit), or None: a register."""
            if bit in memo:
                return memo[bit]
            memo[bit] = {}  # constants, nets without driver
            if bit in driver:
                cell, port, k = driver[bit]
                memo[bit] = {(port, k): (0, bit)} if cell is None else self._behind(cell, port, k, bit, sources)
            return memo[bit]

        def end(bit, depth: int, last: str):
            """A path ends in the register `last`, `depth` levels behind a net."""
            for start, (before, first) in sources(bit).items():
                if start is None:
                    if before + depth > result.worst[0]:
                        result.worst = before + depth, names.get(first, ""), last
                else:
                    result.leave[start] = max(result.leave.get(start, 0), before + depth)

        for cell in cells.values():
            own = self.module(cell["type"]) if self._own(cell["type"]) else None
            if own is None and not _rule(cell["type"])[2]:
                continue
            last = _plain(cell["type"])
            if cell["type"].startswith("FD"):
                last = names.get(cell["connections"]["Q"][0], "")
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "input" and port not in CLOCKS:
                    for k, bit in enumerate(bits):
                        if own is None or (port, k) in own.leave:
                            end(bit, own.leave[port, k] if own else 0, last)
        for port, entry in source["ports"].items():
            if entry["direction"] == "output":
                for k, bit in enumerate(entry["bits"]):
                    for start, (depth, _) in sources(bit).items():
                        if start is None:
                            result.arrive[port, k] = depth
                        else:
                            result.through.setdefault((port, k), {})[start] = depth
        return result

    def _behind(self, cell: dict, port: str, k: int, bit, sources) -> dict:
        """`sources` of an output of a cell."""
        found, ways = {}, []
        if self._own(cell["type"]):
            own = self.module(cell["type"])
            if (port, k) in own.arrive:
                found[None] = own.arrive[port, k], bit
            ways = [
                (cell["connections"][p][n], depth)
                for (p, n), depth in own.through.get((port, k), {}).items()
                if p in cell["connections"]
            ]
        else:
            levels, inputs, register = _rule(cell["type"])
            if register:
                found[None] = 0, bit
            ways = [
                (b, levels)
                for p, bits in cell["connections"].items()
                if cell["port_directions"][p] == "input"
                and p not in CLOCKS
                and (inputs is None or p.startswith(tuple(inputs) or ("-",)))
                for b in bits
            ]
        for net, levels in ways:
            for start, (depth, first) in sources(net).items():
                if depth + levels > found.get(start, (-1,))[0]:
                    found[start] = depth + levels, first
        return found


def read(file: Path) -> dict:
    """The netlist without what no path depends on: a large engine's would not fit the memory."""
    shared = {}

    def lean(entry: dict) -> dict:
        entry.pop("parameters", None)
        if "attributes" in entry:
            entry["attributes"] = {
                key: value for key, value in entry["attributes"].items() if key in ("blackbox", "whitebox")
            }
        if "port_directions" in entry:
            entry["port_directions"] = shared.setdefault(
                tuple(entry["port_directions"].items()), entry["port_directions"]
            )
        return entry

    with file.open() as text:
        return json.load(text, object_hook=lean)


def longest(netlist: dict, top: str) -> list:
    """(levels, module, first net, last net) of the worst path that ends in each module of the design, longest first;
    between modules the one that contains both counts."""
    analysis = _Analysis(netlist)
    analysis.module(top)
    rows = [(*m.worst[:1], _plain(name), *m.worst[1:]) for name, m in analysis.done.items() if m.worst[0]]
    return sorted(rows, key=lambda row: (-row[0], row[1]))
