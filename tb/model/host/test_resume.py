# SPDX-License-Identifier: Apache-2.0
"""Runs that end early and go on: signals, full disks, closed pipes, and what --resume, evaluate and predict say to the
wrong files."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from gradcore.cli import main as cli
from gradcore.host import run_folder
from tb.support.kills import ENVIRONMENT, NET, Kills, default_signals, start


@pytest.fixture(scope="module")
def kills(tmp_path_factory):
    """A place with a space, and an undisturbed run of the reference trainer in it."""
    return Kills(tmp_path_factory.mktemp("kills and ü") / "a b", epochs=8)


@pytest.fixture
def run(kills, tmp_path):
    """A finished run to break."""
    shutil.copytree(kills.folder / "undisturbed", tmp_path / "run")
    return tmp_path / "run"


def refused(capsys, *arguments, names=()):
    """The user's error, in this process."""
    assert cli.run([str(argument) for argument in arguments]) == 2
    text = capsys.readouterr().err
    assert text.startswith("error: ") and len(text.splitlines()) == 1
    for name in names:
        assert name in text


@pytest.mark.parametrize("kind, count", [("KILL", 2), ("TERM", 1), ("INT", 1)])
def test_ended_at_random_moments_it_ends_as_undisturbed(kills, kind, count):
    for number in range(count):
        kills.trial(number, signal.Signals[f"SIG{kind}"])


@pytest.mark.parametrize("kind", ["INT", "TERM", "HUP"])
def test_a_signal_ends_with_a_checkpoint_and_a_line(kills, tmp_path, kind):
    out, number = tmp_path / "a run", signal.Signals[f"SIG{kind}"]
    process = start(*kills.command[:-1], "--epochs", 100_000, "--out", out)
    while not run_folder.latest(out)[0] or run_folder.latest(out)[0].progress.epoch < 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert errors == f"interrupted; to continue: gradcore train --resume --out '{out}'\n"
    names = [".lock", "checkpoint.npz", "checkpoint.previous.npz", "epochs.csv", "epochs.jsonl", "net.toml", "run.json"]
    assert sorted(path.name for path in out.iterdir()) == names
    shown = len(output.splitlines())
    done = run_folder.latest(out)[0].progress
    assert done.epoch in (shown, shown + 1) and done.iteration == 10 * done.epoch + done.minibatch


def test_a_signal_while_modules_load(tmp_path):
    process = start("compile", "digits")
    time.sleep(0.15)
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) in ((143, "", "interrupted\n"), (-signal.SIGTERM, "", ""))


