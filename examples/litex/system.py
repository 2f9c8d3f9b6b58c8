# SPDX-License-Identifier: Apache-2.0
"""A LiteX system: RISC-V processor, LiteDRAM with a DDR3 controller, and the engine on its crossbar."""

from litex.build.generic_platform import Pins, Subsignal
from litex.build.sim.platform import SimPlatform
from litex.gen import LiteXModule
from litex.soc.cores.gpio import GPIOOut
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect.csr import AutoCSR
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel
from migen import ClockDomain, Signal

from gradcore.isa.config import EngineConfig
from gradcore.litex.chips import CLOCK, Chips, ddr3
from gradcore.litex.dram import EngineToDRAM, controller_settings
from gradcore.litex.engine import REGISTER_BYTES, Engine

ENGINE = 0x9000_0000  # of its registers, in the processor's addresses
ROM_BYTES = 1 << 18


class Clocks(LiteXModule):
    """The domain sys, from two pins."""

    def __init__(self, platform: SimPlatform) -> None:
        self.rst = Signal()  # LiteX resets the system with it
        self.cd_sys = ClockDomain("sys")
        self.comb += [
            self.cd_sys.clk.eq(platform.request("clk")),
            self.cd_sys.rst.eq(platform.request("rst") | self.rst),
        ]


class Interrupt(LiteXModule, AutoCSR):
    """The engine's interrupt as an event of LiteX."""

    def __init__(self, irq: Signal) -> None:
        self.ev = EventManager()
        self.ev.engine = EventSourceLevel()
        self.ev.finalize()
        self.comb += self.ev.engine.trigger.eq(irq)


class System(SoCCore):
    """The system for an engine of `config`. Its firmware comes by `init_rom`."""

    def __init__(self, config: EngineConfig) -> None:
        module, settings = ddr3(8 * config.mem_bytes)
        chips = Chips(module, settings)
        memory = [(name, 0, Pins(len(signal))) for name, signal in chips.pins().items()]
        serial = [
            Subsignal(f"{side}_{name}", Pins(width))
            for side in ("source", "sink")
            for name, width in (("valid", 1), ("ready", 1), ("data", 8))
        ]
        platform = SimPlatform(
            "SIM", [("clk", 0, Pins(1)), ("rst", 0, Pins(1)), ("serial", 0, *serial), ("leds", 0, Pins(8)), *memory]
        )
        self.crg = Clocks(platform)
        super().__init__(
            platform,
            CLOCK,
            cpu_type="vexriscv",
            cpu_variant="lite",
            integrated_rom_size=ROM_BYTES,
            uart_name="sim",
            with_timer=False,
        )
        self.leds = GPIOOut(platform.request("leds"))
        self.chips = chips
        self.comb += [
            (signal.eq(platform.request(name)) if name == "mem_read_data" else platform.request(name).eq(signal))
            for name, signal in chips.pins().items()
        ]
        self.add_sdram("sdram", chips, module, l2_cache_size=0, controller_settings=controller_settings())
        self.engine = Engine(config)
        region = SoCRegion(origin=ENGINE, size=REGISTER_BYTES, cached=False)
        self.bus.add_slave("gradcore", self.engine.registers, region)
        main_ram = self.bus.regions["main_ram"].origin
        self.engine_to_dram = EngineToDRAM(self.engine.memory, self.sdram.crossbar, main_ram)
        self.gradcore = Interrupt(self.engine.irq)
        self.irq.add("gradcore")
        for file in self.engine.sources():
            platform.add_source(str(file))
