# SPDX-License-Identifier: Apache-2.0
"""The command line: exit codes, what an error names, what a run leaves behind."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from gradcore.files.places import ROOT
from tb.support.sim import ENGINES

NET = """
name = "small"
input = [1, 8, 8]
loss = "euclidean"
[train]
learning_rate = 0.05
minibatch = 16
[[layer]]
type = "conv"
name = "first"
maps = 4
kernel = 3
pad = 1
pool = 2
[[layer]]
type = "dense"
name = "last"
maps = 3
"""


def gradcore(*arguments, cwd=ROOT):
    """Run the command in a process of its own, away from a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "gradcore", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        env=dict(os.environ, PYTHONPATH=str(ROOT / "model"), NO_COLOR=""),
    )


def refused(done, *names):
    """The user's error: code 2, one message that names what is wrong, no traceback."""
    output = done.stdout + done.stderr
    assert done.returncode == 2, output
    assert "Traceback" not in output
    for name in names:
        assert name in output, f"{name!r} is not in {output!r}"


def dataset(folder, **replaced):
    rng = np.random.default_rng(1)
    arrays = {
        "x_train": rng.random((40, 8, 8)),
        "y_train": rng.integers(0, 3, 40),
        "x_test": rng.random((10, 8, 8)),
        "y_test": rng.integers(0, 3, 10),
    }
    arrays = {key: value for key, value in (arrays | replaced).items() if value is not None}
    np.savez(folder / "data.npz", **arrays)
    return folder / "data.npz"


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.toml"
    path.write_text(NET)
    return path


@pytest.mark.parametrize(
    "change, names",
    [
        (("[[layer]]", "[[layer"), ["line 8"]),
        (('name = "first"', 'name = "first"\ndilation = 2'), ["first", "dilation"]),
        (("kernel = 3", "kernel = 12"), ["first", "kernel", "11"]),
        (("kernel = 3", 'kernel = "3"'), ["first", "kernel"]),
        (("pool = 2", "pool = 3"), ["first", "pool", "2"]),
        (('loss = "euclidean"', 'loss = "euclid"'), ["loss", "euclid", "euclidean"]),
        (("learning_rate = 0.05", "learning_rate = -1"), ["learning_rate"]),
        (("minibatch = 16", "minibatch = 0"), ["minibatch"]),
        (("input = [1, 8, 8]", "input = [1, 8]"), ["input"]),
        (("input = [1, 8, 8]", ""), ["input", "missing"]),
        (('type = "dense"', 'type = "pooling"'), ["last", "type", "pooling"]),
        (("maps = 3", "maps = true"), ["last", "maps"]),
        (('name = "last"\nmaps = 3', 'name = "last"'), ["last", "maps"]),
    ],
)
def test_broken_network_is_named(tmp_path, change, names):
    assert change[0] in NET
    (tmp_path / "net.toml").write_text(NET.replace(*change))
    refused(gradcore("train", tmp_path / "net.toml", "--out", tmp_path / "run"), "net.toml", *names)
    assert not (tmp_path / "run").exists()


def test_missing_and_unreadable_files_are_named(tmp_path, net):
    refused(gradcore("train", tmp_path / "none.toml"), "none.toml")
    refused(gradcore("train", tmp_path), str(tmp_path))
    refused(gradcore("train", net, "--data", tmp_path / "none.npz", "--out", tmp_path / "run"), "none.npz")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    refused(gradcore("train", tmp_path / "bytes.toml"), "bytes.toml")
    (tmp_path / "file").write_text("")
    refused(
        gradcore("train", net, "--data", dataset(tmp_path), "--backend", "reference", "--out", tmp_path / "file"),
        "--out",
        "file",
    )
    refused(gradcore("report", tmp_path), "report.json")
    (tmp_path / "report.json").write_text("{}")
    refused(gradcore("report", tmp_path), "report.json")
    refused(gradcore("inspect", tmp_path / "none.npz"), "none.npz")


@pytest.mark.parametrize(
    "replaced, names",
    [
        ({"y_train": None}, ["y_train", "missing"]),
        ({"x_train": np.zeros((40, 9, 9))}, ["x_test", "(1, 9, 9)"]),
        ({"x_train": np.zeros((40, 9, 9)), "x_test": np.zeros((10, 9, 9))}, ["x_train", "(1, 8, 8)"]),
        ({"y_train": np.zeros(39, int)}, ["y_train", "39"]),
        ({"y_train": np.full(40, 3)}, ["classes"]),
        ({"y_train": np.full(40, 0.5)}, ["y_train"]),
        ({"y_train": np.full(40, -1)}, ["y_train"]),
        ({"x_train": np.full((40, 8, 8), np.nan)}, ["x_train", "NaN"]),
        ({"x_test": np.zeros((0, 8, 8)), "y_test": np.zeros(0, int)}, ["x_test"]),
        ({"x_train": np.array([object()])}, ["x_train"]),
    ],
)
def test_broken_data_are_named(tmp_path, net, replaced, names):
    path = dataset(tmp_path, **replaced)
    refused(
        gradcore("train", net, "--data", path, "--out", tmp_path / "run", "--backend", "reference"), "data.npz", *names
    )


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"text"])
def test_files_that_are_no_npz_are_named(tmp_path, net, content):
    (tmp_path / "data.npz").write_bytes(content)
    refused(gradcore("train", net, "--data", tmp_path / "data.npz", "--out", tmp_path / "run"), "data.npz")
    refused(gradcore("inspect", tmp_path / "data.npz"), "data.npz")


