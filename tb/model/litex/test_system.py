# SPDX-License-Identifier: Apache-2.0
"""examples/litex: a RISC-V processor, LiteDRAM and the engine train in one simulation."""

import shutil
import subprocess
import sys

import pytest

from gradcore.files.places import ROOT
from tb.support.cases import long

pytest.importorskip("pythondata_cpu_vexriscv", reason="VexRiscv is not installed: the extra [litex]")
COMPILER = shutil.which("riscv64-unknown-elf-gcc")


@pytest.mark.skipif(not COMPILER, reason="there is no compiler for RISC-V: riscv64-unknown-elf-gcc")
@pytest.mark.parametrize("seed", ["1", long("2")])
def test_the_example(seed, tmp_path):
    words = [sys.executable, ROOT / "examples" / "litex" / "train.py", "--minibatches", "2", "--seed", seed]
    done = subprocess.run([*words, "--out", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    *lines, last = done.stdout.splitlines()
    assert sum(line.startswith("loss ") for line in lines) == 2
    assert last == "losses equal: yes, weights equal: yes"


def test_no_compiler(tmp_path):
    words = [sys.executable, ROOT / "examples" / "litex" / "train.py", "--out", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, env={"PATH": "", "PYTHONPATH": ":".join(sys.path)})
    assert done.returncode == 3 and "error: none of riscv64-unknown-elf-gcc" in done.stderr


def test_a_compiler_that_fails(tmp_path):
    compiler = tmp_path / "riscv64-unknown-elf-gcc"
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    words = [sys.executable, ROOT / "examples" / "litex" / "train.py", "--out", tmp_path / "made"]
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(words, capture_output=True, text=True, env=env)
    assert done.returncode == 3
    assert done.stderr.endswith("error: riscv64-unknown-elf-gcc cannot make the firmware\n")  # LiteX says more before


@pytest.mark.parametrize("words", [["--minibatches", "0"], ["--seed", "-1"]])
def test_illegal_options(words):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "litex" / "train.py", *words], capture_output=True, text=True
    )
    assert done.returncode == 2 and words[0] in done.stderr
