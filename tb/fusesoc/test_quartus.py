# SPDX-License-Identifier: Apache-2.0
"""Boards without the vendors' tools: the scripts run in a Tcl interpreter."""

from fnmatch import fnmatchcase

import pytest

from gradcore.files.places import ROOT
from tb.fusesoc.ports import package, ports_of
from tb.support.tcl import Error, Interpreter, bits_of

KIT = ROOT / "boards" / "s10gx"
SYSTEM_STUB = KIT / "stub" / "gc_s10gx_platform.v"
COMPONENT = (
    "package",
    "set_module_property",
    "add_fileset",
    "set_fileset_property",
    "add_fileset_file",
    "add_parameter",
    "set_parameter_property",
    "add_interface",
    "set_interface_property",
    "add_interface_port",
)
SYSTEM = (
    "package",
    "create_system",
    "set_project_property",
    "add_instance",
    "set_instance_parameter_value",
    "add_connection",
    "set_connection_parameter_value",
    "set_interface_property",
    "save_system",
)
# Ports of the vendor's interfaces that leave the system.
ROLES = {
    "clock.in_clk": ["clk"],
    "button.in_reset": ["reset_n"],
    "memory.pll_ref_clk": ["clk"],
    "memory.oct": ["oct_rzqin"],
    "memory.status": ["local_cal_success", "local_cal_fail"],
    "memory.mem": [
        f"mem_{name}"
        for name in (
            "ck",
            "ck_n",
            "a",
            "act_n",
            "ba",
            "bg",
            "cke",
            "cs_n",
            "odt",
            "reset_n",
            "par",
            "alert_n",
            "dqs",
            "dqs_n",
            "dq",
            "dbi_n",
        )
    ],
}
MEMORY_WIDTHS = {"mem_dq": "DQ_WIDTH", "mem_bg": "BANK_GROUP_WIDTH"}


@pytest.fixture(scope="module")
def component(tmp_path_factory):
    """The engine's component as `make package` writes it, run."""
    tool, top = (
        Interpreter(COMPONENT),
        package.read_top("gc_engine_avalon", ROOT / "rtl" / "avalon" / "gc_engine_avalon.v"),
    )
    tool.source(package.package(top, [], tmp_path_factory.mktemp("package")))
    return tool


def check_system(script, component):
    """The system names the engine's interfaces as they are, each of them, gives host and engine the same memory and has
    the stub's ports."""
    tool = Interpreter(SYSTEM)
    tool.source(script)
    instances = dict(tool.of("add_instance"))
    assert instances["engine"] == "gc_engine_avalon"
    known = {name: (kind, mode) for name, kind, mode in component.of("add_interface")}
    values = {name: range_ for name, key, range_ in component.of("set_parameter_property") if key == "ALLOWED_RANGES"}
    for key, value in tool.of("set_instance_parameter_value", "engine"):
        assert value in tool.split(values[key])
    pairs, exports = (
        tool.of("add_connection"),
        {of: name for name, key, of in tool.of("set_interface_property") if key == "EXPORT_OF"},
    )
    assert all(end.partition(".")[0] in instances for end in [*(end for pair in pairs for end in pair), *exports])
    used = {name: [pair for pair in pairs if f"engine.{name}" in pair] for name in known}
    assert {
        end.partition(".")[2] for end in [*(e for p in pairs for e in p), *exports] if end.startswith("engine.")
    } == set(known)
    for name, (kind, mode) in known.items():
        at = {"start": 0, "end": 1}[mode]
        assert all(pair[at] == f"engine.{name}" for pair in used[name]), name
        if kind == "interrupt":
            assert f"engine.{name}" in exports and not used[name]
        elif kind == "reset":
            assert {source for source, _ in used[name]} == {"button.out_reset", "release.ninit_done"}
        else:
            assert len(used[name]) == 1 and f"engine.{name}" not in exports
    base = {
        path: int(value, 0) for path, key, value in tool.of("set_connection_parameter_value") if key == "baseAddress"
    }
    assert base == {f"{master}/memory.ctrl_amm_0": 0 for master in ("host.master", "engine.read", "engine.write")} | {
        "host.master/engine.csr": 1 << 31
    }
    assert set(base) == {f"{a}/{b}" for a, b in pairs if b in ("memory.ctrl_amm_0", "engine.csr")}

    stub = ports_of("gc_s10gx_platform", SYSTEM_STUB)
    roles = ROLES | {f"engine.{name}": [role] for name, _, role, *_ in component.of("add_interface_port")}
    assert set(stub) == {f"{name}_{role}" for of, name in exports.items() for role in roles[of]}
    memory = dict(tool.of("set_instance_parameter_value", "memory"))
    for role, key in MEMORY_WIDTHS.items():
        assert stub[f"{exports['memory.mem']}_{role}"].width == int(memory[f"MEM_DDR4_{key}"]), role
    assert memory["PHY_DDR4_RATE_ENUM"] == "RATE_QUARTER"  # a beat is both edges of four cycles
    assert dict(tool.of("set_instance_parameter_value", "engine"))["MEM_W"] == str(8 * int(memory["MEM_DDR4_DQ_WIDTH"]))


