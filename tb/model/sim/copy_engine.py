# SPDX-License-Identifier: Apache-2.0
"""The stand-in engine of fixture/gc_engine.v, ready to run."""

from pathlib import Path

from gradcore.sim.backend import IRQ, Memory, SimBackend
from gradcore.sim.build import build

SOURCE = Path(__file__).with_name("fixture") / "gc_engine.v"
BEAT = 64
READ_ONLY, WRITE_ONLY = 1, 2


def open_copy_engine(memory=None, backend="sim", front=(), **parameters):
    """A back end on the stand-in behind the Verilog files `front`; it is compiled once."""
    library, _ = build([SOURCE, *front], parameters, backend)
    return SimBackend(library, memory or Memory(1 << 22))


def start(backend, source, target, beats, mode=0):
    """Give the registers and the start pulse."""
    for address, value in ((0x18, 1), (0x20, mode), (0x2C, beats), (0x30, source), (0x38, target), (0x10, 1)):
        backend.write32(address, value)


def copy(backend, source, target, beats, mode=0):
    """Run one copy; return its cycles from the start pulse to the interrupt."""
    start(backend, source, target, beats, mode)
    before = backend.cycles
    assert backend.run(1_000_000) == IRQ, "no interrupt"
    return backend.cycles - before
