# SPDX-License-Identifier: Apache-2.0
"""Boards under Linux as back ends: an engine behind UIO (a system on chip) or behind AMD's XDMA driver (PCI Express).

Both map the engine's 4 KiB of registers and wait for its interrupt in a file. UIO maps the memory, too; XDMA has files
for it, one each way. Needs the rights to open the device's files; nothing else on the host may use the memory. A device
belongs to one process at a time: the back end holds a lock (flock) on the file of its registers, which the kernel
releases when the process ends. Not yet run on a board; the tests use files and pipes instead.
"""

import atexit
import fcntl
import mmap
import os
import select
import struct
import time
from pathlib import Path

import numpy as np

from gradcore.host import control
from gradcore.isa import registers as reg

REGISTER_BYTES = 4096
CHUNK = 1 << 22  # bytes of one transfer through an XDMA file


class DeviceError(RuntimeError):
    """A device file that is missing, too small, not an engine's or in use by another process; the message names it."""


def _open(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags)
    except OSError as error:
        raise DeviceError(f"{path}: {error.strerror}") from error


def _map(file: int, size: int, offset: int, path: Path) -> mmap.mmap:
    try:
        return mmap.mmap(file, size, offset=offset)
    except (OSError, ValueError) as error:
        raise DeviceError(f"{path}: {size} bytes from {offset} cannot be mapped: {error}") from error


def _lock(file: int, path: Path) -> None:
    """Take the device for this process. Closing the file frees it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DeviceError(f"{path} is in use{_holder(file)}") from None
    except OSError as error:
        raise DeviceError(f"{path} cannot be locked: {error.strerror}") from error


def _holder(file: int) -> str:
    """Who has the lock, if the kernel tells: lines `1: FLOCK  ADVISORY  WRITE pid major:minor:inode 0 EOF`."""
    inode = os.fstat(file).st_ino
    try:
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if words[1] == "FLOCK" and words[5].endswith(f":{inode}") and words[4] != "0":
                return f" by process {words[4]}"
    except (OSError, IndexError):
        pass
    return ""


class LinuxBackend:
    """The five calls on mapped registers and an event file. A subclass gives the memory; `origin` is its first address
    as the engine sees it.

    Closed at the end of Python at the latest; a program that it has started and that still runs is stopped then.
    """

    name: str
    size: int
    origin = 0

    def __init__(self, registers: Path, events: Path, flags: int = os.O_RDONLY) -> None:
        self._files = [_open(registers, os.O_RDWR | os.O_SYNC)]
        self._registers: memoryview | None = None
        self._started = False
        atexit.register(self.close)
        try:
            _lock(self._files[0], registers)
            self._mapped = _map(self._files[0], REGISTER_BYTES, 0, registers)
            self._registers = memoryview(self._mapped).cast("I")  # one access of 32 bits each
            self._events = _open(events, flags | os.O_NONBLOCK)
            self._files.append(self._events)
            self._open_memory()
        except BaseException:
            self.close()
            raise

    def _open_memory(self) -> None:
        """What a subclass opens; closed with the rest when it fails."""

    def read32(self, offset: int) -> int:
        assert self._registers is not None, "closed"
        return self._registers[offset // 4]

    def write32(self, offset: int, value: int) -> None:
        assert self._registers is not None, "closed"
        self._started |= offset == reg.CTRL
        self._registers[offset // 4] = int(value) & 0xFFFFFFFF

    def mem_read(self, address: int, size: int) -> np.ndarray:
        raise NotImplementedError

    def mem_write(self, address: int, data: np.ndarray) -> None:
        raise NotImplementedError

    def wait_irq(self, timeout: float = 600.0) -> bool:
        """Sleep until the interrupt. The registers are also read once a second, in case somebody else took the
        event."""
        end = time.monotonic() + timeout
        while not self.read32(reg.IRQ_STATUS) & self.read32(reg.IRQ_ENABLE):
            left = end - time.monotonic()
            if left <= 0:
                return False
            self._arm()
            ready, _, _ = select.select([self._events], [], [], min(left, 1.0))
            if ready:
                os.read(self._events, 4)
        return True

    def close(self) -> None:
        """Stop a program that this back end has started and that still runs, and close the device's files."""
        atexit.unregister(self.close)
        if self._registers is not None:
            try:
                if self._started:
                    control.stop(self, 1.0)
            except control.EngineHung:
                pass  # who opens it next is told
            self._registers.release()
            self._mapped.close()
            self._registers = None
        while self._files:
            os.close(self._files.pop())

    def _arm(self) -> None:
        """Let the next interrupt through, where the driver blocks it after each."""

    def _inside(self, address: int, size: int) -> int:
        """Place of `size` bytes at `address` in the memory."""
        if address < self.origin or size < 0 or address + size > self.origin + self.size:
            raise ValueError(
                f"{size} bytes at {address:#x} are not inside the {self.size} bytes from {self.origin:#x} on"
            )
        return address - self.origin


