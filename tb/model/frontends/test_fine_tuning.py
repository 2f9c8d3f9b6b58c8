# SPDX-License-Identifier: Apache-2.0
"""The example of fine-tuning, on the reference trainer."""

import re
import subprocess
import sys

import pytest

from gradcore.files.places import ROOT

pytest.importorskip("torch", reason="PyTorch is not installed: the extra [torch]")


def test_the_last_layer_learns_as_in_pytorch(tmp_path):
    """Within half a point of PyTorch; the layers before it stay as they were."""
    script, out = ROOT / "examples/fine_tuning/fine_tune.py", tmp_path / "a folder"
    command = [sys.executable, script, "--backend", "reference", "--seed", "3", "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={"PYTHONPATH": str(ROOT / "model")})
    assert done.returncode == 0, done.stderr
    ours, theirs = map(float, re.findall(r"^digits 5 to 9.*: +([\d.]+) %", done.stdout, re.M))
    assert abs(ours - theirs) <= 0.5 and ours > 85
    network = (out / "net.toml").read_text()
    assert network.count("trainable = false") == 2 and "momentum = " in network
