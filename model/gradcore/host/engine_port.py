# SPDX-License-Identifier: Apache-2.0
"""The five calls by which the host reaches an engine and its memory, whatever is behind them."""

from typing import Protocol, runtime_checkable

import numpy as np


class Backend(Protocol):
    """The machine model, the simulated RTL or a board.

    Some back ends have more: `close`; `origin`, the first address of the memory; `memory`, its figures;
    `size`, its bytes; `cycles_per_second`; `executing`, tags of the instructions in execution by engine; `verify` and
    `keep_every` for `Device` and `Trainer`, where their defaults take too long; and the calls of `Recorder`.
    """

    def read32(self, offset: int) -> int:
        """A register."""

    def write32(self, offset: int, value: int) -> None:
        """Write a register."""

    def mem_read(self, address: int, size: int) -> np.ndarray:
        """Bytes (uint8) of the memory."""

    def mem_write(self, address: int, data: np.ndarray) -> None:
        """Write the bytes of an array."""

    def wait_irq(self, timeout: float) -> bool:
        """Wait for the interrupt; False when it has not come after `timeout` seconds."""


class NamedBackend(Backend, Protocol):
    """A back end that reports name."""

    name: str


@runtime_checkable
class Recorder(Protocol):
    """A back end that records which instruction ran when."""

    def record(self, capacity: int) -> None:
        """Record up to `capacity` events from now on; 0 ends it."""

    def events(self) -> tuple[np.ndarray, int]:
        """The recorded events and how many older ones were lost."""
