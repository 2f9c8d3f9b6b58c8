# SPDX-License-Identifier: Apache-2.0
"""`gc_engine_axi` as a LiteX core."""

from pathlib import Path

from litex.gen import LiteXModule
from litex.soc.interconnect.axi import AXIInterface, AXILiteInterface
from migen import ClockSignal, Instance, ResetSignal, Signal

from gradcore.isa.config import EngineConfig
from gradcore.sim.build import engine_parameters
from gradcore.sim.sources import sources

REGISTER_BYTES = 4096


class Engine(LiteXModule):
    """The training engine of an `EngineConfig`: `memory` is its AXI4 master of `mem_bytes` per beat (byte addresses of
    `address_width` bits, 32..48), `registers` its AXI4-Lite slave of `REGISTER_BYTES` bytes, `irq` its level
    interrupt. All belong to the clock domain sys. dsp: the parameter DSP of the Verilog, 0..2."""

    def __init__(self, config: EngineConfig = EngineConfig(), address_width: int = 32, dsp: int = 0) -> None:
        self.config = config
        self.memory = memory = AXIInterface(data_width=8 * config.mem_bytes, address_width=address_width, id_width=1)
        self.registers = registers = AXILiteInterface(data_width=32, address_width=32)
        self.irq = Signal()
        # Without a width: an expression of two sized parameters would be cut to theirs.
        parameters = engine_parameters(config) | {"ADDR_W": address_width, "DSP": dsp}
        address = {
            f"o_m_axi_{channel}{field}": getattr(getattr(memory, channel), field)
            for channel in ("aw", "ar")
            for field in ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "valid")
        }
        self.specials += Instance(
            "gc_engine_axi",
            name="u_axi",
            **{f"p_{name}": Instance.PreformattedParam(value) for name, value in parameters.items()},
            i_aclk=ClockSignal(),
            i_aresetn=~ResetSignal(),
            **address,
            i_m_axi_awready=memory.aw.ready,
            i_m_axi_arready=memory.ar.ready,
            o_m_axi_wdata=memory.w.data,
            o_m_axi_wstrb=memory.w.strb,
            o_m_axi_wlast=memory.w.last,
            o_m_axi_wvalid=memory.w.valid,
            i_m_axi_wready=memory.w.ready,
            i_m_axi_bid=memory.b.id,
            i_m_axi_bresp=memory.b.resp,
            i_m_axi_bvalid=memory.b.valid,
            o_m_axi_bready=memory.b.ready,
            i_m_axi_rid=memory.r.id,
            i_m_axi_rdata=memory.r.data,
            i_m_axi_rresp=memory.r.resp,
            i_m_axi_rlast=memory.r.last,
            i_m_axi_rvalid=memory.r.valid,
            o_m_axi_rready=memory.r.ready,
            i_s_axil_awaddr=registers.aw.addr[:12],
            i_s_axil_awprot=0,
            i_s_axil_awvalid=registers.aw.valid,
            o_s_axil_awready=registers.aw.ready,
            i_s_axil_wdata=registers.w.data,
            i_s_axil_wstrb=registers.w.strb,
            i_s_axil_wvalid=registers.w.valid,
            o_s_axil_wready=registers.w.ready,
            o_s_axil_bresp=registers.b.resp,
            o_s_axil_bvalid=registers.b.valid,
            i_s_axil_bready=registers.b.ready,
            i_s_axil_araddr=registers.ar.addr[:12],
            i_s_axil_arprot=0,
            i_s_axil_arvalid=registers.ar.valid,
            o_s_axil_arready=registers.ar.ready,
            o_s_axil_rdata=registers.r.data,
            o_s_axil_rresp=registers.r.resp,
            o_s_axil_rvalid=registers.r.valid,
            i_s_axil_rready=registers.r.ready,
            o_irq=self.irq,
        )

    @staticmethod
    def sources() -> tuple[Path, ...]:
        """Verilog files of the engine, for `platform.add_source`."""
        return sources("axi")
