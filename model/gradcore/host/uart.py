# SPDX-License-Identifier: Apache-2.0
"""A board at a serial port as a back end: the frames of boards/ulx3s/README.md. Needs pyserial.

A frame that is lost or damaged on its way, in either direction, is sent again; it takes effect once. A port belongs to
one process at a time.
"""

import atexit
import binascii
import time
from typing import Any, Self

import numpy as np

from gradcore.host import control
from gradcore.host.linux import DeviceError
from gradcore.isa import registers as reg

BAUD = 1_000_000
MEMORY, REGISTERS, FACTS = range(3)  # address spaces
WORD = 8  # bytes of a word in a frame
MOST = 32  # words of a frame
DONE = ord("K")
START_OF_CRC = 0xFFFF
TRIES = 5
SILENCE = 1 << 20  # cycles after which the board forgets half a frame
PAUSE = SILENCE // 8  # cycles without a byte after which no more of an answer comes


def with_crc(data: bytes) -> bytes:
    """A message and its CRC, the high byte first."""
    return data + binascii.crc_hqx(data, START_OF_CRC).to_bytes(2, "big")


def request(number: int, space: int, address: int, words: int, data: bytes | None = None) -> bytes:
    """The frame that reads `words` words, or writes `data`, at a byte address of a space."""
    kind = b"R" if data is None else b"W"
    return with_crc(kind + bytes((number, space, words - 1)) + address.to_bytes(4, "little") + (data or b""))


class UartBackend:
    """The five calls over the serial port of that name. `timeout`: seconds after which an answer counts as lost; more
    where `SILENCE` takes longer, as on a simulated board, whose clock is slow.

    Raises DeviceError when there is no such port, when another process has it, or when nothing answers.
    """

    name, origin = "uart", 0
    verify, keep_every = "start", 16  # to read programs and weights back takes longer than a minibatch

    def __init__(self, port: str, timeout: float = 3.0) -> None:
        try:
            import serial
        except ImportError:
            raise DeviceError("uart: needs pyserial: pip install 'gradcore[uart]'") from None
        self._lost = serial.SerialException, OSError
        self._started = False
        self._number = 0
        self._pause = 0.05  # seconds, at least PAUSE
        try:
            self._port: Any = serial.Serial(port, BAUD, timeout=timeout, write_timeout=10.0, exclusive=True)
        except (*self._lost, ValueError) as error:
            raise DeviceError(f"{port}: {error}") from error
        self._path = port
        atexit.register(self.close)
        try:
            # A read: it gives the board a number, which the next frame must not have.
            self.size, self.cycles_per_second = (int(word) for word in self._read(FACTS, 0, 2))
            self._port.timeout = max(timeout, SILENCE / self.cycles_per_second)
            self._pause = max(self._pause, PAUSE / self.cycles_per_second)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read32(self, offset: int) -> int:
        return int(self._read(REGISTERS, offset, 1)[0])

    def write32(self, offset: int, value: int) -> None:
        self._started |= offset == reg.CTRL
        self._write(REGISTERS, offset, (int(value) & 0xFFFFFFFF).to_bytes(WORD, "little"))

    def mem_read(self, address: int, size: int) -> np.ndarray:
        first, end = self._words(address, size)
        parts = [self._read(MEMORY, at, min(MOST, (end - at) // WORD)) for at in range(first, end, MOST * WORD)]
        found = np.concatenate([part.view(np.uint8) for part in parts]) if parts else np.zeros(0, np.uint8)
        return found[address - first : address - first + size]

    def mem_write(self, address: int, data: np.ndarray) -> None:
        data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        first, end = self._words(address, data.size)
        if (first, end) != (address, address + data.size):  # keep what shares a word with the ends
            whole = self.mem_read(first, end - first)
            whole[address - first : address - first + data.size] = data
            data = whole
        for at in range(0, data.size, MOST * WORD):
            self._write(MEMORY, first + at, data[at : at + MOST * WORD].tobytes())

    def wait_irq(self, timeout: float = 600.0) -> bool:
        end, pause = time.monotonic() + timeout, 0.001
        while not self.read32(reg.IRQ_STATUS) & self.read32(reg.IRQ_ENABLE):
            left = end - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(2 * pause, 0.05)
        return True

    def close(self) -> None:
        """Stop a program that this back end has started and that still runs, and close the port."""
        atexit.unregister(self.close)
        if self._port.is_open:
            try:
                if self._started:
                    control.stop(self, 1.0)
            except (control.EngineHung, DeviceError):
                pass  # who opens it next is told
            self._port.close()

    def _words(self, address: int, size: int) -> tuple[int, int]:
        """The span of whole words around these bytes."""
        if address < 0 or size < 0 or address + size > self.size:
            raise ValueError(f"{size} bytes at {address:#x} are not inside the {self.size} bytes of the board's memory")
        return address // WORD * WORD, -(-(address + size) // WORD) * WORD

    def _read(self, space: int, address: int, words: int) -> np.ndarray:
        return np.frombuffer(bytearray(self._exchange(space, address, words, None)), "<u8")

    def _write(self, space: int, address: int, data: bytes) -> None:
        self._exchange(space, address, len(data) // WORD, data)

    def _exchange(self, space: int, address: int, words: int, data: bytes | None) -> bytes:
        """Send a frame until it is answered; the words of the answer."""
        self._number = (self._number + 1) % 256
        frame = request(self._number, space, address, words, data)
        size = 0 if data else words * WORD
        damaged = False
        for _ in range(TRIES):
            try:
                if damaged:
                    self._drain()
                self._port.reset_input_buffer()
                self._port.write(frame)
                head: bytes = self._port.read(2)
                answer: bytes = head + self._port.read(size + 2 if head[:1] == b"K" else 2)
            except self._lost as error:
                raise DeviceError(f"{self._path}: {error}") from error
            if len(answer) >= 4 and answer == with_crc(answer[:-2]) and answer[1] == self._number:
                if answer[0] == DONE and len(answer) == size + 4:
                    return answer[2:-2]
                damaged = False  # refused: its CRC was wrong when it arrived
            else:
                damaged = True
        raise DeviceError(f"{self._path}: no answer from a board with gradcore")

    def _drain(self) -> None:
        """Throw away what still comes of an answer: the next one must not be taken for its rest. A line that is never
        quiet is waited for as long as for an answer."""
        end = time.monotonic() + self._port.timeout
        time.sleep(self._pause)
        while self._port.in_waiting and time.monotonic() < end:
            self._port.reset_input_buffer()
            time.sleep(self._pause)
