# SPDX-License-Identifier: Apache-2.0
"""What the command line says when numbers do not fit: overflowing gradients, saturated words, images of another range,
undefined figures."""

import json

import numpy as np
import pytest

from gradcore.report import summary
from tb.model.cli.test_cli import NET, dataset, gradcore, refused

# Few products per sum, so that 36 bits do for the sums of FP and BP.
NARROW = """
name = "narrow"
input = [1, 8, 8]
loss = "euclidean"
[train]
learning_rate = 0.01
minibatch = 128
[format]
delta = 18
[[layer]]
type = "conv"
maps = 1
kernel = 1
relu = false
pool = 2
[[layer]]
type = "conv"
maps = 1
kernel = 1
relu = false
pool = 2
[[layer]]
type = "dense"
maps = 2
"""
ENGINE = "grid=4,cols=4,mem_bytes=16,act_depth=2048,wgt_depth=256,grad_depth=256,gate_depth=16384,acc_width="


def strict(text):
    """JSON as a strict parser reads it."""

    def refuse(name):
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def bright(folder, images=128):
    """Images at the upper end of the input format."""
    rng, size = np.random.default_rng(1), (images, 8, 8)
    return dataset(
        folder,
        x_train=rng.uniform(7, 7.9, size),
        y_train=np.ones(images, int),
        x_test=rng.uniform(7, 7.9, (10, 8, 8)),
        y_test=rng.integers(0, 2, 10),
    )


