# SPDX-License-Identifier: Apache-2.0
"""Replay a recording of an engine at its netlist in Yosys' own simulator: `replay.py NETLIST RECORDING SCOPE`.

NETLIST is RTLIL of the top gc_engine, RECORDING an FST file. The netlist gets the inputs of the recording; an output
that differs, where the recording knows it, ends Yosys with exit code 1.
"""

import sys

from pyosys import libyosys
from pyosys.libyosys import IdString, SigSpec


def join_registers(module: libyosys.Module) -> None:
    """One cell for all registers of a clock: the simulator visits each cell at each edge."""
    clock, data, output, polarity = (IdString(f"\\{name}") for name in ("CLK", "D", "Q", "CLK_POLARITY"))
    together: dict = {}
    for cell in list(module.cells_.values()):
        if cell.type.str() == "$dff":
            key = cell.getPort(clock).as_wire().name.str(), cell.getParam(polarity).as_bool()
            wire, d, q = together.setdefault(key, (cell.getPort(clock), SigSpec(), SigSpec()))
            d.append(cell.getPort(data))
            q.append(cell.getPort(output))
            module.remove(cell)
    for number, ((_, rising), (wire, d, q)) in enumerate(together.items()):
        module.addDff(IdString(f"$registers{number}"), wire, d, q, rising)


def main(netlist: str, recording: str, scope: str) -> None:
    design = libyosys.Design()
    libyosys.run_pass(f"read_rtlil {netlist}", design)
    for module in list(design.modules_.values()):
        join_registers(module)
    # The simulator asks for every signal with a public name at each edge. What stands in the recording is the top's.
    libyosys.run_pass("rename -hide */w:* gc_engine/w:* %d", design)
    libyosys.run_pass(f"sim -r {recording} -scope {scope} -clock clk -sim-gate gc_engine", design)


if __name__ == "__main__":
    main(*sys.argv[1:])
