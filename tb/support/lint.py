# SPDX-License-Identifier: Apache-2.0
"""Four linters over a piece of the repository, as Verilog-2005 and as SystemVerilog, each tool's default."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from gradcore.files.places import ROOT
from gradcore.sim.sources import core_names, sources

from .access import ACCESS_W
from .tools import tool_environment

# A whole engine takes long at its full size; in that it is linted once, as Verilog-2005 in its own core.
SMALL = {"gc_engine_axi": {"GRID": 4, "COLS": 4}, "gc_engine_avalon": {"GRID": 4, "COLS": 4}, "gc_vcu118": {"COLS": 8}}


@dataclass(frozen=True)
class Piece:
    """Files that are linted together, paths below a folder: `own`, the `benches` around them (they have delays and call
    $fatal), and `others`, which belong to other pieces. `proof`: Yosys's dialect, which Icarus alone understands
    besides; `yosys`: can Yosys read it?"""

    own: tuple
    others: tuple = ()
    benches: tuple = ()
    proof: bool = False
    yosys: bool = True

    @property
    def files(self) -> tuple:
        return *self.others, *self.own, *self.benches


def modules(files, cwd: Path = ROOT) -> list[str]:
    """Modules that the files define."""
    return [m for f in files for m in re.findall(r"^\s*module\s+(\w+)", (cwd / f).read_text(), re.M)]


def roots(files, cwd: Path = ROOT) -> list[str]:
    """Those of their modules that none of them instantiates."""
    text = "".join((cwd / f).read_text() for f in files)
    return [top for top in modules(files, cwd) if not re.search(rf"^\s*{top}\s+(#|u_)", text, re.M)]


def needed(files, cwd: Path = ROOT) -> dict[str, dict[str, int]]:
    """Parameters without a default that makes sense, by module: only gc_engine knows how wide a record is."""
    found = {}
    for f in files:
        (name,) = modules([f], cwd) or [""]
        if re.search(r"parameter ACCESS_W += 1\b", (cwd / f).read_text()):
            found[name] = {"ACCESS_W": ACCESS_W}
    return found


def pieces() -> dict[str, Piece]:
    """Everything that is linted, by name: cores with the benches of their targets `sim`, examples, boards, proofs."""
    found = {}
    for core in core_names():
        rtl = sources(core)
        own = [f for f in rtl if ROOT / "rtl" / core in f.parents]
        benches = [f for f in sources(core, target="sim") if f not in rtl]
        found[core] = _piece(own, [f for f in rtl if f not in own], benches)
    for name, core in {"mac_array_user": "mac_array", "training_system": "axi"}.items():
        folder = ROOT / "examples" / name
        benches = sorted(folder.glob("*_tb.v"))
        # The RAM of the training system reads a file that make_images.py writes; Yosys would want it.
        rtl = sorted({*folder.glob("*.v")} - {*benches})
        found[f"examples/{name}"] = _piece(rtl, sources(core), benches, yosys=core == "mac_array")
    for name, core in {"vcu118": "axi", "s10gx": None}.items():
        folder = ROOT / "boards" / name
        others = [*(sources(core) if core else ()), *(folder / "stub").glob("*.v")]
        found[f"boards/{name}"] = _piece(sorted(folder.glob("*.v")), others)
    folder = ROOT / "boards" / "ulx3s"
    found["boards/ulx3s"] = _piece(sorted(folder.glob("*.v")), sources("engine"))
    for proof in sorted((ROOT / "formal").glob("*/*.sby")):
        files = [ROOT / f for f in proof.read_text().partition("[files]")[2].split()]
        own = [f for f in files if f.stem == f"gc_{proof.stem}_props"]
        found[f"formal/{proof.parent.name}/{proof.stem}"] = _piece(own, [f for f in files if f not in own], proof=True)
    return found


def _piece(own, others, benches=(), **more) -> Piece:
    """With paths relative to the repository, and the devices' DSP blocks if a file names one."""
    if any(f.name == "gc_mac_mult18x18d.v" for f in (*own, *others)):
        others = [*sorted((ROOT / "tb" / "primitives").glob("*.v")), *others]
    return Piece(*(tuple(str(f.relative_to(ROOT)) for f in files) for files in (own, others, benches)), **more)


