# SPDX-License-Identifier: Apache-2.0
"""Boards without the vendors' tools: the scripts run in a Tcl interpreter."""

import pytest

from gradcore.files.places import ROOT
from gradcore.sim.sources import sources
from tb.fusesoc.ports import ports_of
from tb.support.tcl import Error, Interpreter

BOARD = ROOT / "boards" / "vcu118"
STUB = BOARD / "stub" / "gc_vcu118_platform.v"


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
