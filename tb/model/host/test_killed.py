# SPDX-License-Identifier: Apache-2.0
"""A Python that is killed while it builds or simulates leaves no process behind, and nothing that the next build
trips over."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gradcore.sim import build
from tb.support.sim import ENGINES

# In the place of Verilator: begins its output, starts others as make does, and ends only if it may.
TOOL = """#!/bin/sh
while [ "$1" != --Mdir ]; do shift; done
printf half > "$2/engine.so"
[ -e "$GRADCORE_MAY_END" ] && printf whole > "$2/engine.so" && exit 0
(sleep 600 & sleep 600) &
sleep 600
"""
BUILD = """
import sys
from pathlib import Path
from gradcore.sim import build
build.verilator = lambda: Path(sys.argv[1])
print(build.build([], folder=sys.argv[2])[0])
"""
TRAIN = """
from tb.support.sim import ENGINES, simulation
from gradcore.host.backends import EngineSession
from gradcore.network import Dense, Network
import numpy as np
network = Network("n", (3, 2, 2), (Dense(3),), minibatch=4)
session = EngineSession(simulation(latency=1 << 17), network, ENGINES["sim"], 1)
print("training", flush=True)
session.device.timeout = 1e6
session.step(np.zeros((4, 3, 2, 2), int), np.zeros(4, int), 0)
"""


def processes(mark: str) -> list:
    """Numbers of all processes with this text in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            state = (place / "stat").read_text().rpartition(")")[2].split()[0]
            if mark.encode() in (place / "environ").read_bytes() and state != "Z":
                found.append(int(place.name))
        except OSError:
            pass
    return found


def until(condition, seconds=20.0):
    """Wait for a condition; whether it came."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def started(code, *arguments, mark, **environment):
    path = os.pathsep.join(sys.path)
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path, "GRADCORE_MARK": mark} | environment,
    )


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda kill: kill.name)
def test_a_killed_build(kill, tmp_path):
    tool, may_end, mark = tmp_path / "tool", tmp_path / "may_end", f"build-{tmp_path}"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    first = started(BUILD, tool, tmp_path / "sim", mark=mark, GRADCORE_MAY_END=str(may_end))
    try:
        assert until(lambda: len(processes(mark)) >= 6), "Python, guard, tool, its shell and three sleeps"
        first.send_signal(kill)
        first.wait(10)
        assert until(lambda: not processes(mark)), "something of the build still runs"
    finally:
        for number in processes(mark):
            os.kill(number, signal.SIGKILL)
    assert not list((tmp_path / "sim").glob("*/engine.so"))
    may_end.touch()
    second = started(BUILD, tool, tmp_path / "sim", mark=mark, GRADCORE_MAY_END=str(may_end))
    library = Path(second.communicate(timeout=60)[0].strip())
    assert library.read_text() == "whole"
    assert sorted(path.name for path in library.parent.iterdir()) == ["build.log", "engine.so", "lock"]


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda kill: kill.name)
def test_a_killed_run(kill, tmp_path):
    build.build_engine(ENGINES["sim"])
    mark = f"run-{tmp_path}"
    run = started(TRAIN, mark=mark)
    try:
        assert run.stdout.readline() == "training\n"
        time.sleep(0.3)
        run.send_signal(kill)
        _, said = run.communicate(timeout=30)
        assert until(lambda: not processes(mark))
    finally:
        for number in processes(mark):
            os.kill(number, signal.SIGKILL)
    if kill == signal.SIGINT:  # the one of the three that Python hears of
        assert "KeyboardInterrupt" in said and "program train: stopped, the engine is quiet" in said
