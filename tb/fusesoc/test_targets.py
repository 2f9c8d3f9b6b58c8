# SPDX-License-Identifier: Apache-2.0
"""The device targets without the vendors' tools: the projects that FuseSoC writes run in a Tcl interpreter whose vendor
commands look at files, top, parts, parameters and at the ports that the constraints name."""

import random
import re
from fnmatch import fnmatchcase

import pytest

from gradcore.files.places import ROOT
from gradcore.isa.config import LEGAL
from tb.ci.scripts import script
from tb.support.tcl import Error, Interpreter, bits_of

CORE = "gradcore:ip:gradcore:0.1.0"
FRONTS = {"axi", "avalon"}
VIVADO, QUARTUS = (
    {"front": "axi", "top": "gc_engine_axi", "clock": "aclk"},
    {"front": "avalon", "top": "gc_engine_avalon", "clock": "csi_clock_clk"},
)
TARGETS = {
    "vu9p": {**VIVADO, "part": "xcvu9p-flga2104-2L-e"},
    "ku115": {**VIVADO, "part": "xcku115-flva1517-2-e"},
    "stratix10": {**QUARTUS, "part": "1SG280LU2F50E2VG"},
}
package = script("package")


def top_of(target):
    return package.read_top(target["top"], ROOT / "rtl" / target["front"] / f"{target['top']}.v")


class Project(Interpreter):
    """A vendor's project: ports by name and bit as its tool sees them, what is set for them, and what the project is
    made of."""

    def __init__(self, ports):
        self.bits = bits_of(ports)
        self.clock, self.delays, self.virtual = None, {"input": [], "output": []}, []
        super().__init__(
            dict.fromkeys(
                (
                    "create_project",
                    "set_property",
                    "current_project",
                    "current_fileset",
                    "get_filesets",
                    "get_runs",
                    "read_verilog",
                    "project_new",
                    "set_global_assignment",
                    "set_parameter",
                )
            )
            | {
                "get_ports": self.get_ports,
                "create_clock": self.create_clock,
                "read_xdc": self.source,
                "set_instance_assignment": self.assign,
                "all_inputs": lambda: self.directed("input"),
                "all_outputs": lambda: self.directed("output"),
                "remove_from_collection": lambda all_, part: " ".join(
                    b for b in self.split(all_) if b not in self.split(part)
                ),
                "set_input_delay": lambda *a: self.delay("input", *a),
                "set_output_delay": lambda *a: self.delay("output", *a),
            }
        )

    def directed(self, direction):
        return " ".join(bit for bit, port in self.bits.items() if port.direction == direction)

    def matching(self, pattern):
        found = [bit for bit in self.bits if fnmatchcase(bit, pattern)]
        if not found:
            raise Error(f"no port {pattern}")
        return found

    def get_ports(self, *arguments):
        *options, patterns = arguments
        found = [bit for pattern in self.split(patterns) for bit in self.matching(pattern)]
        if options:
            name, text = options
            direction = re.fullmatch(r"DIRECTION == (IN|OUT)", text)[1]
            assert name == "-filter"
            found = [bit for bit in found if self.bits[bit].direction.upper().startswith(direction)]
        assert found
        return " ".join(found)

    def create_clock(self, *arguments):
        minus_name, self.clock, minus_period, period, ports = arguments
        assert (minus_name, minus_period) == ("-name", "-period") and float(period) > 0 and self.clock is not None
        assert self.split(ports) == [self.clock]
        return ""

    def delay(self, direction, minus_clock, clock, value, ports):
        assert minus_clock == "-clock" and clock == self.clock and float(value) > 0
        self.delays[direction] += self.split(ports)
        return ""

    def assign(self, *arguments):
        assert arguments[:-1] == ("-name", "VIRTUAL_PIN", "ON", "-to")
        self.virtual += self.matching(arguments[-1])
        return ""

    def check_ports(self, clock):
        """One clock; a delay for every other port, once."""
        assert self.clock == clock
        inputs, outputs = (self.split(self.directed(d)) for d in ("input", "output"))
        assert sorted(self.delays["input"]) == sorted(set(inputs) - {clock}) and sorted(
            self.delays["output"]
        ) == sorted(outputs)


