# SPDX-License-Identifier: Apache-2.0
"""The fusesoc command and a library to break, for every test of this folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gradcore.files.places import ROOT
from tb.support.tools import tool_environment


class Shell:
    """Calls fusesoc with a configuration, a cache and a build root of its own; the user's stay untouched."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "FUSESOC_IGNORE").touch()
        self.env = tool_environment() | {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "CACHE", "DATA")}

    def __call__(self, *arguments, cwd: Path = ROOT, config: bool = True) -> subprocess.CompletedProcess:
        (self.folder / "empty.conf").touch()
        own = ["--config", self.folder / "empty.conf"] if config else []
        program = [sys.executable, "-c", "import sys; from fusesoc.main import main; sys.exit(main())"]
        return subprocess.run(
            [*program, *own, *arguments],
            cwd=cwd,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, target: str, core: str, root: Path = ROOT, *more) -> subprocess.CompletedProcess:
        return self(
            "--cores-root",
            root,
            "run",
            "--clean",
            "--build-root",
            self.folder / "build",
            f"--target={target}",
            *more,
            core,
            cwd=root,
        )


def copy_of_library(target: Path) -> Path:
    """The library, outside the repository."""
    for folder in ("rtl", "tb/player", "tb/step"):
        shutil.copytree(ROOT / folder, target / folder)
    shutil.copy(ROOT / "core.core", target)
    return target


def plant(path: Path, right: str, wrong: str) -> None:
    text = path.read_text()
    assert text.count(right) == 1, f"{path.name} has not one «{right}»"
    path.write_text(text.replace(right, wrong))


@pytest.fixture(scope="module")
def fusesoc():
    shell = Shell(ROOT / "build" / "fusesoc" / str(os.getpid()))
    yield shell
    shutil.rmtree(shell.folder)
