# SPDX-License-Identifier: Apache-2.0
"""From the engine's AXI4 master to LiteDRAM."""

from typing import Any

from litedram.core.controller import ControllerSettings
from litedram.core.crossbar import LiteDRAMCrossbar
from litedram.frontend.axi import LiteDRAMAXI2NativeR, LiteDRAMAXI2NativeW
from litex.gen import LiteXModule
from litex.soc.interconnect.axi import AXIInterface

READ_TIME = 128  # cycles of reads before waiting writes get their turn
WRITE_TIME = 128
BUFFER = 128  # beats of read data and of write data: four of the longest bursts


def controller_settings(**settings: Any) -> ControllerSettings:
    """Settings of LiteDRAM's controller for the engine: long turns of reads and of writes, as each change of direction
    and of bank stops the data bus. `settings` replaces and adds."""
    return ControllerSettings(**({"read_time": READ_TIME, "write_time": WRITE_TIME} | settings))


class EngineToDRAM(LiteXModule):
    """Two ports of LiteDRAM's crossbar for one AXI4 master, one of reads and one of writes: a port keeps its bank until
    that is drained, so a common one would stop at every change between them. `axi` must be as wide as the controller's
    data. A write is answered once its last beat has gone to the memory; what is read after that answer sees it."""

    def __init__(self, axi: AXIInterface, crossbar: LiteDRAMCrossbar, base_address: int = 0) -> None:
        self.write = LiteDRAMAXI2NativeW(axi, crossbar.get_port(mode="write"), BUFFER, base_address)
        self.read = LiteDRAMAXI2NativeR(axi, crossbar.get_port(mode="read"), BUFFER, base_address)
        self.comb += [self.write.cmd_grant.eq(1), self.read.cmd_grant.eq(1)]
