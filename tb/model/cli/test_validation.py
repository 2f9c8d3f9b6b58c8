# SPDX-License-Identifier: Apache-2.0
"""train --validation, --patience, --tensorboard, and what a run writes after every epoch."""

import csv
import json
import struct
import sys

import numpy as np
import pytest

from gradcore.cli import main as cli
from gradcore.cli.run_setup import ADDED
from gradcore.data import datasets
from gradcore.data.datasets import DataError, Dataset, quantize_input, with_validation
from gradcore.host import checkpoint, model_file
from gradcore.host.validation import best_epoch, stops
from gradcore.ops.loss import evaluate, loss_value
from gradcore.reference.trainer import ReferenceTrainer
from tb.model.cli.test_weights import SMALL, place, sha256, train  # noqa: F401 (place is a fixture)

TWELVE = ("--validation", "0.3")  # of 40 images


def data(count):
    x = np.arange(count, dtype=np.float64)[:, None, None, None]
    return Dataset(x, np.arange(count), x[:1], np.zeros(1, int), "d")


@pytest.mark.parametrize(
    "count, share, aside", [(10, 0.3, 3), (10, 0.01, 1), (7, 0.5, 4), (2, 0.5, 1), (1000, 0.25, 250)]
)
def test_images_are_set_aside(count, share, aside):
    whole, found = data(count), with_validation(data(count), share, 3)
    assert len(found.y_validation) == aside and len(found.y_train) == count - aside
    assert sorted([*found.y_validation, *found.y_train]) == [*range(count)]
    for part in ("train", "validation"):
        x, y = getattr(found, f"x_{part}"), getattr(found, f"y_{part}")
        assert (x[:, 0, 0, 0] == y).all() and (np.diff(y) > 0).all()
    assert (found.x_test == whole.x_test).all()
    assert (with_validation(whole, share, 3).y_validation == found.y_validation).all()
    if count > 100:
        assert (with_validation(whole, share, 4).y_validation != found.y_validation).any()


def test_none_or_all():
    assert with_validation(data(5), 0, 1).x_validation is None
    with pytest.raises(DataError, match="leaves no image to train with"):
        with_validation(data(1), 0.5, 1)


def test_the_best_epoch_and_the_end():
    history = [{"validation_loss": loss} for loss in (5, 3, 4, 3, 3, 6)]
    assert best_epoch(history) == 2 and best_epoch([]) is best_epoch([{"loss": 1}]) is None
    assert [stops(history[:n], 2) for n in range(7)] == [False, False, False, False, True, True, True]
    assert not stops(history, 0) and not stops(history, 5) and not stops([{"loss": 1}] * 9, 1)


@pytest.mark.parametrize("backend", ["reference", "machine"])
def test_losses_are_those_of_the_images_set_aside(place, backend):  # noqa: F811
    assert train("a", *TWELVE, "--engine", SMALL, backend=backend, epochs=3) == 0
    report = json.loads((place / "a" / "report.json").read_text())
    best = report["best_epoch"]
    entry = report["history"][best - 1]
    model = model_file.read(place / "a" / "best.npz")
    aside = with_validation(datasets.load("data.npz"), 0.3, 1)
    trainer = ReferenceTrainer(model.network, 1, model.state)
    outputs = trainer.forward(quantize_input(aside.x_validation, model.network))
    _, total = evaluate(model.network.loss_parameters, outputs, aside.y_validation, 16)
    frac = model.network.graph.output.frac
    assert entry["validation_loss"] == loss_value(model.network.loss, total, frac) / 12
    assert entry["validation_accuracy"] == (outputs.argmax(axis=1) == aside.y_validation).mean()
    assert entry["validation_loss"] == min(e["validation_loss"] for e in report["history"])
    assert report["train_images"] == 28 and report["validation_images"] == 12
    assert report["weights_equal"] is (True if backend == "machine" else None) and not report["differing_outputs"]