def test_the_second_signal_ends_at_once(tmp_path):
    script = """
import os, signal, sys
from gradcore.files import atomic as files
from gradcore.host import interrupt
interrupt.install(); interrupt.begin()
def fsync(file):
    os.kill(os.getpid(), signal.SIGTERM)
files.os.fsync = fsync
try:
    os.kill(os.getpid(), signal.SIGINT)
except interrupt.Interrupted as error:
    print(error.code, flush=True)
    files.write_text(sys.argv[1], "text")
print("not reached", flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "file"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        preexec_fn=default_signals,
    )
    assert (done.returncode, done.stdout, done.stderr) == (143, "130\n", "interrupted\n") and not os.listdir(tmp_path)


def test_signals_that_the_caller_has_switched_off_stay_so():
    script = "import signal; from gradcore.host import interrupt; interrupt.install(); "
    script += "print(int(signal.getsignal(signal.SIGHUP)))"
    done = subprocess.run(
        ["nohup", sys.executable, "-c", script],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout == "1\n"


def limited(size):
    """In a child: no file may grow beyond `size` bytes, as if the disk were full."""

    def limit():
        default_signals()
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def train(kills, *arguments, resume=True, **options):
    """The command of `kills` in a process; --resume unless `resume` is False."""
    command = [*kills.command[: None if resume else -1], *arguments]
    done = subprocess.run(
        [sys.executable, "-m", "gradcore", *map(str, command)],
        env=ENVIRONMENT,
        text=True,
        **{"capture_output": "stdout" not in options} | options,
    )
    assert "Traceback" not in (done.stderr or "")
    return done


def test_a_full_disk_loses_nothing(kills, tmp_path):
    out = tmp_path / "run"
    done = train(kills, "--out", out, preexec_fn=limited(4096))
    message = f"error: {out / 'checkpoint.npz'}: cannot be written: File too large"
    assert done.returncode == 2 and done.stderr == message + "\n"
    assert os.listdir(out) == [".lock"]
    size = (kills.folder / "undisturbed" / "checkpoint.npz").stat().st_size
    done = train(kills, "--out", out, preexec_fn=limited(size - 500))  # the history grows
    assert done.returncode == 2 and done.stderr.startswith(f"{message}; to continue: ")
    found, problem = run_folder.latest(out)
    assert 1 < found.progress.epoch < 8 and not problem and not list(out.glob(".*.tmp"))
    assert train(kills, "--out", out).returncode == 0 and kills.results(out) == kills.expected


def test_a_full_output_is_told_and_a_closed_one_is_not(kills, tmp_path):
    with open("/dev/full", "w") as full:
        done = train(kills, "--out", tmp_path / "run", resume=False, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 2
        assert done.stderr.startswith("error: standard output: No space left on device; to continue: ")
        # The output of so short a command is written at its end.
        done = subprocess.run(
            [sys.executable, "-m", "gradcore", "inspect", kills.folder / "net.toml", "--json", "-"],
            env=ENVIRONMENT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2 and done.stderr == "error: standard output: No space left on device\n"
    for command in (["compile", "digits"], ["inspect", kills.folder / "net.toml", "--json", "-"]):
        process = start(*command)
        process.stdout.close()
        assert process.wait() == 141 and process.stderr.read() == ""


def test_a_folder_that_cannot_be_is_named(kills, capsys, tmp_path):
    train_here = [*kills.command[:4], "--backend", "reference", "--out"]
    refused(capsys, *train_here, "/proc/gradcore", names=["--out /proc/gradcore: cannot be made"])
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "run"
    refused(capsys, *train_here, below, names=[f"--out {below}: cannot be made: Not a directory"])


def test_options_that_contradict_the_run_are_refused(kills, run, capsys, tmp_path):
    (tmp_path / "other.toml").write_text(NET.replace("maps = 3", "maps = 4", 1))
    (tmp_path / "comment.toml").write_text(NET + "# the same\n")
    with np.load(kills.folder / "data.npz") as found:
        arrays = dict(found)
    arrays["y_test"] = (arrays["y_test"] + 1) % 3
    np.savez(tmp_path / "other.npz", **arrays)
    shutil.copy(kills.folder / "data.npz", tmp_path / "moved.npz")
    resume = ["train", "--resume", "--out", run]
    for arguments, names in (
        (["--seed", 2], ["--seed", "has 1, not 2"]),
        (["--check", "step"], ["--check"]),
        (["--force"], ["--force"]),
        (["--backend", "machine"], ["--backend", "reference"]),
        (["--no-float32"], ["--float32"]),
        (["--engine", "cols=8"], ["--engine"]),
        (["--epochs", 7], ["--epochs", "8"]),
        ([tmp_path / "other.toml"], ["NET"]),
        (["--data", tmp_path / "other.npz"], ["other.npz", "data_sha256"]),
    ):
        refused(capsys, *resume, *arguments, names=names)
    same = [*resume, tmp_path / "comment.toml", "--data", tmp_path / "moved.npz", "--seed", 1]
    assert cli.run([str(argument) for argument in same]) == 0
    assert "the run is complete" in capsys.readouterr().out and kills.results(run) == kills.expected


def test_another_engine_is_refused(kills, tmp_path, capsys, monkeypatch):
    """The RTL has changed between the parts of a run."""
    command = [*kills.command[:4], "--backend", "machine", "--engine", "grid=4,cols=4", "--out", tmp_path / "run"]
    assert cli.run([str(a) for a in [*command, "--epochs", 1]]) == 0
    from gradcore.host.backends import EngineSession

    other = property(lambda self: "other", lambda self, value: None)
    monkeypatch.setattr(EngineSession, "engine_sha256", other, raising=False)
    refused(capsys, *command, "--epochs", 2, "--resume", names=["engine_sha256"])


def test_a_missing_package_at_the_end_loses_nothing(kills, tmp_path, capsys, monkeypatch):
    command = [str(argument) for argument in [*kills.command, "--out", tmp_path / "run"]]
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        assert cli.run(command) == 3
    assert "matplotlib is not installed" in capsys.readouterr().err and not (tmp_path / "run" / "report.json").exists()
    assert cli.run(command) == 0 and kills.results(tmp_path / "run") == kills.expected


def test_what_is_no_run_is_named(kills, run, capsys, tmp_path):
    refused(capsys, "train", names=["NET is missing"])
    refused(capsys, "train", "--resume", "--out", tmp_path / "none", names=["none: there is no run to resume"])
    assert not (tmp_path / "none").exists()
    (run / "report.json").unlink()
    refused(capsys, "report", run, names=["report.json: is missing: the run is not finished"])
    new = [*kills.command[:-1], "--out", run]
    refused(capsys, *new, names=["holds a run that is not finished; --resume continues it, --force drops it"])
    before = json.loads((run / "run.json").read_text())["run"]
    refused(capsys, "bench", "digits", "--out", run, names=["holds a training run"])
    assert cli.run([str(a) for a in [*new, "--force", "--epochs", 1]]) == 0
    found = json.loads((run / "report.json").read_text())
    assert found["epochs"] == 1 and found["run"] == json.loads((run / "run.json").read_text())["run"] != before


def test_a_damaged_checkpoint_is_told(kills, run, capsys):
    for name in ("report.json", "weights.npz"):
        (run / name).unlink()
    data = bytearray((run / "checkpoint.npz").read_bytes())
    data[len(data) // 2] ^= 1
    (run / "checkpoint.npz").write_bytes(data)
    assert cli.run(["train", "--resume", "--out", str(run)]) == 0
    output = capsys.readouterr().out
    assert "checkpoint.npz: " in output and "is damaged; continuing from the checkpoint before" in output
    assert kills.results(run) == kills.expected


def test_evaluate_and_predict(kills, run, capsys, tmp_path):
    found = json.loads((run / "report.json").read_text())
    data = kills.folder / "data.npz"
    for file in (run, run / "weights.npz", run / "checkpoint.npz"):
        assert cli.run(["evaluate", str(file), "--json", str(tmp_path / "e.json")]) == 0
        shown = json.loads((tmp_path / "e.json").read_text())
        assert shown["data"] == str(data) and all(
            shown[key] == found[key] for key in ("test_accuracy", "weights_sha256")
        )
    with np.load(data) as arrays:
        np.savez(tmp_path / "images.npz", images=arrays["x_test"])
        labels = arrays["y_test"]
    tables = []
    for source, name, backend in (
        (tmp_path / "images.npz", "a.npz", "reference"),
        (data, "b.npz", "machine"),
        (data, "c.csv", "reference"),
    ):
        out = tmp_path / name
        assert cli.run(["predict", str(run), "--data", str(source), "--out", str(out), "--backend", backend]) == 0
        tables.append(np.load(out) if out.suffix == ".npz" else np.loadtxt(out, delimiter=",", skiprows=1))
    assert all((tables[0][key] == tables[1][key]).all() for key in ("classes", "scores", "outputs"))
    assert (tables[2][:, 1] == tables[0]["classes"]).all()
    assert (tables[0]["classes"] == labels).mean() == found["test_accuracy"]
    capsys.readouterr()
    np.savez(tmp_path / "wrong.npz", images=np.zeros((2, 7, 7)))
    np.savez(tmp_path / "old.npz", **{"conv0.weight": np.zeros(3)})
    predict, out = ["predict", run, "--out"], tmp_path / "p.npz"
    for arguments, names in (
        (["evaluate", tmp_path / "none"], ["none: cannot be read"]),
        (["evaluate", run, "--stall", 0.1], ["--stall"]),
        (["evaluate", tmp_path], ["holds no weights.npz and no checkpoint"]),
        (["evaluate", tmp_path / "old.npz"], ["old.npz: has no checksum"]),
        (["evaluate", run, "--data", tmp_path / "none.npz"], ["none.npz"]),
        ([*predict, tmp_path / "p.txt", "--data", data], [".npz nor .csv"]),
        ([*predict, out, "--data", tmp_path / "wrong.npz"], ["images", "(1, 7, 7)", "(1, 6, 6)"]),
        ([*predict, out, "--data", tmp_path / "none.npz"], ["none.npz"]),
        ([*predict, out, "--data", tmp_path / "old.npz"], ["old.npz: images: is missing"]),
        ([*predict, tmp_path / "none" / "p.npz", "--data", data], ["p.npz: cannot be written"]),
    ):
        refused(capsys, *arguments, names=names)
    data = bytearray((run / "weights.npz").read_bytes())
    data[500] ^= 4
    (run / "weights.npz").write_bytes(data)
    refused(capsys, "evaluate", run, names=["weights.npz: ", "is damaged"])
    refused(capsys, "inspect", run / "weights.npz", names=["weights.npz: ", "is damaged"])
    assert not (tmp_path / "p.npz").exists()
