# SPDX-License-Identifier: Apache-2.0
"""doc/programming.md: its Python and its C train on the simulated RTL, bit-exactly."""

import ctypes
import re
import subprocess

import numpy as np
import pytest

from gradcore.compiler.compile import compile_network
from gradcore.files.places import ROOT
from gradcore.isa import registers as reg
from gradcore.network.description import Network
from gradcore.ops.convolution import Conv, Dense
from gradcore.reference.trainer import ReferenceTrainer
from gradcore.sim.backend import Memory, SimBackend
from gradcore.sim.build import build_engine
from tb.support.engines import SMALL

GUIDE = ROOT / "doc" / "programming.md"


def code(language, text=None):
    """All of the guide's code in a language, at its lines."""
    text = text or GUIDE.read_text()
    blocks = [
        (text[: m.start(1)].count("\n"), m[1]) for m in re.finditer(rf"^```{language}\n(.*?)^```", text, re.M | re.S)
    ]
    lines = [""] * (text.count("\n") + 1)
    for first, block in blocks:
        lines[first : first + block.count("\n")] = block.splitlines()
    return "\n".join(lines)


def test_python():
    names = {}
    exec(compile(code("python"), GUIDE, "exec"), names)
    trainer = ReferenceTrainer(names["network"], 1)
    assert names["losses"] == [
        trainer.step(x, labels, i) for i, (x, labels) in enumerate(zip(names["x"], names["labels"]))
    ]
    assert [event.error.code for event in names["errors"]] == [34]
    for own, reference in zip(names["weights"], trainer.weights()):
        assert all((own[key] == reference[key]).all() for key in own)
    causes = [value for name, value in names["counters"].items() if re.fullmatch(r"load\.\w+", name)]
    assert sum(causes) == names["counters"]["cycles"]


def test_python_goes_red():
    text = GUIDE.read_text()
    assert text.count('wait=waits("compute_written")') == 1
    with pytest.raises(AssertionError):
        exec(compile(code("python", text.replace('wait=waits("compute_written")', "wait=0")), GUIDE, "exec"), {})


READ = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32)
WRITE = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32)
STATE, PROGRAM, IMAGES, TARGETS, END = 0x0000, 0x10000, 0x20000, 0x30000, 0x40000


@pytest.fixture
def host(tmp_path):
    """The guide's C as a library, on registers given as two functions."""
    source = tmp_path / "host.c"
    source.write_text(
        """#include <stdint.h>
static uint32_t (*read32)(uint32_t);
static void (*write32)(uint32_t, uint32_t);
#define GC_READ32(regs, offset) read32(offset)
#define GC_WRITE32(regs, offset, value) write32(offset, value)
#line 1
"""
        + code("c")
        + """
void connect(uint32_t (*r)(uint32_t), void (*w)(uint32_t, uint32_t)) { read32 = r; write32 = w; }
uint64_t counter(uint32_t offset) { return gc_counter(0, offset); }
"""
    )
    flags = ["-std=c99", "-ffreestanding", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    shared = ["-I", ROOT / "rtl" / "engine", "-shared", "-fPIC", "-o", tmp_path / "host.so"]
    subprocess.run(["cc", *flags, *shared, source], check=True)
    library = ctypes.CDLL(str(tmp_path / "host.so"))
    u, u64, p = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
    library.connect.argtypes = READ, WRITE
    library.prepare.argtypes = [p, u64, u64, u64, u]
    library.train.argtypes, library.train.restype = [p, u64, u64, u, u, ctypes.POINTER(u64)], u
    library.utilisation.argtypes, library.utilisation.restype = [p], u
    library.counter.argtypes, library.counter.restype = [u], u64
    return library


def test_c(host):
    """On the simulated RTL: LOSS and weights as the reference trainer's, counters as Python reads them, error codes."""
    config = SMALL
    network = Network("tiny", (2, 5, 5), (Conv(5, (3, 3), (1, 1), pool=2), Dense(3)), minibatch=3)
    compiled, trainer, rng = compile_network(network, config), ReferenceTrainer(network, 7), np.random.default_rng(1)
    backend, accesses = SimBackend(build_engine(config)[0], Memory(size=1 << 20, bytes_per_cycle=16)), []
    read, write = READ(lambda offset: accesses.append(offset) or backend.read32(offset)), WRITE(backend.write32)
    host.connect(read, write)
    backend.mem_write(STATE, compiled.initial_image(trainer.weights()))
    backend.mem_write(PROGRAM, compiled.train.binary)
    assert host.prepare(None, STATE, PROGRAM, END, len(compiled.train.instructions)) == 0
    for iteration in range(3):
        x, labels = rng.integers(-4096, 4096, (3, *network.shape)), rng.integers(0, 3, 3)
        backend.mem_write(IMAGES, compiled.pack_images(x))
        backend.mem_write(TARGETS, compiled.pack_targets(labels))
        loss = ctypes.c_uint64()
        assert host.train(None, IMAGES, TARGETS, 7, iteration, loss) == 0
        assert loss.value == trainer.step(x, labels, iteration)
    state = compiled.unpack_state(lambda tensor: backend.mem_read(tensor.addr, tensor.layout.size))
    for own, reference in zip(state, trainer.weights()):
        assert all((own[key] == reference[key]).all() for key in own)

    for n, name in reg.COUNTER_NAMES.items():
        low, high = reg.COUNTERS + 8 * n, reg.COUNTERS + 8 * n + 4
        accesses.clear()
        assert host.counter(low) == backend.read32(low) | backend.read32(high) << 32 and accesses == [low, high], name
    counters = {name: host.counter(reg.COUNTERS + 8 * n) for n, name in reg.COUNTER_NAMES.items()}
    assert host.utilisation(None) == 100 * counters["compute.mac_busy"] // counters["cycles"] > 0

    assert host.train(None, IMAGES, END, 7, 3, loss) == 7 and loss.value == 0
    assert reg.ERRORS[7] == "read outside the windows"
    nothing = READ(lambda offset: 0)
    host.connect(nothing, write)
    assert host.prepare(None, STATE, PROGRAM, END, 1) == -1
    backend.close()
