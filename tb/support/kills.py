# SPDX-License-Identifier: Apache-2.0
"""Trainings ended by a signal at random moments and resumed: do they end as an undisturbed one?"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

from gradcore.__main__ import main as gradcore_main
from gradcore.host import run_folder
from tb.support.sim import ENGINES

ROOT = Path(__file__).resolve().parents[2]
NET = """
name = "killed"
input = [1, 6, 6]
[train]
learning_rate = 0.02
schedule = { type = "cosine", epochs = 12, last = 0.1, warm_up = 0.5 }
minibatch = 4
[[layer]]
type = "conv"
maps = 3
kernel = 3
pad = 1
pool = 2
[[layer]]
type = "dense"
maps = 3
"""
# As a user's shell has it: an output that is not a terminal is buffered.
ENVIRONMENT = dict(
    os.environ, PYTHONPATH=str(ROOT / "model"), NO_COLOR="", OPENBLAS_NUM_THREADS="1", PYTHONUNBUFFERED=""
)
TIMES = ("seconds", "run")  # what two reports of the same training differ in


def default_signals():
    """In a child: signals end it, also where this process runs behind nohup or as a script's background job."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def start(*arguments, **options):
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "gradcore", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        preexec_fn=default_signals,
        **options,
    )


class Forked:
    """The command in a copy of this process, which has loaded everything: as `start`, without the second that loading
    takes. This process must have no other thread."""

    def __init__(self, *arguments):
        self.returncode, self.output = None, tempfile.TemporaryFile()
        self.pid = os.fork()
        if self.pid:
            return
        code = 255
        try:
            for stream in (1, 2):
                os.dup2(self.output.fileno(), stream)
            sys.stdout, sys.stderr = (open(stream, "w", closefd=False) for stream in (1, 2))
            sys.argv = ["gradcore", *map(str, arguments)]
            default_signals()
            code = gradcore_main()
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def poll(self, flags=os.WNOHANG):
        """The exit code, None before the end."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, flags)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def send_signal(self, kind):
        """Send a signal, if there is still somebody to get it."""
        if self.poll() is None:
            os.kill(self.pid, kind)

    def communicate(self, timeout=None):
        """Wait for the end: all output, and nothing."""
        self.poll(0)
        self.output.seek(0)
        return self.output.read().decode(), ""


class Wrong(Exception):
    """A training did not end as the undisturbed one."""


class Kills:
    """Trainings of a small network in `folder`, on a back end; `start` is `start` or `Forked`."""

    def __init__(self, folder, backend="reference", seed=1, epochs=12, images=38, start=start):
        self.folder, self.backend, self.seed, self.start = Path(folder), backend, seed, start
        self.folder.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(1)
        (self.folder / "net.toml").write_text(NET)
        np.savez(
            self.folder / "data.npz",
            x_train=rng.random((images, 6, 6)),
            y_train=rng.integers(0, 3, images),
            x_test=rng.random((9, 6, 6)),
            y_test=rng.integers(0, 3, 9),
        )
        engine = ",".join(f"{key}={value}" for key, value in vars(ENGINES["sim"]).items())
        self.command = [
            "train",
            self.folder / "net.toml",
            "--data",
            self.folder / "data.npz",
            "--backend",
            backend,
            "--epochs",
            epochs,
            "--engine",
            engine,
            "--check",
            "epoch",
            "--no-calibrate",
            "--resume",
        ]
        self.undisturbed()

    def undisturbed(self):
        """Train without a signal: the results and, in seconds after the start, when the run folder gets its first file
        and when all is done."""
        out, begun, begin = self.folder / "undisturbed", None, time.monotonic()
        process = self.start(*self.command, "--checkpoint-minutes", 0, "--out", out)
        while process.poll() is None:
            if begun is None and (out / run_folder.CHECKPOINT).exists():
                begun = time.monotonic() - begin
            time.sleep(0.002)
        if process.returncode or begun is None:
            raise Wrong(f"the undisturbed training ended with {process.returncode}: {''.join(process.communicate())}")
        self.begun, self.done = begun, time.monotonic() - begin
        self.expected = self.results(out)

    def results(self, out):
        """Report without times, and the weights file."""
        found = json.loads((out / "report.json").read_text())
        return {key: value for key, value in found.items() if key not in TIMES}, (out / "weights.npz").read_bytes()

    def trial(self, number, kind=signal.SIGKILL):
        """Train, send the signal at a random moment, resume until the end. Returns what the signal met; raises
        Wrong."""
        rng = random.Random(f"{self.seed} {number} {kind}")
        out = self.folder / f"run {number} ü"
        command = [*self.command, "--checkpoint-minutes", rng.choice([0, 10]), "--out", out]
        met = []
        for _ in range(rng.choice([1, 1, 2])):
            process = self.start(*command)
            moment = time.monotonic() + rng.uniform(0.9 * self.begun, self.done)
            while process.poll() is None and time.monotonic() < moment:
                time.sleep(0.001)
            process.send_signal(kind)
            output, errors = process.communicate(timeout=300)
            met.append(self.left(out, process.returncode, kind, output + errors))
        if set(met) == {"too late"}:  # on a busy computer times vary: again, at other moments
            shutil.rmtree(out)
            return met + self.trial(f"{number}'", kind)
        process = self.start(*command)
        output, errors = process.communicate(timeout=600)
        if process.returncode:
            raise Wrong(
                f"run {number} ({', '.join(met)}): resumed, it ended with {process.returncode}: {output}{errors}"
            )
        report, weights = self.results(out)
        different = [key for key, value in self.expected[0].items() if report.get(key) != value]
        if different or weights != self.expected[1]:
            what = ", ".join(different) or "weights.npz"
            raise Wrong(f"run {number} ({', '.join(met)}): {what} differ from the undisturbed run")
        wrong = [path.name for path in out.iterdir() if path.name.endswith(".tmp")]
        if wrong:
            raise Wrong(f"run {number}: left {wrong}")
        return met

    def left(self, out, code, kind, output):
        """What a process that got a signal has left, in words. Raises Wrong for anything that must not be."""
        # A signal may come before or after Python's part.
        expected = (0, -kind) if kind == signal.SIGKILL else (0, -kind, 128 + kind)
        if code not in expected or "Traceback" in output:
            raise Wrong(f"{out.name}: code {code} after signal {kind}: {output}")
        if code == 128 + kind and "interrupted" not in output:
            raise Wrong(f"{out.name}: code {code} without a word: {output}")
        if code == 0:
            return "too late"
        if not out.is_dir() or not (found := run_folder.latest(out)[0]):
            return "before the first checkpoint"
        leftovers = any(path.name.endswith(".tmp") for path in out.iterdir())
        if kind != signal.SIGKILL and leftovers:
            raise Wrong(f"{out.name}: a half-written file is left")
        if (out / "report.json").exists():
            return "after the report"
        where = "between epochs" if not found.progress.minibatch else "within an epoch"
        return where + ", a file half written" * leftovers + ", results half written" * (out / "weights.npz").exists()