@pytest.fixture
def set_up(fusesoc, monkeypatch):
    """Set a target up and run its project; the interpreter afterwards."""

    def run(name, *options):
        build = fusesoc.folder / "build"
        done = fusesoc(
            "--cores-root", ROOT, "run", "--setup", "--clean", "--build-root", build, f"--target={name}", CORE, *options
        )
        assert done.returncode == 0, done.stdout
        (work,) = build.glob(f"*/{name}*")
        monkeypatch.chdir(work)
        project = Project(top_of(TARGETS[name]).ports)
        if name == "stratix10":  # Quartus reads these later, when ports exist
            project.source(next(work.glob("*.tcl")))
            (sdc,) = project.of("set_global_assignment", "-name", "SDC_FILE")
            project.source(sdc[0])
        else:
            project.source(work / "gradcore_ip_gradcore_0.1.0.tcl")
        return project, work

    return run


def parameters_of(name, project):
    if name == "stratix10":
        return {key: int(value) for key, value in project.of("set_parameter", "-name")}
    return {
        key: int(value)
        for text, _ in project.of("set_property", "generic")
        for key, value in (pair.split("=") for pair in text.split())
    }


@pytest.mark.parametrize("name", TARGETS)
def test_project(name, set_up):
    target = TARGETS[name]
    project, work = set_up(name)
    read = project.of("read_verilog") or project.of("set_global_assignment", "-name", "VERILOG_FILE")
    fronts = {"sim", *FRONTS} - {target["front"]}
    expected = [f for f in (ROOT / "rtl").rglob("*.v") if f.parent.name not in fronts]
    assert sorted((work / f).read_text() for (f,) in read) == sorted(f.read_text() for f in expected)
    assert all(re.fullmatch(r"src/gradcore_ip_\w+_0\.1\.0/(\w+/)?\w+\.v", f) for (f,) in read)
    assert parameters_of(name, project) == {}
    project.check_ports(target["clock"])
    if name == "stratix10":
        values = {
            key: value
            for key, value in (a for a in project.of("set_global_assignment", "-name") if len(a) == 2)
            if key != "VERILOG_FILE"
        }
        assert (values["TOP_LEVEL_ENTITY"], values["FAMILY"], values["DEVICE"]) == (
            target["top"],
            "Stratix 10",
            target["part"],
        )
        assert sorted(project.virtual) == sorted(set(project.bits) - {target["clock"]})
    else:
        assert [top for top, _ in project.of("set_property", "top")] == [target["top"]]
        assert [part for part, _ in project.of("set_property", "part")] == [target["part"]]
        ((more, minus_objects, run),) = project.of(
            "set_property", "-name", "STEPS.SYNTH_DESIGN.ARGS.MORE OPTIONS", "-value"
        )
        assert more == "-mode out_of_context" and minus_objects == "-objects" and run.startswith("get_runs")


@pytest.mark.parametrize("name", TARGETS)
def test_parameters_reach_the_top(name, set_up):
    """Every parameter of the top can be given, some of them or all."""
    known = top_of(TARGETS[name]).parameters
    legal = {key: [value] for key, value in known.items()} | {
        "COLS": LEGAL["cols"],
        "DW": LEGAL["data_width"],
        "GATE_DEPTH": LEGAL["gate_depth"],
    }
    values = {key: random.choice(values) for key, values in legal.items()}
    for chosen in (values, {"COLS": 32}):
        project, _ = set_up(name, *(word for key, value in chosen.items() for word in (f"--{key}", str(value))))
        assert parameters_of(name, project) == chosen


@pytest.mark.parametrize(
    "file, target, right, wrong",
    [
        ("gc_engine_axi.xdc", "vu9p", "[get_ports aclk]", "[get_ports clk]"),
        ("gc_engine_axi.xdc", "vu9p", "aresetn s_axil_*", "areset s_axil_*"),
        ("gc_engine_axi.xdc", "vu9p", "m_axi_* irq", "m_axi_* interrupt"),
        ("gc_engine_axi.xdc", "vu9p", "m_axi_* irq", "m_axi_*"),
        ("stratix10.sdc", "stratix10", "set clock  csi_clock_clk", "set clock  clk"),
        ("stratix10.sdc", "stratix10", "[all_outputs]", "[all_inputs]"),
        ("quartus.tcl", "stratix10", "ins_*", "irq"),
    ],
)
def test_wrong_port_goes_red(file, target, right, wrong, tmp_path):
    text = (ROOT / "constraints" / file).read_text()
    assert text.count(right) == 1
    (tmp_path / file).write_text(text.replace(right, wrong))
    project = Project(top_of(TARGETS[target]).ports)
    with pytest.raises((Error, AssertionError)):
        project.source(tmp_path / file)
        project.check_ports(TARGETS[target]["clock"])
