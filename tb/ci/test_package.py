# SPDX-License-Identifier: Apache-2.0
"""ci/package: its scripts run in a Tcl interpreter that knows the packagers' commands, and name every port of the top
once."""

import random
import subprocess
import sys
from collections import Counter

import pytest

from gradcore.files.places import ROOT
from gradcore.isa.config import LEGAL
from gradcore.sim.sources import core_names, sources
from tb.ci.scripts import script
from tb.support.tcl import Interpreter

package = script("package")
AVALON_PORTS = """
    input wire csi_clock_clk, input wire rsi_reset_reset,
    input wire [9:0] avs_csr_address, input wire avs_csr_read, input wire avs_csr_write,
    input wire [31:0] avs_csr_writedata,
    input wire [3:0] avs_csr_byteenable, output wire [31:0] avs_csr_readdata,
    output wire avs_csr_readdatavalid, output wire avs_csr_waitrequest,
    output wire avs_csr_writeresponsevalid, output wire [ADDR_W-1:0] avm_read_address, output wire avm_read_read,
    output wire [5:0] avm_read_burstcount,
    input wire [MEM_W-1:0] avm_read_readdata, input wire avm_read_readdatavalid, input wire avm_read_waitrequest,
    output wire [ADDR_W-1:0] avm_write_address, output wire avm_write_write,
    output wire [MEM_W-1:0] avm_write_writedata, output wire [MEM_W/8-1:0] avm_write_byteenable,
    output wire ins_irq_irq, output wire [1:0] another
"""
ROLES = {
    "clock": {"clk"},
    "reset": {"reset"},
    "interrupt": {"irq"},
    "avalon": {
        "address",
        "read",
        "write",
        "readdata",
        "readdatavalid",
        "writedata",
        "byteenable",
        "waitrequest",
        "burstcount",
        "response",
        "writeresponsevalid",
    },
}


def fixture(folder, ports, name="gc_engine_fixture"):
    """A top with these ports; Yosys takes one without content for a black box."""
    file = folder / f"{name}.v"
    file.write_text(
        f"module {name} #(parameter MEM_W = 256, parameter ADDR_W = 40) ({ports}); content u_content (); endmodule\n"
    )
    return file


def front(name):
    return package.read_top(f"gc_engine_{name}", ROOT / "rtl" / name / f"gc_engine_{name}.v")


def avalon_tops(folder):
    return [
        package.read_top("gc_engine_fixture", fixture(folder, AVALON_PORTS)),
        *([front("avalon")] if "avalon" in core_names() else []),
    ]


def width(expression, values):
    name, _, divisor = expression.partition("/")
    return (values[name] if name in values else int(name)) // int(divisor or 1)


@pytest.mark.parametrize("name", sorted({"axi", "avalon"} & set(core_names())))
def test_widths_follow_the_parameters(name):
    top = front(name)
    values = {
        key: random.choice([v for v in package.VALUES[key] if key != "COLS" or v <= 16])
        for key in ("MEM_W", "ADDR_W", "DW", "COLS")
    }
    ports = package.elaborate(top.name, ROOT / "rtl" / name / f"{top.name}.v", values)["ports"]
    assert {p.name: width(p.expression, top.parameters | values) for p in top.ports} == {
        key: len(port["bits"]) for key, port in ports.items()
    }
    assert {p.name: p.width for p in top.ports} == {p.name: width(p.expression, top.parameters) for p in top.ports}


