# SPDX-License-Identifier: Apache-2.0
"""Verilog of the back end `sim-litedram`: the engine behind LiteDRAM's controller and crossbar. The words of its DRAM
are in the simulation's memory."""

from litedram.core.controller import LiteDRAMController
from litedram.core.crossbar import LiteDRAMCrossbar
from litex.gen import LiteXModule
from migen import ClockDomain, Signal
from migen.fhdl.verilog import convert

from gradcore.isa.config import EngineConfig
from gradcore.litex.chips import CLOCK, Chips, ddr3
from gradcore.litex.dram import EngineToDRAM, controller_settings
from gradcore.litex.engine import AXI4_LITE, Engine

TOP = "gc_engine_litedram"


class Top(LiteXModule):
    """Clock, reset, AXI4-Lite and interrupt as `gc_engine_axi`, and the words of the DRAM chips."""

    def __init__(self, config: EngineConfig) -> None:
        self.aclk, self.aresetn = Signal(name="aclk"), Signal(name="aresetn")
        self.cd_sys = ClockDomain("sys")
        self.comb += [self.cd_sys.clk.eq(self.aclk), self.cd_sys.rst.eq(~self.aresetn)]
        module, settings = ddr3(8 * config.mem_bytes)
        self.engine = Engine(config)
        self.chips = Chips(module, settings)
        self.controller = LiteDRAMController(
            settings, module.geom_settings, module.timing_settings, CLOCK, controller_settings()
        )
        self.comb += self.controller.dfi.connect(self.chips.dfi)
        self.crossbar = LiteDRAMCrossbar(self.controller.interface)
        self.memory = EngineToDRAM(self.engine.memory, self.crossbar)

        registers = self.engine.registers
        pins = {"irq": self.engine.irq, **self.chips.pins()}
        for channel, fields in AXI4_LITE.items():
            endpoint = getattr(registers, channel)
            pins |= {f"s_axil_{channel}{field}": getattr(endpoint, field) for field in (*fields, "valid", "ready")}
        for name, signal in pins.items():
            signal.name_override = name
        self.pins = {self.aclk, self.aresetn, *pins.values()}


def verilog(config: EngineConfig) -> str:
    """Text of the module `TOP`, which instantiates `gc_engine_axi` with the parameters of `config`."""
    top = Top(config)
    return str(convert(top, top.pins, name=TOP, create_clock_domains=False))