def test_every_epoch_is_a_row(place):  # noqa: F811
    assert train("a", *TWELVE, epochs=3) == 0
    history = json.loads((place / "a" / "report.json").read_text())["history"]
    lines = (place / "a" / "epochs.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == history
    rows = [*csv.DictReader((place / "a" / "epochs.csv").open())]
    assert [float(row["validation_loss"]) for row in rows] == [entry["validation_loss"] for entry in history]


def test_it_stops_and_goes_on_with_more_patience(place, capsys):  # noqa: F811
    """The labels are drawn: what is learnt of some says nothing about others."""
    assert train("whole", *TWELVE, "--patience", "2", epochs=60) == 0
    said = capsys.readouterr().out
    report = json.loads((place / "whole" / "report.json").read_text())
    assert report["epochs"] == report["best_epoch"] + 2 < 60
    assert f"no smaller validation loss since epoch {report['best_epoch']}: stopped" in said
    assert "validation" in said
    assert train("parts", *TWELVE, epochs=2) == 0
    assert train("parts", *TWELVE, "--patience", "2", "--resume", epochs=60) == 0
    assert sha256(place / "parts") == sha256(place / "whole")
    assert (place / "parts" / "epochs.csv").read_text() == (place / "whole" / "epochs.csv").read_text()
    both = [model_file.weights_sha256(model_file.read(place / name / "best.npz").state) for name in ("whole", "parts")]
    assert both[0] == both[1] != sha256(place / "whole")
    capsys.readouterr()
    assert cli.run(["train", "--resume", "--out", "parts"]) == 0 and "the run is complete" in capsys.readouterr().out
    assert cli.run(["train", "--resume", "--out", "parts", "--patience", "3"]) == 0
    assert json.loads((place / "parts" / "report.json").read_text())["epochs"] > report["epochs"]


@pytest.mark.parametrize(
    "options, said",
    [
        (("--patience", "2"), "--patience: needs images to see it by: --validation"),
        (("--validation", "0.7"), "12 images are fewer than a minibatch of 16"),
    ],
)
def test_refuses(place, capsys, options, said):  # noqa: F811
    assert train("a", *options) == cli.USER
    assert said in capsys.readouterr().err and not (place / "a" / "report.json").exists()


def test_other_images_are_refused(place, capsys):  # noqa: F811
    assert train("a", *TWELVE) == 0
    assert train("a", "--resume", "--validation", "0.2", epochs=2) == cli.USER
    assert "--validation: the run in a has 0.3, not 0.2" in capsys.readouterr().err


def scalars(folder):
    """{name: {step: value}} of the event files of a run, one file after the other; a purge drops what it says."""
    from tensorboardX.proto.event_pb2 import Event

    found = {}
    for file in sorted((folder / "tensorboard").glob("events.*"), key=lambda file: file.stat().st_mtime_ns):
        content = file.read_bytes()
        while content:
            (size,) = struct.unpack("<Q", content[:8])
            event, content = Event.FromString(content[12 : 12 + size]), content[16 + size :]
            if event.HasField("session_log"):
                found = {name: {k: v for k, v in steps.items() if k < event.step} for name, steps in found.items()}
            for value in event.summary.value:
                found.setdefault(value.tag, {})[event.step] = value.simple_value
    return found


def test_a_run_that_ends_before_its_results_has_all_of_them(place):  # noqa: F811
    """The plug is pulled behind the last checkpoint: nothing is left to train."""
    assert train("a", *TWELVE, epochs=2) == 0
    names = ("best.npz", "epochs.csv", "epochs.jsonl", "weights.npz")
    whole = {name: (place / "a" / name).read_bytes() for name in names}
    for name in (*names, "report.json"):
        (place / "a" / name).unlink()
    assert cli.run(["train", "--resume", "--out", "a"]) == 0
    assert {name: (place / "a" / name).read_bytes() for name in names} == whole


def test_a_checkpoint_from_before_these_options_goes_on(place):  # noqa: F811
    assert train("whole", epochs=2) == 0 and train("old", epochs=1) == 0
    old = checkpoint.read(place / "old" / "checkpoint.npz")
    for name in ADDED:
        del old.configuration[name]
    checkpoint.write(place / "old" / "checkpoint.npz", old)
    assert train("old", "--resume", epochs=2) == 0
    assert sha256(place / "old") == sha256(place / "whole")


def test_tensorboard(place):  # noqa: F811
    """Also of a run that goes on; a new run drops what was there."""
    assert train("a", *TWELVE, "--tensorboard", epochs=2) == 0
    assert train("a", "--resume", epochs=4) == 0
    found = scalars(place / "a")
    history = json.loads((place / "a" / "report.json").read_text())["history"]
    assert {"loss", "validation_loss", "test_accuracy", "float32_loss"} <= {*found}
    for name, steps in found.items():
        assert steps == {entry["epoch"]: pytest.approx(entry[name]) for entry in history}, name
    assert train("a", "--tensorboard", "--force") == 0
    assert [*scalars(place / "a")["loss"]] == [1] and "validation_loss" not in scalars(place / "a")


def test_without_tensorboardx(place, capsys, monkeypatch):  # noqa: F811
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    assert train("a", "--tensorboard") == cli.USER
    assert "tensorboardX is not installed" in capsys.readouterr().err
