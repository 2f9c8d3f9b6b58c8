# SPDX-License-Identifier: Apache-2.0
"""The longest logic path of a synthesised netlist, from register to register through the hierarchy: its LUTs, its carry
bits and an estimate of its time.

Reads what Yosys `write_json` writes after `synth_xilinx`. A LUT counts one level, so does the read of a memory or shift
register made of LUTs. A carry chain counts a carry bit for each bit that the path runs along it; wide multiplexers
(MUXF) beside the LUTs count nothing. Flip-flops, block RAMs and DSPs begin and end paths. What lies between a register
and a port of the top module is not counted.

The time is an estimate, by the constants of ci/delays.json, of nothing but the netlist: a LUT and the net before it
take the same everywhere, however many inputs a net has and wherever they are placed.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

sys.setrecursionlimit(100_000)
DELAYS = Path(__file__).with_name("delays.json")
LUT = r"LUT[1-6]"
CARRY = r"CARRY[48]"
THROUGH = rf"{LUT}|{CARRY}|INV|BUFG|MUXF[789]"  # cells without memory: from every input to every output
ASYNC = {
    r"SRL16E|SRLC32E": ("A", "A0", "A1", "A2", "A3"),
    r"RAM\w+": ("DPRA", "ADDR", "A", "DPRA0"),
}  # these inputs reach the outputs, as through a LUT
CLOCKS = {"C", "CLK", "WCLK", "CLKARDCLK", "CLKBWRCLK"}


class Delays(NamedTuple):
    """What a path takes, in ns (or in whatever the longest one is sought by): a LUT with the net before it, one that
    only lets a net pass into a carry chain, a carry bit, the way into a chain, and what every path has: a register's
    times, its last net and the clock's skew."""

    lut: float
    passing: float
    carry: float
    chain: float
    register: float


class Arc(NamedTuple):
    """A part of a path; `cost` is what the longest one is sought by, `first` the net that it begins at."""

    cost: float = 0
    levels: int = 0
    carry: int = 0
    first: object = None

    def then(self, other: "Arc") -> "Arc":
        return Arc(self.cost + other.cost, self.levels + other.levels, self.carry + other.carry, self.first)


class Worst(NamedTuple):
    """The longest path of a module: LUTs, carry bits, first and last net, what it takes."""

    cost: float
    levels: int
    carry: int
    first: str
    last: str


@dataclass
class Module:
    """What a module's ports see, by (port, bit): the path from a register to an output, from an input to a register,
    from inputs to an output."""

    arrive: dict = field(default_factory=dict)
    leave: dict = field(default_factory=dict)
    through: dict = field(default_factory=dict)
    worst: Worst = Worst(0, 0, 0, "", "")


# By number of LUTs alone, as the columns "levels" of the tables.
LEVELS = Delays(lut=1, passing=0, carry=0, chain=0, register=0)


def families() -> dict:
    """{family: its constants}, from ci/delays.json."""
    found = json.loads(DELAYS.read_text())["families"]
    return {name: Delays(**{key: values[key] for key in Delays._fields}) for name, values in found.items()}


def _plain(kind: str) -> str:
    """Name of a module without its parameters: Yosys writes $paramod\\name\\P=.. or $paramod$hash\\name."""
    return re.sub(r"^\$paramod(?:\$\w+)?\\(\w+).*$", r"\1", kind)


def _asynchronous(kind: str) -> tuple | None:
    """Inputs of a memory made of LUTs that reach its outputs; None: it is none."""
    if kind.startswith("RAMB"):
        return None
    return next((inputs for pattern, inputs in ASYNC.items() if re.fullmatch(pattern, kind)), None)


def _register(kind: str) -> bool:
    """Do paths begin and end in this primitive?"""
    return not re.fullmatch(THROUGH, kind)