class Vivado(Interpreter):
    """The IP packager: objects are their names; properties by object."""

    def __init__(self, top):
        self.top, self.properties, self.named = top, {}, Counter()
        add = dict.fromkeys(
            (
                "ipx::add_bus_interface",
                "ipx::add_bus_parameter",
                "ipx::add_port_map",
                "ipx::add_address_space",
                "ipx::add_memory_map",
                "ipx::add_address_block",
            ),
            lambda name, parent: f"{parent}/{name}",
        )
        super().__init__(
            dict.fromkeys(
                (
                    "create_project",
                    "add_files",
                    "get_files",
                    "current_fileset",
                    "ipx::package_project",
                    "ipx::create_xgui_files",
                    "ipx::update_checksums",
                    "ipx::check_integrity",
                    "ipx::save_core",
                    "ipx::remove_all_bus_interface",
                    "ipx::remove_all_memory_map",
                    "ipx::remove_all_address_space",
                )
            )
            | add
            | {
                "ipx::current_core": lambda: "core",
                "set_property": self.set_property,
                "ipx::get_ports": self.get_ports,
                "ipx::get_user_parameters": lambda name, *of: f"core/{name}" if name in top.parameters else "",
            }
        )

    def set_property(self, key, value, target):
        assert target, f"{key} of nothing"
        self.properties[target, key] = value
        self.named[value] += key == "physical_name"
        return ""

    def get_ports(self, name, *of):
        self.named[name] += 1
        return name if name in {p.name for p in self.top.ports} else ""


def test_vivado_script(tmp_path):
    top = front("axi")
    vivado = Vivado(top)
    vivado.source(package.package(top, sources("axi"), tmp_path))
    assert {name: n for name, n in vivado.named.items() if n} == {p.name: 1 for p in top.ports}
    files = [call[-1] for call in vivado.of("add_files")]
    assert sorted(map(open_text, files)) == sorted(
        f.read_text() for f in [*sources("axi"), ROOT / "constraints" / "gc_engine_axi.xdc"]
    )
    found = vivado.properties
    for bus, mode, kind in (
        ("m_axi", "master", "interface:aximm"),
        ("s_axil", "slave", "interface:aximm"),
        ("aclk", "slave", "signal:clock"),
        ("aresetn", "slave", "signal:reset"),
        ("irq", "master", "signal:interrupt"),
    ):
        assert found[f"core/{bus}", "interface_mode"] == mode
        assert found[f"core/{bus}", "bus_type_vlnv"] == f"xilinx.com:{kind}:1.0"
        assert found[f"core/{bus}", "abstraction_type_vlnv"] == f"xilinx.com:{kind}_rtl:1.0"
    for bus in ("m_axi", "s_axil"):
        maps = {
            target.rpartition("/")[2]: value
            for (target, key), value in found.items()
            if target.startswith(f"core/{bus}/") and key == "physical_name"
        }
        assert maps == {p.name.rpartition("_")[2].upper(): p.name for p in top.ports if p.name.startswith(bus)}
    values = {target.removeprefix("core/"): value for (target, key), value in found.items() if key == "value"}
    assert values == {
        "m_axi/PROTOCOL": "AXI4",
        "s_axil/PROTOCOL": "AXI4LITE",
        "aclk/ASSOCIATED_BUSIF": "m_axi:s_axil",
        "aclk/ASSOCIATED_RESET": "aresetn",
        "aresetn/POLARITY": "ACTIVE_LOW",
        "irq/SENSITIVITY": "LEVEL_HIGH",
    }
    assert found["core/m_axi", "range"] == str(2**48) and found["core/m_axi", "master_address_space_ref"] == "m_axi"
    assert (
        found["core/s_axil/registers", "range"] == "4096" and found["core/s_axil", "slave_memory_map_ref"] == "s_axil"
    )
    lists = {target: vivado.split(value) for (target, key), value in found.items() if key == "value_validation_list"}
    assert set(lists) == {f"core/{name}" for name in top.parameters} and lists["core/COLS"] == [
        str(n) for n in LEGAL["cols"]
    ]
    assert found["core", "name"] == top.name and vivado.of("ipx::save_core") == [("core",)]


def open_text(path):
    with open(path) as file:
        return file.read()


