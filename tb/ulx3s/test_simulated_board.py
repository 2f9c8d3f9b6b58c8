# SPDX-License-Identifier: Apache-2.0
"""The driver and the simulated top, with a pseudo-terminal and the bits of the serial line between them."""

import json
import random
import re
import subprocess
import sys

import numpy as np
import pytest

from gradcore.cli import main as cli
from gradcore.compiler.compile import compile_network
from gradcore.data.datasets import load_digits
from gradcore.files.places import ROOT
from gradcore.host import uart
from gradcore.host.boards import open_device
from gradcore.host.device import Device
from gradcore.host.engine_setup import require_engine
from gradcore.host.placement import room
from gradcore.isa.config import BOARDS
from gradcore.network.net_toml import load
from gradcore.reference.trainer import ReferenceTrainer

CONFIG = BOARDS["ulx3s"]
BOARD_HZ = 25_000_000
OSCILLATOR_HZ = 400_000_000, 800_000_000  # of the PLL (FPGA-DS-02012)
NET = """name = "tiny"
input = [1, 8, 8]
loss = "square_hinge"
[train]
learning_rate = 0.01
minibatch = 4
[format]
data_width = 8
[[layer]]
type = "conv"
maps = 5
kernel = 3
pad = 1
pool = 2
[[layer]]
type = "dense"
maps = 2
"""


@pytest.fixture
def port(tmp_path):
    """Name of the terminal of a board that runs."""
    with subprocess.Popen(
        [sys.executable, ROOT / "boards" / "ulx3s" / "simulate"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as board:
        assert board.stdout and board.stdin
        yield board.stdout.readline().strip()
        board.stdin.close()
        assert board.wait(60) == 0


@pytest.fixture
def net(tmp_path):
    (tmp_path / "net.toml").write_text(NET)
    rng = np.random.default_rng(1)
    sets = {f"x_{part}": rng.integers(0, 256, (10, 8, 8), np.uint8) for part in ("train", "test")}
    sets |= {f"y_{part}": rng.integers(0, 2, 10) for part in ("train", "test")}
    np.savez(tmp_path / "data.npz", **sets)
    return tmp_path


class Noise:
    """A serial port on which bits flip and bytes get lost, both ways."""

    def __init__(self, port, share):
        self._port, self._share, self.hit = port, share, 0

    def __getattr__(self, name):
        return getattr(self._port, name)

    def _damaged(self, data):
        if not data or random.random() >= self._share:
            return data
        self.hit += 1
        data, at = bytearray(data), random.randrange(len(data))
        if random.random() < 0.9:  # a lost byte costs the whole time-out
            data[at] ^= 1 << random.randrange(8)
        else:
            del data[at]
        return bytes(data)

    def write(self, data):
        return self._port.write(self._damaged(data))

    def read(self, size):
        return self._damaged(self._port.read(size))


def test_the_top_is_what_the_driver_takes_it_for():
    """CONFIG is compared with the engine's registers when something is trained."""
    text = (ROOT / "boards" / "ulx3s" / "gc_ulx3s.v").read_text()
    top = {name: int(value) for name, value in re.findall(r"^    parameter (\w+) += (\d+)", text, re.M)}
    assert top["CLOCK_HZ"] // top["DIVISOR"] == uart.BAUD and top["CLOCK_HZ"] % top["DIVISOR"] == 0
    pll = {name: int(value) for name, value in re.findall(r"\.(\w+_DIV)\((\d+)\)", text)}
    assert BOARD_HZ * pll["CLKFB_DIV"] == top["CLOCK_HZ"] * pll["CLKI_DIV"]
    assert OSCILLATOR_HZ[0] <= top["CLOCK_HZ"] * pll["CLKOP_DIV"] <= OSCILLATOR_HZ[1]
    assert 1 << top["SILENCE_W"] == uart.SILENCE
    network = load(ROOT / "boards" / "ulx3s" / "digits.toml")
    assert len(load_digits().x_train) % network.minibatch == 0  # a smaller last one would need programs of its own
    assert room(compile_network(network, CONFIG)) <= 8 * top["WORDS"]


def test_trains_with_equal_weights(port, net, capsys):
    command = ["train", net / "net.toml", "--data", net / "data.npz", "--engine", "ulx3s", "--backend", f"uart:{port}"]
    command += ["--epochs", "1", "--out", net / "run", "--json", net / "report.json"]
    assert cli.run(list(map(str, command))) == 0, capsys.readouterr().err
    report = json.loads((net / "report.json").read_text())
    assert "weights equal: yes" in capsys.readouterr().out and report["weights_equal"] is True


@pytest.mark.long
def test_a_bad_line_costs_time_and_no_bit(port, net):
    network = load(net / "net.toml")
    x = np.random.default_rng(2).integers(-128, 128, (4, 1, 8, 8))
    with open_device(f"uart:{port}") as backend:
        noise = backend._port = Noise(backend._port, 0.05)
        require_engine(backend, CONFIG)
        data = np.random.default_rng(3).integers(0, 256, 700, np.uint8)
        backend.mem_write(1021, data)
        assert np.array_equal(backend.mem_read(1021, 700), data)
        device = Device(backend, network, CONFIG, verify=backend.verify)
        losses = [device.step(x, [0, 1, 1, 0], iteration) for iteration in range(2)]
        found = device.weights()
        assert noise.hit > 10
    trainer = ReferenceTrainer(network, 1, acc_width=CONFIG.acc_width)
    assert losses == [trainer.step(x, np.array([0, 1, 1, 0]), iteration) for iteration in range(2)]
    for layer, wanted in zip(found, trainer.weights(), strict=True):
        for key, value in wanted.items():
            assert np.array_equal(layer[key], value), key
