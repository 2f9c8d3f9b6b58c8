# SPDX-License-Identifier: Apache-2.0
"""`gradcore export` for boards and NumPy: what a C compiler finds in the header trains on the machine model as the
reference trainer does, with nothing else of Python's driver."""

import re
import subprocess

import numpy as np
import pytest

from gradcore.cli import main as cli
from gradcore.compiler.compile import compile_network
from gradcore.host import inference
from gradcore.host.placement import PAGE
from gradcore.isa import registers as reg
from gradcore.isa.config import EngineConfig
from gradcore.machine.backend import MachineBackend
from gradcore.numerics.random_numbers import iteration_seed
from gradcore.reference.trainer import ReferenceTrainer
from tb.model.cli.test_weights import SMALL, place, train  # noqa: F401 (place is a fixture)

PRINT = """
#include <stdio.h>
#include "net.h"
int main(void) {{ {} for (unsigned k = 0; k < sizeof gc_network_image / 4; k++) printf("%u\\n", gc_network_image[k]); }}
"""


@pytest.fixture
def folder(place):  # noqa: F811
    """`a` is a run on a small engine: tanh (a table in memory), two layers with weights."""
    net = (
        (place / "net.toml")
        .read_text()
        .replace('[[layer]]\ntype = "dense"', '[[layer]]\ntype = "tanh"\n[[layer]]\ntype = "dense"')
    )
    (place / "net.toml").write_text(net.replace('loss = "euclidean"', 'loss = "softmax_cross_entropy"'))
    assert train("a", "--engine", SMALL, backend="machine") == 0
    return place


def compiled_header(folder):
    """({macro: value}, words) as a strict C compiler reads the header."""
    names = re.findall(r"#define GC_NETWORK_(\w+) 0x", (folder / "net.h").read_text())
    lines = "".join(f'printf("%s %u\\n", "{name}", GC_NETWORK_{name});' for name in names)
    (folder / "print.c").write_text(PRINT.format(lines))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run(["gcc", *flags, "print.c", "-o", "print"], cwd=folder, check=True)
    said = subprocess.run([folder / "print"], capture_output=True, text=True, check=True).stdout.splitlines()
    values = dict(line.split() for line in said[: len(names)])
    return {name: int(value) for name, value in values.items()}, np.array(said[len(names) :], np.uint32)


def test_a_board_trains_with_it(folder):
    assert cli.run(["export", "a", "--out", "net.h"]) == 0
    at, words = compiled_header(folder)
    model = inference.load_model("a")
    config, base = EngineConfig(**model.engine), 3 * PAGE
    compiled = compile_network(model.network, config)
    rng = np.random.default_rng(1)
    x, labels = rng.integers(0, 4096, (16, 1, 8, 8)), rng.integers(0, 3, 16)
    assert at["MINIBATCH"] == 16 and at["CLASSES"] == 3 and at["BYTES"] == words.nbytes <= at["MEMORY"]
    backend = MachineBackend(config, base + at["MEMORY"])
    for offset, name in ((reg.CONFIG, "CONFIG"), (reg.CONFIG2, "CONFIG2"), (reg.CONFIG3, "CONFIG3")):
        assert backend.read32(offset) == at[name]
    backend.mem_write(base, words.view(np.uint8))
    backend.mem_write(base + at["IMAGES"], compiled.pack_images(x))
    backend.mem_write(base + at["TARGETS"], compiled.pack_targets(labels))
    once = reg.window(0, base + at["STATE"], base + at["IMAGES"], reg.READ | reg.WRITE)
    once |= reg.window(1, base, base + at["STATE"], reg.READ)
    once |= reg.window(2, base + at["IMAGES"], base + at["MEMORY"], reg.READ)
    once |= {reg.BASE[0]: base + at["STATE"], reg.BASE[1]: base + at["IMAGES"], reg.BASE[2]: base + at["TARGETS"]}
    trainer = ReferenceTrainer(model.network, model.seed, model.state)
    for iteration in range(2):
        once |= {reg.PROG_BASE: base + at["TRAIN"], reg.PROG_LENGTH: at["TRAIN_LENGTH"]}
        once |= {reg.SEED: iteration_seed(at["SEED"], iteration), reg.IRQ_ENABLE: reg.IRQ_DONE | reg.IRQ_FAILED}
        for offset, value in once.items():
            backend.write32(offset, value)
        backend.write32(reg.CTRL, reg.START)
        assert backend.wait_irq(10) and backend.read32(reg.STATUS) & reg.DONE
        backend.write32(reg.IRQ_STATUS, reg.IRQ_DONE)
        loss = backend.read32(reg.LOSS) | backend.read32(reg.LOSS + 4) << 32
        assert loss == trainer.step(x, labels, iteration)
    found = compiled.unpack_state(lambda t: backend.mem_read(base + at["STATE"] + t.addr, t.end - t.addr))
    for ours, theirs in zip(found, trainer.weights(), strict=True):
        assert all((ours[key] == theirs[key]).all() for key in theirs)


def test_all_forms_hold_the_same_bytes(folder):
    for name in ("net.h", "net.bin", "net.hex"):
        assert cli.run(["export", "a", "--out", name]) == 0
    _, words = compiled_header(folder)
    content = (folder / "net.bin").read_bytes()
    lines = (folder / "net.hex").read_text().split()
    assert words.tobytes() == content == b"".join(bytes.fromhex(line)[::-1] for line in lines)
    assert {len(line) for line in lines} == {2 * 16}  # SMALL has beats of 16 bytes


def test_another_engine(folder):
    assert cli.run(["export", "a", "--out", "net.h", "--engine", "grid=4,cols=8,mem_bytes=32"]) == 0
    at, _ = compiled_header(folder)
    assert at["CONFIG"] == EngineConfig(grid=4, cols=8, mem_bytes=32).config_registers[0]


def test_real_numbers(folder):
    assert cli.run(["export", "a", "--out", "real.npz"]) == 0
    found, model = np.load("real.npz"), inference.load_model("a")
    for p, state in zip(model.network.parameters, model.state):
        for key in ("weight", "bias"):
            integers = found[f"{p.name}.{key}"] * 2.0 ** found[f"{p.name}.{key}.frac"]
            assert (integers == state[key]).all() and state[key].any()
    assert len(found.files) == 8


@pytest.mark.parametrize(
    "words, said",
    [
        (["--out", "net.elf"], "net.elf: is none of .onnx, .npz, .h, .hex, .bin"),
        (["--out", "net.onnx"], "net.onnx: needs MODEL.onnx before it"),
        (["model.onnx", "--out", "net.h"], "net.h: is no .onnx file"),
        (["--out", "net.h", "--engine", "grid=4,cols=4,has_vector=0"], "a: layer 'tanh1'"),
    ],
)
def test_refuses(folder, capsys, words, said):
    assert cli.run(["export", "a", *words]) == cli.USER
    assert said in capsys.readouterr().err and not list(folder.glob("net.[eho]*"))