class PlatformDesigner(Interpreter):
    COMMANDS = (
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

    def __init__(self):
        super().__init__(self.COMMANDS)


def test_platform_designer_component(tmp_path):
    for top in avalon_tops(tmp_path):
        tool = PlatformDesigner()
        script_file = package.package(top, sources("axi"), tmp_path / "out")
        tool.source(script_file)
        kinds = {name: (kind, mode) for name, kind, mode in tool.of("add_interface")}
        ports = tool.of("add_interface_port")
        assert sorted(port for _, port, *_ in ports) == sorted(p.name for p in top.ports)
        by_name = {p.name: p for p in top.ports}
        for interface, port, role, direction, expression in ports:
            assert direction.lower() == by_name[port].direction and expression == by_name[port].expression
            kind = kinds[interface][0]
            assert role == port if kind == "conduit" else port.endswith(f"_{interface}_{role}") and role in ROLES[kind]
        expected = {
            "clock": ("clock", "end"),
            "reset": ("reset", "end"),
            "csr": ("avalon", "end"),
            "read": ("avalon", "start"),
            "write": ("avalon", "start"),
            "irq": ("interrupt", "end"),
        }
        expected |= {"status": ("conduit", "end")} if "another" in by_name else {}  # what belongs to no interface
        assert kinds == expected and len(tool.of("add_interface")) == len(expected)
        properties = {
            (name, key): value
            for name, key, value in tool.of("set_interface_property")
            if name != "csr" or key.startswith("associated")
        }
        assert properties == {
            **{(name, "associatedClock"): "clock" for name in set(kinds) - {"clock"}},
            **{(name, "associatedReset"): "reset" for name in set(kinds) - {"clock", "reset"}},
            **{(name, "addressUnits"): "SYMBOLS" for name in ("read", "write")},
            ("reset", "synchronousEdges"): "BOTH",
            ("irq", "associatedAddressablePoint"): "csr",
        }
        files = [
            (script_file.parent / path).resolve()
            for _, *kind, path in tool.of("add_fileset_file")
            if kind == ["VERILOG", "PATH"]
        ]
        assert Counter(files) == dict.fromkeys(sources("axi"), 2)  # for synthesis and for simulation
        assert {
            name: int(value) for name, kind, value in tool.of("add_parameter") if kind == "INTEGER"
        } == top.parameters
        ranges = {
            name: list(map(int, tool.split(value)))
            for name, key, value in tool.of("set_parameter_property")
            if key == "ALLOWED_RANGES"
        }
        assert ranges == {name: list(package.VALUES[name]) for name in top.parameters}


@pytest.mark.parametrize("bits, units", [(10, "WORDS"), (12, "SYMBOLS")])
def test_units_of_the_registers(bits, units, tmp_path):
    tool = PlatformDesigner()
    top = package.read_top(
        "gc_engine_fixture", fixture(tmp_path, AVALON_PORTS.replace("[9:0] avs", f"[{bits - 1}:0] avs"))
    )
    tool.source(package.package(top, [], tmp_path))
    assert dict(tool.of("set_interface_property", "csr")) == {
        "associatedClock": "clock",
        "associatedReset": "reset",
        "addressUnits": units,
        "maximumPendingReadTransactions": "4",
        "maximumPendingWriteTransactions": "4",
    }


@pytest.mark.parametrize(
    "right, wrong, word",
    [
        ("[9:0] avs", "[7:0] avs", "256 addresses"),
        ("output wire avs_csr_readdatavalid, output wire avs_csr_waitrequest,\n", "", "when data are valid"),
        ("[5:0] avm_read_burstcount", "[MEM_W/16-1:0] avm_read_burstcount", "width of avm_read_burstcount"),
        ("csi_clock_clk", "clk", "has no aclk, aresetn, irq"),
    ],
)
def test_refuses(right, wrong, word, tmp_path):
    assert AVALON_PORTS.count(right) == 1
    with pytest.raises(package.PackageError, match=word):
        package.package(
            package.read_top("gc_engine_fixture", fixture(tmp_path, AVALON_PORTS.replace(right, wrong))), [], tmp_path
        )


def test_command_writes_every_front(tmp_path):
    done = subprocess.run([sys.executable, "ci/package", "--out", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    fronts = {f"gc_engine_{name}" for name in core_names() if (ROOT / "rtl" / name / f"gc_engine_{name}.v").exists()}
    assert {f.name.rpartition("_")[0] for f in tmp_path.glob("*.tcl")} == fronts
    done = subprocess.run([sys.executable, "ci/package", "nothing"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("nothing: ") and "Traceback" not in done.stderr
