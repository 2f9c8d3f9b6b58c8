# SPDX-License-Identifier: Apache-2.0
"""`gc_engine_axi` as a LiteX core."""

from pathlib import Path

from litex.gen import LiteXModule
from litex.soc.interconnect.axi import AXIInterface, AXILiteInterface
from migen import ClockSignal, Instance, Record, ResetSignal, Signal

from gradcore.isa.config import EngineConfig
from gradcore.sim.build import engine_parameters
from gradcore.sim.sources import sources

REGISTER_BYTES = 4096
ADDRESS_BITS = 32  # those of LiteX's buses
AX = ("id", "addr", "len", "size", "burst", "lock", "cache", "prot")
AXI4 = {"aw": AX, "w": ("data", "strb", "last"), "b": ("id", "resp"), "ar": AX, "r": ("id", "data", "resp", "last")}
AXI4_LITE = {"aw": ("addr",), "w": ("data", "strb"), "b": ("resp",), "ar": ("addr",), "r": ("data", "resp")}


def pins(prefix: str, bus: Record, channels: dict[str, tuple[str, ...]], master: bool) -> dict[str, Signal]:
    """The engine's pins of a bus, for `Instance`: i_ or o_, prefix, channel, field."""
    found = {}
    for channel, fields in channels.items():
        asks = (channel in ("aw", "w", "ar")) == master  # the engine offers on this channel
        endpoint = getattr(bus, channel)
        for field in (*fields, "valid"):
            found[f"{'o' if asks else 'i'}_{prefix}_{channel}{field}"] = getattr(endpoint, field)
        found[f"{'i' if asks else 'o'}_{prefix}_{channel}ready"] = endpoint.ready
    return found


class Engine(LiteXModule):
    """The training engine of an `EngineConfig`: `memory` is its AXI4 master of `mem_bytes` per beat, `registers` its
    AXI4-Lite slave of `REGISTER_BYTES` bytes, `irq` its level interrupt. All belong to the clock domain sys. dsp, ultra
    and burst are the parameters DSP, 0..2, ULTRA, 0..15, and BURST, a power of two of 8..128, of the Verilog."""

    def __init__(self, config: EngineConfig = EngineConfig(), dsp: int = 0, ultra: int = 0, burst: int = 32) -> None:
        self.config = config
        self.memory = AXIInterface(data_width=8 * config.mem_bytes, address_width=ADDRESS_BITS, id_width=1)
        self.registers = AXILiteInterface(data_width=32, address_width=ADDRESS_BITS)
        self.irq = Signal()
        more = {"ADDR_W": ADDRESS_BITS, "DSP": dsp, "ULTRA": ultra, "BURST": burst}
        parameters = engine_parameters(config) | more
        registers = pins("s_axil", self.registers, AXI4_LITE, master=False)
        for channel in ("aw", "ar"):
            registers[f"i_s_axil_{channel}addr"] = getattr(self.registers, channel).addr[:12]
            registers[f"i_s_axil_{channel}prot"] = 0
        self.specials += Instance(
            "gc_engine_axi",
            name="u_axi",
            # Without a width: an expression of two sized parameters would be cut to theirs.
            **{f"p_{name}": Instance.PreformattedParam(value) for name, value in parameters.items()},
            i_aclk=ClockSignal(),
            i_aresetn=~ResetSignal(),
            o_irq=self.irq,
            **pins("m_axi", self.memory, AXI4, master=True),
            **registers,
        )

    @staticmethod
    def sources() -> tuple[Path, ...]:
        """Verilog files of the engine, for `platform.add_source`."""
        return sources("axi")
