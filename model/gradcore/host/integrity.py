# SPDX-License-Identifier: Apache-2.0
"""Does the engine's memory still hold what the host wrote? The CRC-32 of everything written is compared with that of
what is read back."""

import zlib
from dataclasses import dataclass

import numpy as np

from gradcore.host.control import EngineError
from gradcore.host.engine_port import Backend


class IntegrityError(EngineError):
    """Bytes in the engine's memory, or on the way to it, are not those that the host wrote; the message names them."""


def crc(data: np.ndarray) -> int:
    """CRC-32 (zlib's) of an array of bytes."""
    return zlib.crc32(np.ascontiguousarray(data).data)


@dataclass(frozen=True)
class Piece:
    """Bytes of the host that belong at `address` of the memory; `sum` is their CRC-32."""

    name: str
    address: int
    data: np.ndarray
    sum: int

    @classmethod
    def of(cls, name: str, address: int, data: np.ndarray) -> "Piece":
        """A piece with the CRC of `data` as it is now."""
        return cls(name, address, data, crc(data))

    def intact(self, backend: Backend) -> bool:
        """Does the memory hold these bytes?"""
        return crc(backend.mem_read(self.address, len(self.data))) == self.sum

    def write(self, backend: Backend, tries: int = 2) -> None:
        """Write the bytes and read them back. Raises IntegrityError when they have changed in the host or do not arrive
        in `tries` times."""
        if crc(self.data) != self.sum:
            raise IntegrityError(f"{self.name}: the host's copy has changed")
        for _ in range(tries):
            backend.mem_write(self.address, self.data)
            if self.intact(backend):
                return
        raise IntegrityError(
            f"{self.name}: memory at {self.address:#x} does not keep the {len(self.data)} bytes written to it",
            address=self.address,
        )


def read_twice(backend: Backend, name: str, address: int, size: int) -> np.ndarray:
    """Bytes of the memory, read again and compared. Raises IntegrityError when the two differ."""
    data = backend.mem_read(address, size)
    if crc(data) != crc(backend.mem_read(address, size)):
        raise IntegrityError(f"{name}: two reads of {size} bytes at {address:#x} differ", address=address)
    return data