@pytest.mark.parametrize("backend, acc_width, code", [("reference", 36, 1), ("machine", 36, 1), ("reference", 48, 0)])
def test_overflowing_gradients_reach_report_and_exit_code(tmp_path, backend, acc_width, code):
    (tmp_path / "net.toml").write_text(NARROW)
    arguments = [
        "--data",
        bright(tmp_path),
        "--backend",
        backend,
        "--engine",
        ENGINE + str(acc_width),
        "--epochs",
        1,
        "--out",
        tmp_path / "run",
    ]
    done = gradcore("train", tmp_path / "net.toml", *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    found = strict((tmp_path / "run" / "report.json").read_text())
    assert (found["overflowed_minibatches"], found["first_overflow"]) == ((1, 0) if code else (0, None))
    assert ("gradients overflowed in 1 minibatches, first in minibatch 0" in done.stdout) == bool(code)
    assert found["differing_words"] == found["differing_overflows"] == 0 and found["weights_equal"] == (
        None if backend == "reference" else True
    )
    done = gradcore("report", tmp_path / "run")
    assert done.returncode == code and ("gradients overflowed" in done.stdout) == bool(code)


def test_a_benchmark_with_overflowing_gradients_fails():
    figures = {"overflowed_minibatches": 1, "first_overflow": 3, "differing_words": 0}
    assert summary.failed(figures) and not summary.failed(figures | {"overflowed_minibatches": 0})
    assert summary.warnings(figures) == [
        "gradients overflowed in 1 minibatches, first in minibatch 3: such an update is wrong"
    ]


@pytest.mark.parametrize("kind", [np.float32, np.int64])
@pytest.mark.parametrize("where", ["x_train", "x_test"])
def test_images_of_another_range_are_refused(tmp_path, kind, where):
    (tmp_path / "net.toml").write_text(NET)
    path = dataset(
        tmp_path,
        **{where: np.random.default_rng(1).integers(0, 256, (40 if where == "x_train" else 10, 8, 8)).astype(kind)},
    )
    done = gradcore("train", tmp_path / "net.toml", "--data", path, "--backend", "reference", "--out", tmp_path / "run")
    refused(done, "data.npz", where, "-8..8", " to 255;", "divide them by 255")
    assert not (tmp_path / "run").exists() and len(done.stderr.splitlines()) == 1


def test_images_beyond_any_use_are_refused(tmp_path):
    (tmp_path / "net.toml").write_text(NET)
    for value in (1e300, -400.0):
        path = dataset(tmp_path, x_train=np.full((40, 8, 8), value))
        refused(
            gradcore(
                "train", tmp_path / "net.toml", "--data", path, "--backend", "reference", "--out", tmp_path / "run"
            ),
            "data.npz",
            "x_train",
            "scale them",
        )


def test_a_few_values_outside_are_saturated_and_told(tmp_path):
    (tmp_path / "net.toml").write_text(NET)
    images = np.random.default_rng(1).random((40, 8, 8))
    images[3, 0, :5] = [8.1, -9, 50, 7.9999, 8.0]
    done = gradcore(
        "train",
        tmp_path / "net.toml",
        "--no-calibrate",
        "--data",
        dataset(tmp_path, x_train=images),
        "--backend",
        "reference",
        "--epochs",
        1,
        "--out",
        tmp_path / "run",
    )
    assert (
        done.returncode == 0
        and "warning: " in done.stdout
        and "x_train: 3 of 2560 words are outside the input format's range -8..8" in done.stdout
    )
    row = json.loads((tmp_path / "run" / "report.json").read_text())["saturations"][0]
    assert (row["layer"], row["kind"], row["clipped"], row["words"]) == ("input", "input", 3, 2560)


def test_many_saturated_words_are_warned_of(tmp_path):
    """Local gradients of 1/128: most are larger."""
    (tmp_path / "net.toml").write_text(NET + "format = { delta = 22 }\n")
    done = gradcore(
        "train",
        tmp_path / "net.toml",
        "--data",
        dataset(tmp_path),
        "--backend",
        "reference",
        "--epochs",
        2,
        "--out",
        tmp_path / "run",
    )
    assert (
        done.returncode == 0
        and "warning: last: " in done.stdout
        and "% of the words of kind delta were saturated in the last epoch" in done.stdout
    )
    found = json.loads((tmp_path / "run" / "report.json").read_text())
    row = next(row for row in found["saturations"] if (row["layer"], row["kind"]) == ("last", "delta"))
    assert (
        row["words"] == 2 * row["last_words"] == 2 * 40 * 3
        and row["clipped"] > row["last_clipped"] > 0.01 * row["last_words"]
    )
    assert [
        r["clipped"]
        for entry in found["history"]
        for r in entry["saturations"]
        if (r["layer"], r["kind"]) == ("last", "delta")
    ] == [row["clipped"] - row["last_clipped"], row["last_clipped"]]
    assert "saturated words" in gradcore("report", tmp_path / "run").stdout


def test_every_json_is_strict_when_float32_diverges(tmp_path):
    """The fixed point saturates, the floats beside it end in NaN."""
    (tmp_path / "net.toml").write_text(NET.replace("learning_rate = 0.05", "learning_rate = 30"))
    out = tmp_path / "run"
    done = gradcore(
        "train",
        tmp_path / "net.toml",
        "--data",
        dataset(tmp_path),
        "--backend",
        "reference",
        "--epochs",
        30,
        "--out",
        out,
        "--json",
        "-",
    )
    assert done.returncode == 0, done.stderr
    found = strict(done.stdout)
    assert found["history"][-1]["float32_loss"] is None and found == strict((out / "report.json").read_text())
    strict((out / "run.json").read_text())
    with np.load(out / "checkpoint.npz") as archive:
        strict(str(archive["header"]))
    again = gradcore("train", "--resume", "--epochs", 31, "--out", out, "--json", tmp_path / "more.json")
    assert again.returncode == 0 and strict((tmp_path / "more.json").read_text())["epochs"] == 31


def test_minibatch_of_the_rest_must_be_representable(tmp_path):
    """A rest of one image has a 16 times larger step, which here no multiplier represents."""
    (tmp_path / "net.toml").write_text(NET.replace("learning_rate = 0.05", "learning_rate = 60"))
    path = dataset(tmp_path, x_train=np.zeros((17, 8, 8)), y_train=np.zeros(17, int))
    done = gradcore("train", tmp_path / "net.toml", "--data", path, "--backend", "reference", "--out", tmp_path / "run")
    refused(done, "x_train", "the last 1 images cannot be trained")
