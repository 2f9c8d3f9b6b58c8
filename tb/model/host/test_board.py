# SPDX-License-Identifier: Apache-2.0
"""A board's device belongs to one process, is freed with it, and is left without a running program; files and pipes
are in its place."""

import os
import signal
import subprocess
import sys

import pytest

from gradcore.cli import doctor
from gradcore.cli import main as cli
from gradcore.host.linux import DeviceError, UioBackend, XdmaBackend
from gradcore.isa import registers as reg
from tb.model.host import stand_in
from tb.support.sim import ENGINES

SIZE = 1 << 16
HOLD = """
import sys, time
from pathlib import Path
from gradcore.host.linux import UioBackend, XdmaBackend
folder = Path(sys.argv[2])
backend = {uio} if sys.argv[1] == "uio" else {xdma}
print("open", flush=True)
time.sleep(600)
"""
OPEN = {"uio": "UioBackend(7, folder, folder, folder / 'events')", "xdma": "XdmaBackend(7, folder, 1 << 16)"}


@pytest.fixture(params=OPEN)
def board(request, tmp_path):
    """(kind, folder of the device's files): a board whose engine does nothing."""
    engine, backend = {"uio": stand_in.uio, "xdma": stand_in.xdma}[request.param](ENGINES["sim"], tmp_path, SIZE)
    backend.close()
    engine.close()
    pipe = "events" if request.param == "uio" else "xdma7_events_0"
    events = os.open(tmp_path / pipe, os.O_RDWR)  # so that opening to read does not wait
    yield request.param, tmp_path
    os.close(events)


def opened(kind, folder):
    backend = eval(OPEN[kind], {"UioBackend": UioBackend, "XdmaBackend": XdmaBackend, "folder": folder})
    return stand_in.arming(backend) if kind == "uio" else backend


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda kill: kill.name)
def test_one_process_at_a_time(board, kill):
    kind, folder = board
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(**OPEN), kind, folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(DeviceError, match=f"7.* is in use by process {holder.pid}$"):
            opened(kind, folder)
    finally:
        holder.send_signal(kill)
        holder.wait()
    opened(kind, folder).close()


def test_twice_in_one_process_is_refused_too(board):
    first = opened(*board)
    with pytest.raises(DeviceError, match=f"is in use by process {os.getpid()}"):
        opened(*board)
    first.close()
    first.close()
    opened(*board).close()


def test_a_failed_opening_frees_the_device(board):
    kind, folder = board
    late = folder / ("class/uio/uio7/maps/map1/size" if kind == "uio" else "xdma7_c2h_0")
    away = late.rename(folder / "away")
    for _ in range(2):
        with pytest.raises(DeviceError, match=str(late)):
            opened(kind, folder)
    away.rename(late)
    opened(kind, folder).close()


def test_closing_stops_only_what_was_started_here(board):
    kind, folder = board
    backend = opened(kind, folder)
    backend.write32(reg.STATUS, reg.BUSY)  # a file: it stays so
    backend.close()
    backend = opened(kind, folder)
    assert backend.read32(reg.CTRL) == 0
    backend.write32(reg.CTRL, reg.START)
    backend.close()
    backend = opened(kind, folder)
    assert backend.read32(reg.CTRL) == reg.STOP
    backend.close()


class Left:
    """A back end whose engine runs a program until it is stopped."""

    def __init__(self):
        self.registers, self.closed = {reg.ID: reg.ID_VALUE, reg.STATUS: reg.BUSY, reg.ERROR: 6 | 17 << 8}, False

    def read32(self, offset):
        return self.registers.get(offset, 0)

    def write32(self, offset, value):
        if offset == reg.CTRL and value & reg.STOP:
            self.registers[reg.STATUS] = reg.FAILED

    def wait_irq(self, timeout):
        return False

    def close(self):
        self.closed = True


@pytest.mark.parametrize(
    "stop, code, text",
    [
        (False, cli.MISMATCH, "NOT OK  uio:3      busy: --stop ends it"),
        (True, cli.OK, "ok      uio:3      stopped a program; failed, code 6 (stopped by the host) at instruction 17"),
    ],
)
def test_doctor_tells_and_stops(monkeypatch, capsys, stop, code, text):
    left = Left()
    monkeypatch.setattr(doctor, "open_device", lambda name: left)
    assert cli.run(["doctor", "--device", "uio:3", *["--stop"] * stop]) == code
    assert capsys.readouterr().out.strip() == text and left.closed


def test_doctor_refuses(monkeypatch, capsys):
    left = Left()
    left.registers[reg.ID] = 0xDEAD
    monkeypatch.setattr(doctor, "open_device", lambda name: left)
    assert cli.run(["doctor", "--device", "uio:3", "--stop"]) == cli.MISMATCH
    assert "no gradcore engine: ID is 0x0000dead" in capsys.readouterr().out
    assert left.registers[reg.STATUS] == reg.BUSY
    assert cli.run(["doctor", "--stop"]) == cli.USER and "name the --device" in capsys.readouterr().err
