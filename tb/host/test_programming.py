# SPDX-License-Identifier: Apache-2.0
"""doc/programming.md: its Python runs on the simulated RTL, its C trains bit-exactly."""

import ctypes
import re
import subprocess

import numpy as np
import pytest

from gradcore import registers as reg
from gradcore.compiler import compile_network
from gradcore.config import EngineConfig
from gradcore.driver import MachineBackend
from gradcore.network import Conv, Dense, Network
from gradcore.reference import ReferenceTrainer
from gradcore.sources import ROOT

GUIDE = ROOT / "doc" / "programming.md"


def code(language, text=None):
    """All of the guide's code in a language, at its lines."""
    text = text or GUIDE.read_text()
    blocks = [(text[: m.start(1)].count("\n"), m[1]) for m in re.finditer(rf"^```{language}\n(.*?)^```", text, re.M | re.S)]
    lines = [""] * (text.count("\n") + 1)
    for first, block in blocks:
        lines[first : first + block.count("\n")] = block.splitlines()
    return "\n".join(lines)


def test_python():
    names = {}
    exec(compile(code("python"), GUIDE, "exec"), names)
    trainer = ReferenceTrainer(names["network"], 1)
    assert names["losses"] == [trainer.step(x, labels, i) for i, (x, labels) in enumerate(zip(names["x"], names["labels"]))]
    assert [event.error.code for event in names["errors"]] == [34]
    for own, reference in zip(names["weights"], trainer.weights()):
        assert all((own[key] == reference[key]).all() for key in own)
    causes = [value for name, value in names["counters"].items() if re.fullmatch(r"load\.\w+", name)]
    assert sum(causes) == names["counters"]["cycles"]


def test_python_goes_red():
    text = GUIDE.read_text()
    assert text.count("wait=waits(\"compute_written\")") == 1
    with pytest.raises(AssertionError):
        exec(compile(code("python", text.replace("wait=waits(\"compute_written\")", "wait=0")), GUIDE, "exec"), {})


READ, WRITE = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32), ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32)
STATE, PROGRAM, IMAGES, TARGETS, END = 0x0000, 0x10000, 0x20000, 0x30000, 0x40000


@pytest.fixture
def host(tmp_path):
    """The guide's C as a library, on registers given as two functions."""
    source = tmp_path / "host.c"
    source.write_text(code("c") + """
static uint32_t (*read32)(uint32_t);
static void (*write32)(uint32_t, uint32_t);
uint32_t reg_read(uint32_t offset) { return read32(offset); }
void reg_write(uint32_t offset, uint32_t value) { write32(offset, value); }
void connect(uint32_t (*r)(uint32_t), void (*w)(uint32_t, uint32_t)) { read32 = r; write32 = w; }
""")
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", tmp_path / "host.so", source], check=True)
    library, u = ctypes.CDLL(str(tmp_path / "host.so")), ctypes.c_uint32
    library.prepare.argtypes = [ctypes.c_uint64] * 3 + [u]
    library.connect.argtypes = READ, WRITE
    library.train.argtypes = [ctypes.c_uint64, ctypes.c_uint64, u, u, ctypes.POINTER(ctypes.c_uint64)]
    return library


def test_c(host):
    config = EngineConfig(grid=4, cols=4, mem_bytes=16, act_depth=256, wgt_depth=256, grad_depth=256, gate_depth=512)
    network = Network("tiny", (2, 5, 5), (Conv(5, (3, 3), (1, 1), pool=2), Dense(3)), minibatch=3)
    compiled, trainer, rng = compile_network(network, config), ReferenceTrainer(network, 7), np.random.default_rng(1)
    backend = MachineBackend(config, END)
    calls = READ(backend.read32), WRITE(backend.write32)
    host.connect(*calls)
    backend.mem_write(STATE, compiled.initial_image(trainer.weights()))
    backend.mem_write(PROGRAM, compiled.train.binary)
    host.prepare(STATE, PROGRAM, END, len(compiled.train.instructions))
    for iteration in range(3):
        x, labels = rng.integers(-4096, 4096, (3, *network.shape)), rng.integers(0, 3, 3)
        backend.mem_write(IMAGES, compiled.pack_images(x))
        backend.mem_write(TARGETS, compiled.pack_targets(labels))
        loss = ctypes.c_uint64()
        assert host.train(IMAGES, TARGETS, 7, iteration, loss) == 0 and loss.value == trainer.step(x, labels, iteration)
    state = compiled.unpack_state(lambda tensor: backend.mem_read(tensor.addr, tensor.layout.size))
    for own, reference in zip(state, trainer.weights()):
        assert all((own[key] == reference[key]).all() for key in own)
    windows = reg.window(0, STATE, PROGRAM, reg.READ | reg.WRITE) | reg.window(1, PROGRAM, END, reg.READ)
    assert {offset: backend.read32(offset) for offset in windows} == windows        # the machine model has none: the RTL's are looked at elsewhere