def test_system(component):
    check_system(KIT / "platform.tcl", component)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("host.clk engine.clock}", "host.clk engine.clk}"),
        ("host.clk_reset engine.reset}", "host.clk_reset}"),
        ("    engine.write memory.ctrl_amm_0 0\n", ""),
        ("host.master  engine.csr        $registers", "host.master  engine.csr        0"),
        ("irq    engine.irq", "irq    engine.interrupt"),
        ("    oct    memory.oct\n", ""),
        ("    memory memory.mem", "    ddr4   memory.mem"),
        ("engine MEM_W 128", "engine MEM_W 500"),
        ("engine MEM_W 128", "engine MEM_W 512"),
        ("MEM_DDR4_DQ_WIDTH 16", "MEM_DDR4_DQ_WIDTH 72"),
    ],
)
def test_system_goes_red(right, wrong, component, tmp_path):
    text = (KIT / "platform.tcl").read_text()
    assert text.count(right) == 1
    (tmp_path / "platform.tcl").write_text(text.replace(right, wrong))
    with pytest.raises((Error, AssertionError, KeyError)):
        check_system(tmp_path / "platform.tcl", component)


class Quartus(Interpreter):
    """A project of the kit: pins and I/O standards by port."""

    def __init__(self):
        self.ports = ports_of("gc_s10gx", KIT / "gc_s10gx.v")
        self.bits = set(bits_of(self.ports.values()))
        self.pins, self.standards, self.constrained = {}, {}, []
        super().__init__(
            dict.fromkeys(("project_new", "set_global_assignment", "create_clock", "set_false_path"))
            | {
                "set_location_assignment": self.locate,
                "set_instance_assignment": self.assign,
                "get_ports": self.get_ports,
            }
        )

    def locate(self, pin, minus_to, bit):
        assert minus_to == "-to" and bit in self.bits and bit not in self.pins and pin not in self.pins.values(), bit
        self.pins[bit] = pin

    def assign(self, minus_name, name, standard, minus_to, port):
        assert (minus_name, name, minus_to) == ("-name", "IO_STANDARD", "-to") and port in self.ports
        self.standards[port] = standard

    def get_ports(self, pattern):
        names = [name for name in self.ports if fnmatchcase(name, pattern)]
        assert names, f"no port {pattern}"
        self.constrained += names
        return " ".join(names)

    def check(self):
        assert set(self.pins) == self.bits
        memory = {name for name in self.ports if name.startswith("ddr4_")}
        assert set(self.standards) == set(self.constrained) == set(self.ports) - memory


def test_quartus_project(fusesoc, monkeypatch):
    build = fusesoc.folder / "build"
    done = fusesoc(
        "--cores-root",
        ROOT,
        "run",
        "--setup",
        "--clean",
        "--build-root",
        build,
        "--target=s10gx",
        "gradcore:ip:gradcore",
    )
    assert done.returncode == 0, done.stdout
    (work,) = build.glob("*/s10gx*")
    monkeypatch.chdir(work)
    monkeypatch.setenv("GRADCORE_PACKAGE", "/somewhere/package")
    quartus = Quartus()
    quartus.source(work / "gradcore_ip_gradcore_0_1_0.tcl")
    values = dict(call for call in quartus.of("set_global_assignment", "-name") if len(call) == 2)
    assert (values["TOP_LEVEL_ENTITY"], values["FAMILY"], values["DEVICE"]) == (
        "gc_s10gx",
        "Stratix 10",
        "1SG280LU2F50E2VG",
    )
    text = (KIT / "platform.tcl").read_text()
    assert values["IP_SEARCH_PATHS"] == "/somewhere/package"
    assert values["QSYS_FILE"] == "gc_s10gx_platform.qsys" and f"save_system {values['QSYS_FILE']}" in text
    assert (work / "platform.tcl").read_text() == text
    assert (work / values["VERILOG_FILE"]).read_text() == (KIT / "gc_s10gx.v").read_text()
    quartus.source(work / values["SDC_FILE"])
    quartus.check()


@pytest.mark.parametrize(
    "file, right, wrong",
    [
        ("pins.tcl", "K38 L37", "L37 K38 L37"),
        ("pins.tcl", " V32 P33", " V32"),
        ("pins.tcl", "ddr4_bg      R36", "ddr4_bg[0]   R36"),
        ("pins.tcl", "cpu_reset_n  A20", "cpu_reset_n  B19"),
        ("pins.tcl", '"1.8 V" -to led_n', '"1.8 V" -to led'),
        ("s10gx.sdc", "led_n*", "leds*"),
    ],
)
def test_quartus_goes_red(file, right, wrong, tmp_path):
    quartus = Quartus()
    for name in ("pins.tcl", "s10gx.sdc"):
        text = (KIT / name).read_text()
        assert name != file or text.count(right) == 1
        (tmp_path / name).write_text(text.replace(right, wrong) if name == file else text)
    with pytest.raises((Error, AssertionError)):
        quartus.source(tmp_path / "pins.tcl")
        quartus.source(tmp_path / "s10gx.sdc")
        quartus.check()
