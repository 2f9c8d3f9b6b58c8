# SPDX-License-Identifier: Apache-2.0
"""The serial back end where there is no board that answers. With one: tb/ulx3s."""

import contextlib
import itertools
import os
import pty
import sys
import threading
import time

import numpy as np
import pytest

from gradcore.host.boards import open_device
from gradcore.host.control import EngineError
from gradcore.host.device import Device
from gradcore.host.linux import DeviceError
from gradcore.host.uart import FACTS, TRIES, UartBackend, request, with_crc
from gradcore.isa.config import BOARDS
from gradcore.machine.backend import MachineBackend
from gradcore.network.description import Network
from gradcore.ops.convolution import Dense

CONFIG = BOARDS["ulx3s"]


@pytest.fixture
def line():
    """(file of the board's end, name of the host's)."""
    board, host = pty.openpty()
    yield board, os.ttyname(host)
    os.close(board)
    os.close(host)


def test_a_port_that_is_not_there_is_named():
    with pytest.raises(DeviceError, match="/dev/ttyNONE"):
        open_device("uart:/dev/ttyNONE")


def test_pyserial_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "serial", None)
    with pytest.raises(DeviceError, match=r"pip install 'gradcore\[uart\]'"):
        open_device("uart:/dev/ttyUSB0")


def test_a_board_that_does_not_answer(line):
    board, name = line
    with pytest.raises(DeviceError, match=f"{name}: no answer"):
        UartBackend(name, timeout=0.01)
    assert os.read(board, 4096) == TRIES * request(1, FACTS, 0, 2)


def test_the_rest_of_a_damaged_answer_is_not_taken_for_the_next_one(line):
    board, name = line

    def answer_slowly():
        facts = b"".join(value.to_bytes(8, "little") for value in (4096, 65_000_000))
        with contextlib.suppress(OSError):  # the line is closed in the end
            # Damaged at first: so the host does not know how long the answer is.
            for head in itertools.chain([b"X"], itertools.repeat(b"K")):
                number = os.read(board, 12)[1]
                for byte in head + with_crc(b"K" + bytes([number]) + facts)[1:]:
                    os.write(board, bytes([byte]))
                    time.sleep(0.02)

    threading.Thread(target=answer_slowly, daemon=True).start()
    with UartBackend(name) as backend:
        assert (backend.size, backend.cycles_per_second) == (4096, 65_000_000)


def test_a_line_that_is_never_quiet_is_given_up(line):
    board, name = line
    stop = threading.Event()

    def chatter():
        os.set_blocking(board, False)
        while not stop.wait(0.002):
            with contextlib.suppress(BlockingIOError):
                os.write(board, b"$GPGGA")

    other = threading.Thread(target=chatter)
    other.start()
    try:
        with pytest.raises(DeviceError, match=f"{name}: no answer"):
            UartBackend(name, timeout=0.1)
    finally:
        stop.set()
        other.join()


def test_a_port_that_goes_away_behind_a_damaged_answer(line, monkeypatch):
    board, name = line

    def gone(backend):
        raise OSError("Input/output error")

    monkeypatch.setattr(UartBackend, "_drain", gone)
    with pytest.raises(DeviceError, match=f"{name}: Input/output error"):
        UartBackend(name, timeout=0.01)


def test_a_port_belongs_to_one_process(line):
    board, name = line
    first = opened(board, name)
    with pytest.raises(DeviceError, match=f"{name}.*lock"):
        UartBackend(name, timeout=0.01)
    first.close()
    first.close()


def opened(board, name, size=4096):
    """A back end whose first question is answered before it is asked."""

    class Answered(UartBackend):
        def _read(self, space, address, words):
            return np.array([size, 65_000_000], np.uint64)

    return Answered(name, timeout=0.01)


def test_outside_the_memory_nothing_is_sent(line):
    board, name = line
    with opened(board, name) as backend:
        assert (backend.size, backend.cycles_per_second) == (4096, 65_000_000)
        for address, size in ((-1, 4), (4090, 7), (0, 4097)):
            with pytest.raises(ValueError, match="not inside the 4096 bytes"):
                backend.mem_write(address, np.zeros(size, np.uint8))
            with pytest.raises(ValueError, match="not inside"):
                backend.mem_read(address, size)


def test_frames_are_as_the_readme_says():
    assert request(3, 1, 0x10, 1, bytes(range(8))) == with_crc(b"W\x03\x01\x00\x10\x00\x00\x00" + bytes(range(8)))
    assert request(4, 0, 0x12345678, 32) == with_crc(b"R\x04\x00\x1f\x78\x56\x34\x12")
    assert with_crc(b"123456789")[-2:] == b"\x29\xb1"  # the check value of CRC-16/CCITT-FALSE


def test_a_network_that_needs_more_memory_than_the_board_has():
    backend = MachineBackend(CONFIG)
    backend.size = 16384
    network = Network("n", (8, 4, 4), (Dense(10),), data_width=8)
    with pytest.raises(EngineError, match="minibatch of 32 end at 0x.*memory at 0x4000: take a smaller minibatch"):
        Device(backend, network, CONFIG)
