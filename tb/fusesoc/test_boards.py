# SPDX-License-Identifier: Apache-2.0
"""Boards without the vendors' tools: the scripts run in a Tcl interpreter."""

from fnmatch import fnmatchcase

import pytest

from gradcore.sim.sources import ROOT, sources
from tb.ci.scripts import script
from tb.support.tcl import Error, Interpreter, bits_of

BOARD = ROOT / "boards" / "vcu118"
STUB = BOARD / "stub" / "gc_vcu118_platform.v"
package = script("package")


def ports_of(name, file):
    return {p.name: p for p in package.read_top(name, file).ports}


class Vivado(Interpreter):
    """A project with a block design: cells, ports and what they are connected to."""

    def __init__(self, top_ports):
        self.top_ports, self.cells, self.ports, self.interfaces, self.wired = top_ports, {}, {}, {}, []
        super().__init__(
            dict.fromkeys(
                (
                    "create_project",
                    "current_project",
                    "current_fileset",
                    "get_filesets",
                    "get_runs",
                    "set_property",
                    "read_verilog",
                    "create_bd_design",
                    "validate_bd_design",
                    "save_bd_design",
                    "generate_target",
                    "get_files",
                    "set_false_path",
                    "assign_bd_address",
                )
            )
            | {
                "get_board_parts": lambda pattern: "a:vcu118:part0:2.0 a:vcu118:part0:2.4",
                "get_board_part_interfaces": lambda pattern: "ddr4_sdram_c1",
                "read_xdc": self.source,
                "get_ports": self.get_ports,
                "create_bd_cell": self.create_cell,
                "create_bd_port": self.create_port,
                "create_bd_intf_port": self.create_interface,
                "connect_bd_net": self.connect,
                "connect_bd_intf_net": self.connect,
                "get_bd_cells": self.known(self.cells),
                "get_bd_ports": self.known(self.ports),
                "get_bd_intf_ports": self.known(self.interfaces),
                "get_bd_addr_spaces": self.pin_or_interface,
                "get_bd_addr_segs": self.pin_or_interface,
                "get_bd_pins": self.pin,
                "get_bd_intf_pins": self.pin,
            }
        )

    @staticmethod
    def known(names):
        def get(name):
            if name not in names:
                raise Error(f"no {name}")
            return name

        return get

    def get_ports(self, pattern):
        name, _, index = pattern.partition("[")
        if name not in self.top_ports or index not in ("", "*]") and int(index[:-1]) >= self.top_ports[name].width:
            raise Error(f"no port {pattern}")
        return pattern

    def create_cell(self, *arguments):
        self.cells[arguments[-1]] = dict(zip(arguments[::2], arguments[1::2]))["-vlnv"]
        return arguments[-1]

    def create_port(self, minus_dir, direction, minus_type, kind, name):
        assert (minus_dir, minus_type) == ("-dir", "-type") and name not in self.ports
        self.ports[name] = {"I": "input", "O": "output"}[direction]
        return name

    def create_interface(self, minus_mode, mode, minus_vlnv, vlnv, name):
        assert (minus_mode, minus_vlnv) == ("-mode", "-vlnv") and name not in self.interfaces
        self.interfaces[name] = mode
        return name

    def pin(self, name):
        self.known(self.cells)(name.partition("/")[0])
        return name

    def pin_or_interface(self, name):
        return name if name.partition("/")[0] in self.interfaces else self.pin(name)

    def connect(self, *ends):
        assert len(ends) == 2
        self.wired.append(ends)
        return ""

    def properties(self, target):
        """What is set for a port or a cell, its -dict taken apart."""
        found = {}
        for call in self.of("set_property"):
            if call[-1] == target:
                words = self.split(call[1]) if call[0] == "-dict" else call[:2]
                found |= dict(zip(words[::2], words[1::2]))
        return found


