# SPDX-License-Identifier: Apache-2.0
"""Builds a core with a simulator and runs a file of cocotb tests on it, as part of an ordinary pytest test."""

import hashlib
import inspect
import json
import os
import random
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from cocotb_tools.runner import get_runner
from filelock import FileLock

from gradcore.files.places import ROOT
from gradcore.sim.sources import sources

from .tools import tool_environment

BUILD_ARGS = {
    "icarus": ["-g2005", "-Wall"],
    "verilator": [
        "-Wall",
        "--language",
        "1364-2005",
        "--x-initial",
        "unique",
        "--x-assign",
        "unique",
        "--inline-mult",
        "1",
        "--public-depth",
        "1",
    ],
}
drawn_seed = random.SystemRandom().randrange(1 << 31)  # tb/conftest.py draws one for each test


def simulator(default: str = "icarus") -> str:
    """The simulator of this run: the environment's SIM, else the test's own choice."""
    name = os.environ.get("SIM", default)
    if name not in BUILD_ARGS:
        pytest.fail(f"SIM={name}: not one of {', '.join(BUILD_ARGS)}")
    return name


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, default=str, sort_keys=True).encode()).hexdigest()[:16]


def _tail(text: str, lines: int = 60) -> str:
    return "\n".join(text.splitlines()[-lines:])


def run(
    core: str,
    toplevel: str,
    parameters: dict | None = None,
    *,
    sim: str | None = None,
    module: str | None = None,
    testcase: str | list | None = None,
    env: dict | None = None,
    models: Sequence[Path] = (),
    defines: Mapping[str, object] | None = None,
) -> None:
    """Run the cocotb tests of `module` (default: the calling file) on `toplevel` of a FuseSoC core.

    `parameters` are the toplevel's parameters; the tests find them as JSON in the environment (see `parameter`). Fails
    the pytest test when a cocotb test fails, when none ran, or when the build fails. The seed is the environment's SEED
    or the one that tb/conftest.py has drawn for this test; it is printed. With WAVES=1 in the environment the run's
    folder gets dump.vcd (Verilator) or dump.fst (Icarus). `models`: Verilog files that are none of the core's, with
    their macros `defines`.
    """
    sim = simulator(sim or "icarus")
    parameters = parameters or {}
    module = module or inspect.getmodule(inspect.stack()[1].frame).__name__
    files = [*models, *sources(core)]
    text = [hashlib.sha256(f.read_bytes()).hexdigest() for f in files]
    waves = os.environ.get("WAVES", "0") not in ("", "0")
    # Cocotb's dump module for Icarus is SystemVerilog.
    args = ["-g2012" if waves and a == "-g2005" else a for a in BUILD_ARGS[sim]]
    key = _digest(sim, toplevel, parameters, args, waves, text, defines)
    build_dir = ROOT / "build" / "tb" / f"{toplevel}-{sim}-{key}"
    build_dir.mkdir(parents=True, exist_ok=True)
    seed = int(os.environ.get("SEED", drawn_seed))
    test_dir = build_dir / f"run-{_digest(module, testcase, env, seed, os.getpid())}"
    test_dir.mkdir(exist_ok=True)
    results = test_dir / "results.xml"
    results.unlink(missing_ok=True)
    print(f"SEED={seed} SIM={sim} {toplevel} {parameters}")

    runner = get_runner(sim)
    saved = dict(os.environ)
    os.environ.update(tool_environment())
    try:
        with FileLock(build_dir / "lock"):
            if not (build_dir / "done").exists():
                runner.build(
                    sources=files,
                    hdl_toplevel=toplevel,
                    parameters=parameters,
                    defines=defines or {},
                    build_args=args,
                    build_dir=build_dir,
                    timescale=("1ns", "1ps"),
                    log_file=build_dir / "build.log",
                    waves=waves,
                )
                (build_dir / "done").touch()
        runner.test(
            hdl_toplevel=toplevel,
            hdl_toplevel_lang="verilog",
            test_module=module,
            testcase=testcase,
            build_dir=build_dir,
            test_dir=test_dir,
            results_xml=str(results),
            seed=seed,
            log_file=test_dir / "run.log",
            timescale=("1ns", "1ps"),
            waves=waves,
            plusargs=[f"+dumpfile_path={test_dir / 'dump.fst'}"] if waves and sim == "icarus" else [],
            extra_env={"PARAMETERS": json.dumps(parameters), "PYTHONPATH": f"{ROOT}:{ROOT / 'model'}", **(env or {})},
        )
    except (SystemExit, RuntimeError, subprocess.CalledProcessError) as error:
        log = next((p for p in (test_dir / "run.log", build_dir / "build.log") if p.exists()), None)
        pytest.fail(f"{error}\n{_tail(log.read_text()) if log else ''}", pytrace=False)
    finally:
        os.environ.clear()
        os.environ.update(saved)
    _check(results, test_dir / "run.log")


def _check(results: Path, log: Path) -> None:
    text = log.read_text() if log.exists() else ""
    if not results.exists():
        pytest.fail(f"no results: the simulation did not run\n{_tail(text)}", pytrace=False)
    cases = list(ET.parse(results).getroot().iter("testcase"))
    failed = [c.get("name") for c in cases if c.find("failure") is not None or c.find("error") is not None]
    ran = [c for c in cases if c.find("skipped") is None]
    if failed or not ran:
        pytest.fail(f"failed: {failed}, ran: {len(ran)}\n{_tail(text)}", pytrace=False)
    if re.search(r"\$error|%Error", text):
        pytest.fail(_tail(text), pytrace=False)


def parameter(name: str) -> int:
    """A parameter of the running toplevel, for use inside a cocotb test."""
    return json.loads(os.environ["PARAMETERS"])[name]


def expect_elaboration_error(
    core: str, toplevel: str, parameters: dict, text: str, alone: bool = False, models: Sequence[Path] = ()
) -> None:
    """Both simulators must refuse the parameters and name the reason `gradcore_illegal_parameter_<text>...`.

    `alone`: `text` is the whole name, and nothing else is wrong; within 20 seconds, without a crash. Only Verilator's
    ASCRANGE may come besides, of ports without bits. `models`: as in `run`.
    """
    files = [str(f) for f in (*models, *sources(core))]
    env = tool_environment()
    commands = {
        "icarus": [
            "iverilog",
            "-g2005",
            "-t",
            "null",
            "-s",
            toplevel,
            *[f"-P{toplevel}.{k}={v}" for k, v in parameters.items()],
            *files,
        ],
        "verilator": [
            "verilator",
            "--lint-only",
            "--language",
            "1364-2005",
            "--top-module",
            toplevel,
            *[f"-G{k}={v}" for k, v in parameters.items()],
            *files,
        ],
    }
    for name, command in commands.items():
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=20 if alone else None)
        output = done.stdout + done.stderr
        assert done.returncode != 0, f"{name} accepts {toplevel} {parameters}"
        assert f"gradcore_illegal_parameter_{text}" in output, f"{name}: {output}"
        if alone:
            said = re.findall(r"^(?:%Error-|%Warning-(?!ASCRANGE)|.*: (?:error|warning|sorry|assert)).*", output, re.M)
            assert len(said) == 1 and re.search(rf"gradcore_illegal_parameter_{text}\b", said[0]), (
                f"{name}: {output[:2000]}"
            )
            assert done.returncode == 1, f"{name} ends with {done.returncode}"