class UioBackend(LinuxBackend):
    """`/dev/uioN` with the registers as map 0 and the memory as map 1 (drivers uio_pdrv_genirq, uio_dmem_genirq)."""

    name = "uio"

    def __init__(
        self, number: int, dev: Path = Path("/dev"), sys: Path = Path("/sys"), events: Path | None = None
    ) -> None:
        self._device, self._maps = dev / f"uio{number}", sys / "class" / "uio" / f"uio{number}" / "maps"
        self._memory: mmap.mmap | None = None
        self._bytes: np.ndarray | None = None
        super().__init__(self._device, events or self._device, os.O_RDWR)

    def _open_memory(self) -> None:
        self.origin, self.size = (self._number(self._maps / "map1" / name) for name in ("addr", "size"))
        self._memory = _map(self._files[0], self.size, mmap.PAGESIZE, self._device)  # map n is at n pages
        self._bytes = np.frombuffer(self._memory, np.uint8)

    @staticmethod
    def _number(path: Path) -> int:
        try:
            return int(path.read_text(), 0)
        except (OSError, ValueError) as error:
            raise DeviceError(f"{path}: {error}") from error

    def _arm(self) -> None:
        os.write(self._files[0], struct.pack("=I", 1))

    def mem_read(self, address: int, size: int) -> np.ndarray:
        at = self._inside(address, size)
        assert self._bytes is not None, "closed"
        return self._bytes[at : at + size].copy()

    def mem_write(self, address: int, data: np.ndarray) -> None:
        data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        at = self._inside(address, data.size)
        assert self._bytes is not None, "closed"
        self._bytes[at : at + data.size] = data

    def close(self) -> None:
        super().close()
        self._bytes = None
        if self._memory is not None:
            self._memory.close()


class XdmaBackend(LinuxBackend):
    """`/dev/xdmaN_user`, `_events_0`, `_h2c_0`, `_c2h_0` of AMD's XDMA driver; `size` bytes of card memory from address
    0 on."""

    name = "xdma"

    def __init__(self, number: int, dev: Path = Path("/dev"), size: int = 1 << 30) -> None:
        self._path, self.size = dev / f"xdma{number}", size
        super().__init__(Path(f"{self._path}_user"), Path(f"{self._path}_events_0"))

    def _open_memory(self) -> None:
        self._to = _open(Path(f"{self._path}_h2c_0"), os.O_WRONLY)
        self._files.append(self._to)
        self._from = _open(Path(f"{self._path}_c2h_0"), os.O_RDONLY)
        self._files.append(self._from)

    def mem_read(self, address: int, size: int) -> np.ndarray:
        at, parts = self._inside(address, size), []
        while size:
            parts.append(os.pread(self._from, min(size, CHUNK), at))
            if not parts[-1]:
                raise DeviceError(f"no data from card address {at:#x}")
            at, size = at + len(parts[-1]), size - len(parts[-1])
        return np.frombuffer(bytearray(b"".join(parts)), np.uint8)

    def mem_write(self, address: int, data: np.ndarray) -> None:
        left = np.ascontiguousarray(data).reshape(-1).view(np.uint8).data
        at = self._inside(address, len(left))
        while len(left):
            sent = os.pwrite(self._to, left[:CHUNK], at)
            at, left = at + sent, left[sent:]