def check(vivado):
    """The block design is what the stub says."""
    stub = ports_of("gc_vcu118_platform", STUB)
    left = dict(stub)
    for name, direction in vivado.ports.items():
        port = left.pop(name)
        assert (port.direction, port.width) == (direction, 1), name
    for name, mode in vivado.interfaces.items():
        own = [left.pop(port) for port in list(left) if port.startswith(f"{name}_")]
        assert own, f"the stub has no {name}"
        for port in own:
            if port.name.endswith(("_awvalid", "_araddr", "_wdata", "_act_n", "_txp")):
                assert port.direction == ("output" if mode == "Master" else "input"), port.name
        found = vivado.properties(name)
        for key, signal in (
            ("CONFIG.ADDR_WIDTH", "araddr"),
            ("CONFIG.DATA_WIDTH", "wdata"),
            ("CONFIG.ID_WIDTH", "awid"),
        ):
            if key in found:
                assert int(found[key]) == stub[f"{name}_{signal}"].width, f"{name}: {key}"
    assert not left, f"ports that the block design does not make: {', '.join(left)}"
    ends = [end for pair in vivado.wired for end in pair]
    for name in [*vivado.ports, *vivado.interfaces]:
        assert ends.count(name) == 1, f"{name} is not connected once"


@pytest.fixture
def project(fusesoc, monkeypatch):
    build = fusesoc.folder / "build"
    done = fusesoc(
        "--cores-root",
        ROOT,
        "run",
        "--setup",
        "--clean",
        "--build-root",
        build,
        "--target=vcu118",
        "gradcore:ip:gradcore",
        "--COLS",
        "32",
    )
    assert done.returncode == 0, done.stdout
    (work,) = build.glob("*/vcu118*")
    monkeypatch.chdir(work)
    vivado = Vivado(ports_of("gc_vcu118", BOARD / "gc_vcu118.v"))
    vivado.source(work / "gradcore_ip_gradcore_0.1.0.tcl")
    return vivado, work


def test_project(project):
    vivado, work = project
    read = sorted((work / file).read_text() for (file,) in vivado.of("read_verilog"))
    assert read == sorted(f.read_text() for f in [*sources("axi"), BOARD / "gc_vcu118.v"])
    assert [top for top, _ in vivado.of("set_property", "top")] == ["gc_vcu118"]
    assert [part for part, _ in vivado.of("set_property", "part")] == ["xcvu9p-flga2104-2L-e"]
    assert [board for board, _ in vivado.of("set_property", "board_part")] == ["a:vcu118:part0:2.4"]
    assert [text.split() for text, _ in vivado.of("set_property", "generic")] == [["COLS=32"]]
    check(vivado)
    pins = [call[:2] for call in vivado.of("set_property", "PACKAGE_PIN")]
    assert len({pin for pin, _ in pins}) == len({port for _, port in pins}) == vivado.top_ports["led"].width


@pytest.mark.parametrize(
    "file, right, wrong",
    [
        ("vcu118.xdc", "{led[2]}", "{led[3]}"),
        ("platform.tcl", "link_up    O", "link_up    I"),
        ("platform.tcl", "ADDR_WIDTH $addr_w", "ADDR_WIDTH 48"),
        ("platform.tcl", "irq        I intr  xdma/", "irq        I intr  pcie/"),
        ("platform.tcl", "    calibrated O other ddr4/c0_init_calib_complete\n", ""),
        (
            "platform.tcl",
            "Slave -vlnv xilinx.com:interface:aximm_rtl:1.0 S_AXI",
            "Master -vlnv xilinx.com:interface:aximm_rtl:1.0 S_AXI",
        ),
    ],
)
def test_goes_red(file, right, wrong, tmp_path):
    text = (BOARD / file).read_text()
    assert text.count(right) == 1
    (tmp_path / file).write_text(text.replace(right, wrong))
    vivado = Vivado(ports_of("gc_vcu118", BOARD / "gc_vcu118.v"))
    with pytest.raises((Error, AssertionError)):
        vivado.source(tmp_path / file)
        check(vivado)


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