def test_cut_npz_is_named(tmp_path, net):
    path = dataset(tmp_path)
    path.write_bytes(path.read_bytes()[:3000])
    refused(gradcore("train", net, "--data", path, "--out", tmp_path / "run"), "data.npz")


@pytest.mark.parametrize("backend, name", [("uio:99", "/dev/uio99"), ("xdma:99", "/dev/xdma99_user")])
def test_a_missing_device_is_named(net, tmp_path, backend, name):
    refused(gradcore("train", net, "--data", dataset(tmp_path), "--backend", backend, "--out", tmp_path / "run"), name)


@pytest.mark.parametrize(
    "arguments, names",
    [
        (["--engine", "grids=4"], ["grids", "grid"]),
        (["--engine", "grid=5"], ["grid", "5"]),
        (["--engine", "grid=x"], ["grid"]),
        (["--epochs", "0"], ["epochs"]),
        (["--seed", "-1"], ["seed"]),
        (["--backend", "board"], ["backend", "machine"]),
        (["--backend", "uio"], ["backend", "uio:N", "sim-axi", "sim-avalon"]),
        (["--backend", "machine", "--stall", "0.1"], ["--stall", "machine"]),
        (["--stall", "1.5"], ["--stall", "0.99"]),
        (["--check", "never"], ["check"]),
        (["--nonsense"], ["nonsense"]),
    ],
)
def test_wrong_options_are_named(net, arguments, names):
    refused(gradcore("train", net, *arguments), *names)


def test_network_that_does_not_fit_names_the_layer(tmp_path):
    (tmp_path / "net.toml").write_text(NET.replace("maps = 4", "maps = 64"))
    train = ["train", tmp_path / "net.toml", "--data", dataset(tmp_path), "--out", tmp_path / "run"]
    small = ["--engine", "cols=32,mem_bytes=16,act_depth=64"]
    for command in (["compile", tmp_path / "net.toml"], [*train, "--backend", "machine"], [*train, "--backend", "sim"]):
        refused(gradcore(*command, *small), "net.toml", "layer", "limit")


def test_reference_run_leaves_a_folder_that_repeats(tmp_path, net):
    data = dataset(tmp_path)
    hashes = []
    for name in ("a", "b"):
        out = tmp_path / name
        done = gradcore(
            "train",
            net,
            "--no-calibrate",
            "--data",
            data,
            "--backend",
            "reference",
            "--epochs",
            2,
            "--seed",
            7,
            "--out",
            out,
            "--json",
            out / "o.json",
        )
        assert done.returncode == 0, done.stderr
        found = json.loads((out / "report.json").read_text())
        assert found == json.loads((out / "o.json").read_text())
        assert found["seed"] == 7 and found["epochs"] == 2 and len(found["loss"]) == 2
        assert found["train_images"] == 40 and found["test_images"] == 10  # 2 minibatches of 16 and one of 8
        assert found["weights_equal"] is None and found["cycles_per_image"] is None
        assert json.loads((out / "run.json").read_text())["seed"] == 7
        assert (out / "net.toml").read_text() == NET
        assert (out / "loss.png").stat().st_size > 1000
        rows = list(csv.DictReader((out / "epochs.csv").open()))
        assert [int(row["epoch"]) for row in rows] == [1, 2] and "saturations" not in rows[0]
        for key in ("loss", "test_accuracy", "float32_loss"):
            assert [float(row[key]) for row in rows] == [entry[key] for entry in found["history"]]
        assert done.stdout.splitlines()[-1].endswith(found["weights_sha256"])
        assert "\x1b" not in done.stdout + done.stderr
        hashes.append(found["weights_sha256"])
    assert hashes[0] == hashes[1]
    done = gradcore("report", tmp_path / "a", "--json", "-")
    assert done.returncode == 0 and json.loads(done.stdout)["weights_sha256"] == hashes[0]
    done = gradcore("inspect", tmp_path / "a" / "weights.npz", "--json", "-")
    assert done.returncode == 0 and {row["tensor"] for row in json.loads(done.stdout)} >= {"first.weight", "last.bias"}


SMALL = "grid=4,cols=4,mem_bytes=16,act_depth=256,wgt_depth=256,grad_depth=256,gate_depth=512"