class _Analysis:
    def __init__(self, netlist: dict, delays: Delays):
        self.modules = netlist["modules"]
        self.delays = delays
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
        for scoped, net in source["netnames"].items():
            name = re.sub(r"genblk\d+\.", "", scoped)  # of generate blocks without a name
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
            """The path to a net by where it begins: an input (port, bit), or None: a register."""
            if bit in memo:
                return memo[bit]
            memo[bit] = {}  # constants, nets without driver
            if bit in driver:
                cell, port, k = driver[bit]
                memo[bit] = (
                    {(port, k): Arc(first=bit)} if cell is None else self._behind(cell, port, k, bit, sources, driver)
                )
            return memo[bit]

        def end(bit, rest: Arc, last: str):
            """A path ends in the register `last`, `rest` behind a net."""
            for start, before in sources(bit).items():
                path = before.then(rest)
                if start is not None:
                    result.leave[start] = max(result.leave.get(start, Arc(-1)), path, key=lambda p: p.cost)
                elif path.cost > result.worst.cost:
                    result.worst = Worst(*path[:3], names.get(path.first, ""), last)

        for cell in cells.values():
            own = self.module(cell["type"]) if self._own(cell["type"]) else None
            if own is None and not _register(cell["type"]):
                continue
            last = _plain(cell["type"])
            if cell["type"].startswith("FD"):
                last = names.get(cell["connections"]["Q"][0], "")
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "input" and port not in CLOCKS:
                    for k, bit in enumerate(bits):
                        if own is None or (port, k) in own.leave:
                            end(bit, own.leave[port, k] if own else Arc(), last)
        for port, entry in source["ports"].items():
            if entry["direction"] == "output":
                for k, bit in enumerate(entry["bits"]):
                    for start, path in sources(bit).items():
                        if start is None:
                            result.arrive[port, k] = path
                        else:
                            result.through.setdefault((port, k), {})[start] = path
        return result

    def _behind(self, cell: dict, port: str, k: int, bit, sources, driver) -> dict:
        """`sources` of an output of a cell."""
        found = {}
        kind = cell["type"]
        if self._own(kind):
            own = self.module(kind)
            if (port, k) in own.arrive:
                found[None] = own.arrive[port, k]._replace(first=bit)
            ways = (
                (cell["connections"][p][n], path)
                for (p, n), path in own.through.get((port, k), {}).items()
                if p in cell["connections"]
            )
        elif re.fullmatch(CARRY, kind):
            ways = self._along(cell, port, k, driver)
        else:
            if _register(kind):
                found[None] = Arc(first=bit)
            ways = self._inputs(cell)
        for net, path in ways:
            for start, before in sources(net).items():
                whole = before.then(path)
                if start not in found or whole.cost > found[start].cost:
                    found[start] = whole
        return found

    def _inputs(self, cell: dict) -> Iterator[tuple]:
        """(net, path from there) of the inputs of a primitive that reach its outputs; none of a register's."""
        kind, some = cell["type"], _asynchronous(cell["type"])
        if _register(kind) and some is None:
            return
        level = Arc(self.delays.lut, 1) if some or re.fullmatch(LUT, kind) else Arc()
        for p, bits in cell["connections"].items():
            if cell["port_directions"][p] == "input" and p not in CLOCKS and (some is None or p.startswith(some)):
                yield from ((b, level) for b in bits)

    def _along(self, cell: dict, port: str, k: int, driver) -> Iterator[tuple]:
        """`_inputs` of bit `k` of `O` or `CO` of a carry chain. Into the chain a path goes through a LUT, be it one
        that only lets it pass."""
        for p in ("S", "DI"):
            for n, net in enumerate(cell["connections"].get(p, [])):
                if n > k or (p == "DI" and port == "O" and n == k):
                    continue
                passes = net in driver and not re.fullmatch(LUT, (driver[net][0] or {"type": ""})["type"])
                cost = self.delays.chain + passes * self.delays.passing + (k - n + 1) * self.delays.carry
                yield net, Arc(cost, int(passes), k - n + 1)
        for p, begin in (("CI", 0), ("CYINIT", 0), ("CI_TOP", 4)):
            if k >= begin:
                bits = k - begin + 1
                yield from ((net, Arc(bits * self.delays.carry, 0, bits)) for net in cell["connections"].get(p, []))


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


def longest(netlist: dict, top: str, delays: Delays = LEVELS) -> list[tuple[str, Worst]]:
    """(module, worst path that ends in it) of each module of the design, longest first; between modules the one that
    contains both counts."""
    analysis = _Analysis(netlist, delays)
    analysis.module(top)
    rows = [(_plain(name), m.worst) for name, m in analysis.done.items() if m.worst.cost]
    return sorted(rows, key=lambda row: (-row[1].cost, row[0]))
