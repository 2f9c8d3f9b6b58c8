# SPDX-License-Identifier: Apache-2.0
"""The training system of examples/ as a user meets it: copied out of the repository, its images made by its script, run
by fusesoc."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from gradcore.files.places import ROOT
from tb.fusesoc.conftest import Shell
from tb.support.cases import long

CORE = "example:user:training_system"


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    shutil.copytree(
        ROOT / "examples" / "training_system", folder, ignore=shutil.ignore_patterns("*.hex", "build", "fusesoc.conf")
    )
    return folder


def make_images(project, *options):
    done = subprocess.run(
        [sys.executable, project / "make_images.py", *options],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "model")},
    )
    assert done.returncode == 0, done.stderr


def flip(file, line):
    """Flip the lowest bit of the number in a line."""
    lines = file.read_text().split()
    lines[line] = f"{int(lines[line], 16) ^ 1:012x}"
    file.write_text("\n".join(lines))


def test_trains_outside_the_repository(tmp_path, project):
    """The commands of its README, and the line that it promises."""
    fusesoc = Shell(tmp_path / "home")
    make_images(project)
    words = len((project / "expected.hex").read_text().split())
    assert words == 2 * (5 * 9 + 5 + 2 * 5 * 16 + 2)  # weights, biases and as many momenta
    done = fusesoc("library", "add", "gradcore", ROOT, cwd=project, config=False)
    assert done.returncode == 0, done.stdout
    done = fusesoc("--cores-root", ".", "run", "--target=lint", CORE, cwd=project, config=False)
    assert done.returncode == 0 and "%Warning" not in done.stdout, done.stdout[-3000:]
    done = fusesoc("--cores-root", ".", "run", "--target=sim", CORE, cwd=project, config=False)
    assert done.returncode == 0 and f"training_system: passed, 40 commands, {words} words equal" in done.stdout, (
        done.stdout[-3000:]
    )
    said = re.findall(r"^    (training_system: .*)$", (project / "README.md").read_text(), re.M)
    assert said == re.findall(r"training_system: passed.*", done.stdout)


@pytest.mark.parametrize(
    "file, line, words",
    [
        ("expected.hex", -1, "is [0-9a-f]{4}, expected"),  # the last momentum
        long("commands.hex", -2, "command 30 .* failed"),  # the high word of LOSS
    ],
)
def test_goes_red(file, line, words, tmp_path, project):
    make_images(project, "--iterations", "1")
    flip(project / file, line)
    done = Shell(tmp_path / "home")("--cores-root", ROOT, "--cores-root", ".", "run", "--target=sim", CORE, cwd=project)
    assert done.returncode != 0 and "passed" not in done.stdout and re.search(words, done.stdout), done.stdout[-3000:]
