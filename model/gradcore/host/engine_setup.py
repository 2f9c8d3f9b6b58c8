# SPDX-License-Identifier: Apache-2.0
"""What an engine needs before a network runs on it: the parameters that programs are compiled for, and windows into
its memory."""

from gradcore.host import control
from gradcore.host.control import EngineError
from gradcore.host.engine_port import Backend
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig


def require_engine(backend: Backend, config: EngineConfig) -> None:
    """Raise EngineError when there is no engine, or not one of `config`."""
    if backend.read32(reg.ID) != reg.ID_VALUE:
        raise EngineError(f"no gradcore engine: ID is {backend.read32(reg.ID):#010x}")
    found = tuple(backend.read32(offset) for offset in (reg.CONFIG, reg.CONFIG2, reg.CONFIG3))
    if found != config.config_registers:
        raise EngineError(
            "the engine has CONFIG {:#010x} {:#010x} {:#010x}, compiled for {:#010x} {:#010x} {:#010x}".format(
                *found, *config.config_registers
            )
        )


def open_windows(backend: Backend, *spans: tuple[int, int, int]) -> None:
    """Let the engine at these spans (first address, end, rights) of its memory and at no others. Raises EngineError.

    Written only if they differ: the engine clears its buffers after a change.
    """
    wanted: dict[int, int] = {}
    for number in range(backend.read32(reg.CONFIG3) >> 8 & 0xFF):
        wanted |= reg.window(number, *(spans[number] if number < len(spans) else (0, 0, 0)))
    if all(backend.read32(offset) == value for offset, value in wanted.items()):
        return
    for offset, value in wanted.items():
        backend.write32(offset, value)
    control.require_quiet(backend)
    kept = [offset for offset, value in wanted.items() if backend.read32(offset) != value]
    if kept:
        raise EngineError(
            f"the engine does not take the windows of this network, first at {kept[0]:#x}: are they locked (LOCK)?"
        )