def test_simulated_run_equals_machine_and_reference(tmp_path, net):
    data, reports = dataset(tmp_path), {}
    for name in ("sim", "again", "machine", "reference"):
        backend = "sim" if name == "again" else name
        out = tmp_path / name
        done = gradcore(
            "train", net, "--data", data, "--backend", backend, "--engine", SMALL, "--epochs", 2, "--out", out
        )
        assert done.returncode == 0, done.stdout + done.stderr
        reports[name] = json.loads((out / "report.json").read_text())
    assert len({found["weights_sha256"] for found in reports.values()}) == 1
    assert len({found["test_accuracy"] for found in reports.values()}) == 1
    sim = reports["sim"]
    assert sim["weights_equal"] is True and sim["differing_words"] == 0 and sim["words_compared"] == 2 * 2 * 235
    assert sim["cycles"] == reports["again"]["cycles"] == sim["cycles_per_image"] * 80
    assert sim["engine_sha256"] == reports["again"]["engine_sha256"] and len(sim["engine_sha256"]) == 64
    assert sim["unaccounted_cycles"] == {} and all(
        sum(parts.values()) == sim["cycles"] for parts in sim["stall_cycles"].values()
    )
    parts = ("mac_busy", "padding", "turn_round", "yield")
    assert sum(sim[f"{part}_cycles"] for part in parts) == sim["stall_cycles"]["compute"]["busy"]
    assert 0 < sim["mac_utilisation"] < 1 and sim["dram_bytes_read"] > sim["dram_bytes_written"] > 0
    assert sim["cycles_per_image"] * sim["mac_utilisation"] == pytest.approx(sim["ideal_cycles_per_image"])
    assert reports["machine"]["weights_equal"] is True and reports["machine"]["cycles_per_image"] is None
    spans = [e for e in json.loads((tmp_path / "sim" / "trace.json").read_text())["traceEvents"] if e["ph"] == "X"]
    assert {e["tid"] for e in spans} == {0, 1, 2, 3, 4} and not any(e["name"].startswith("tag") for e in spans)
    assert (tmp_path / "sim" / "timeline.png").stat().st_size > 1000
    done = gradcore("report", tmp_path / "sim")
    assert done.returncode == 0 and "wait_compute_read" in done.stdout and sim["weights_sha256"] in done.stdout


def test_run_through_a_front_says_its_back_pressure(tmp_path, net):
    config, reports = vars(ENGINES["sim-avalon"]), []
    engine = ",".join(f"{key}={value}" for key, value in config.items())
    for stall in ([], ["--stall", 0]):
        done = gradcore(
            "train",
            net,
            "--data",
            dataset(tmp_path),
            "--backend",
            "sim-avalon",
            *stall,
            "--engine",
            engine,
            "--epochs",
            1,
            "--out",
            tmp_path / "run",
        )
        assert done.returncode == 0, done.stdout + done.stderr
        reports.append(json.loads((tmp_path / "run" / "report.json").read_text()))
        assert json.loads((tmp_path / "run" / "run.json").read_text())["stall"] == reports[-1]["stall"]
    assert [(found["backend"], found["stall"], found["weights_equal"]) for found in reports] == [
        ("sim-avalon", 0.2, True),
        ("sim-avalon", 0.0, True),
    ]
    assert (
        reports[0]["cycles"] > 1.1 * reports[1]["cycles"]
        and reports[0]["weights_sha256"] == reports[1]["weights_sha256"]
    )


def test_json_on_the_standard_output_is_alone_there(tmp_path, net):
    done = gradcore(
        "train",
        net,
        "--data",
        dataset(tmp_path),
        "--backend",
        "reference",
        "--epochs",
        1,
        "--out",
        tmp_path / "run",
        "--json",
        "-",
    )
    assert done.returncode == 0 and json.loads(done.stdout)["epochs"] == 1 and "test accuracy" in done.stderr


def test_report_of_a_mismatch_exits_1(tmp_path, net):
    out = tmp_path / "run"
    gradcore("train", net, "--data", dataset(tmp_path), "--backend", "reference", "--epochs", 1, "--out", out)
    found = json.loads((out / "report.json").read_text())
    found |= {"weights_equal": False, "differing_words": 3, "first_difference": "first.weight"}
    (out / "report.json").write_text(json.dumps(found))
    done = gradcore("report", out)
    assert done.returncode == 1 and "NO (3 words" in done.stdout


def test_inspect_and_doctor(net):
    rows = json.loads(gradcore("inspect", net, "--json", "-").stdout)
    assert [(row["name"], row["words"], row["macs"]) for row in rows] == [("first", 40, 2304), ("last", 195, 192)]
    assert "first" in gradcore("inspect", net).stdout
    (net.parent / "lenet5").mkdir()  # of a run, say: the name is still that of the example
    assert "20x12x12" in gradcore("inspect", "lenet5", cwd=net.parent).stdout
    done = gradcore("doctor", "--json", "-")
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["numpy"]["found"] and done.returncode == (
        3 if any(r["needed"] and not r["found"] for r in rows.values()) else 0
    )


def test_help_needs_no_file():
    done = gradcore("--help")
    assert done.returncode == 0 and all(
        word in done.stdout for word in ("train", "compile", "report", "doctor", "inspect")
    )