def commands(piece: Piece, cwd: Path = ROOT, top: str | None = None, parameters: dict | None = None) -> dict[str, list]:
    """Lint commands. Icarus and Yosys take all own modules as tops at once, Verilator one by one; as SystemVerilog only
    those that no other one instantiates. Modules of other pieces are linted as they are used. `top`: this one alone,
    with these `parameters`."""
    own, tops = ([top], [top]) if top else (modules(piece.own, cwd), modules((*piece.own, *piece.benches), cwd))
    given = (parameters or {}).items()
    widths = needed(piece.own, cwd)
    result = {}
    for language, flag in {"2005": "-g2005", "SystemVerilog": "-g2012"}.items():
        if not piece.proof or language == "SystemVerilog":
            names = [word for name in tops for word in ("-s", name)]
            result[f"icarus {language}"] = [
                "iverilog",
                flag,
                "-Wall",
                "-t",
                "null",
                *names,
                *(f"-P{top}.{key}={value}" for key, value in given),
                *(f"-P{name}.{key}={value}" for name in names[1::2] for key, value in widths.get(name, {}).items()),
                *piece.files,
            ]
    if piece.proof:
        return result
    for name in own:
        files = [*piece.others, *piece.own]
        more = widths.get(name, {}) | (parameters or {}) or parameters
        result[f"verilator 2005 {name}"] = _verilator(name, more, files, "--language", "1364-2005")
    for name in [top] if top else roots((*piece.own, *piece.benches), cwd):
        timing = ["--timing"] if piece.benches else []
        result[f"verilator SystemVerilog {name}"] = _verilator(name, parameters, piece.files, *timing)
    # Around an engine only the own modules are looked at.
    flags = "-lib" if any(f.endswith("/gc_engine.v") for f in piece.others) else "-defer"
    change = f"chparam {' '.join(f'-set {key} {value}' for key, value in given)} {top}; " if given else ""
    change += "".join(
        f"chparam -set {key} {value} {name}; " for name in own for key, value in widths.get(name, {}).items()
    )
    for language, flag, checks in (("2005", "", "; proc; check -assert"), ("SystemVerilog", "-sv ", "")):
        parts = [(flags, piece.others), ("", piece.own)]
        read = "".join(f"read_verilog {flag}{kind} {' '.join(files)}; " for kind, files in parts if files)
        if piece.yosys:
            script = f"{read}{change}hierarchy -check{f' -top {top}' if top else ''}{checks}"
            result[f"yosys {language}"] = [sys.executable, str(ROOT / "ci" / "yosys"), "-q", "-p", script]
    one = ["--top", top, *(f"-G{key}={value}" for key, value in given)] if top else []
    result["slang"] = [sys.executable, "-m", "tb.support.slang", *one, *piece.files]
    return result


def _verilator(top: str, parameters: dict | None, files, *flags) -> list[str]:
    given = (SMALL.get(top, {}) if parameters is None else parameters).items()
    changed = [f"-G{key}={value}" for key, value in given]
    return ["verilator", "--lint-only", "-Wall", *flags, "--top-module", top, *changed, *files]


def lint(piece: Piece) -> dict[str, str]:
    """Findings by linter; empty when the piece is clean. Every warning is a finding."""
    return findings_of(commands(piece), ROOT) if modules(piece.own) else {"files": "no module is defined"}


def lint_parameters(core: str, top: str, parameters: dict[str, int]) -> dict[str, str]:
    """Findings by linter of one module of a core with other parameters than its own."""
    piece = pieces()[core]
    return findings_of(commands(Piece(piece.own, piece.others), ROOT, top, parameters), ROOT)


def findings_of(lint_commands: dict[str, list[str]], cwd: Path) -> dict[str, str]:
    """Run the commands in a folder and return the output of those that found something."""
    env = tool_environment() | {"PYTHONPATH": f"{ROOT}:{ROOT / 'model'}"}
    findings = {}
    for name, command in lint_commands.items():
        done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd)
        output = (done.stdout + done.stderr).strip()
        if done.returncode or re.search(r"[Ww]arning:", output):
            findings[name] = output or f"exit code {done.returncode}"
    return findings
