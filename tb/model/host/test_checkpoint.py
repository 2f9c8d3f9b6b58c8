# SPDX-License-Identifier: Apache-2.0
"""Checkpoints and weights: nothing is lost on the way through the file, no changed bit passes, a resumed training ends
as an undisturbed one."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gradcore.data.datasets import data_sha256
from gradcore.files import archive
from gradcore.files.archive import Damaged
from gradcore.files.atomic import FileError
from gradcore.host import checkpoint, inference, model_file
from gradcore.host import training as run
from gradcore.host.backends import open_session
from gradcore.host.run_folder import CHECKPOINT, RunFolder
from gradcore.sim.backend import Memory
from tb.model.host.small_training import CONFIG, DATA, FIRST, MODEL, NET, NETWORK, same, train


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Checkpoint file in mid-epoch of a training on the machine model."""
    path, moments = tmp_path_factory.mktemp("saved") / CHECKPOINT, []
    train("machine", save=moments.append)
    checkpoint.write(path, FIRST.at(moments[2]))
    return path


RESUMED = [("reference", "none"), ("machine", "step"), ("machine", "epoch"), ("sim", "epoch")]


@pytest.mark.parametrize("backend, check", RESUMED)
def test_resumed_after_any_minibatch_it_ends_the_same(tmp_path, backend, check):
    moments = []
    undisturbed = train(backend, check, save=moments.append)
    expected = [(0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 3, 3), (1, 0, 3), (1, 1, 4), (1, 2, 5), (1, 3, 6), (2, 0, 6)]
    assert [(m.epoch, m.minibatch, m.iteration) for m in moments] == expected
    for moment in moments if backend == "reference" else moments[1::2] if check == "epoch" else moments[::4]:
        checkpoint.write(tmp_path / "file", FIRST.at(moment))
        found = checkpoint.read(tmp_path / "file")
        assert found.progress.plain() == moment.plain()
        resumed = train(backend, check, begin=found.progress)
        assert resumed[0] == undisturbed[0] and same(resumed[1], undisturbed[1])
        if backend == "sim":
            assert (resumed[2][0] == undisturbed[2][0]).all() and resumed[2][1] == undisturbed[2][1]


def test_more_epochs_continue_as_if_they_had_been_asked_for():
    moments, longer = [], train("reference", epochs=3)
    train("reference", epochs=1, save=moments.append)
    resumed = train("reference", begin=moments[-1], epochs=3)
    assert resumed[0] == longer[0] and same(resumed[1], longer[1])


def test_a_difference_from_before_the_checkpoint_is_still_found():
    """The session's state and the reference trainer's are kept apart."""
    moments = []
    train("machine", save=moments.append)
    moments[1].state[0]["weight"].flat[0] += 1
    found, _, _ = train("machine", begin=moments[1])
    assert found["weights_equal"] is False and found["epochs"] == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("place", ["step", "outputs", "weights"])
def test_an_exception_anywhere_leaves_the_last_complete_minibatch(monkeypatch, error, place):
    undisturbed, moments = train("machine"), []
    session = open_session("machine", NETWORK, CONFIG, 5)
    call, calls = getattr(session, place), iter(range(100))

    def failing(*arguments):
        if next(calls) == {"step": 4, "outputs": 1, "weights": 4}[place]:
            raise error
        return call(*arguments)

    monkeypatch.setattr(session, place, failing)
    with pytest.raises(error):
        run.train(NETWORK, DATA, session, run.Options(2, 5), save=moments.append)
    assert moments[-1].iteration == {"step": 4, "outputs": 6, "weights": 3}[place]
    assert len(moments) == (3 if place != "weights" else 2)
    resumed = train("machine", begin=moments[-1])
    assert resumed[0] == undisturbed[0] and same(resumed[1], undisturbed[1])


def test_time_between_checkpoints(monkeypatch):
    clock = iter(range(0, 10_000, 25))
    monkeypatch.setattr(run.time, "monotonic", lambda: next(clock))
    moments = []
    session = open_session("reference", NETWORK, CONFIG, 5)
    run.train(NETWORK, DATA, session, run.Options(2, 5, "none", minutes=1), save=moments.append)
    assert [(m.epoch, m.minibatch) for m in moments] == [(0, 0), (0, 3), (1, 0), (1, 3), (2, 0)]


def test_every_flipped_bit_is_refused(tmp_path, saved):
    data, rng, names = saved.read_bytes(), np.random.default_rng(3), set()
    bits = 8 * len(data)
    for place in {0, *(bits - n for n in range(1, 200)), *rng.integers(0, bits, 500).tolist()}:
        broken = bytearray(data)
        broken[place // 8] ^= 1 << place % 8
        (tmp_path / CHECKPOINT).write_bytes(broken)
        with pytest.raises(Damaged, match="checkpoint.npz: .*is damaged") as error:
            checkpoint.read(tmp_path / CHECKPOINT)
        names.add(error.value.problem.removesuffix(": is damaged"))
    assert {"header", "first.weight", "fc1.momentum", "reference:fc1.weight", "float32:first.weight"} <= names


@pytest.mark.parametrize("size", [0, 1, 7, 8, 30, -1, -8, -100])
def test_a_cut_file_is_refused(tmp_path, saved, size):
    (tmp_path / CHECKPOINT).write_bytes(saved.read_bytes()[:size])
    with pytest.raises(FileError, match="checkpoint.npz: "):
        checkpoint.read(tmp_path / CHECKPOINT)


def test_numpy_reads_it_without_pickle(saved):
    with np.load(saved, allow_pickle=False) as found:
        header = json.loads(str(found["header"]))
        assert header["network"] == NET and header["frac"]["first.weight"] == 13
        assert found["fc1.weight"].dtype == np.int16
        assert header["progress"]["iteration"] == 2


def changed(path, target, change, arrays=lambda found: found):
    """A sound file with another header or other arrays."""
    with np.load(path) as found:
        content = {name: found[name] for name in found.files}
    header = json.loads(str(content.pop("header")))
    change(header)
    target.write_bytes(archive.pack(header, arrays(content)))
    return target


@pytest.mark.parametrize(
    "change, text",
    [
        (lambda h: h.update(version=2), "version 2, this program reads 1"),
        (lambda h: h.update(kind="gradcore weights"), "not gradcore checkpoint"),
        (lambda h: h["frac"].update({"fc1.weight": 3}), "fc1.weight: has 3 bits, by its network 13"),
        (lambda h: h.update(data_width=12), "data_width"),
        (lambda h: h.update(network="name = 3"), "network: net.toml"),
        (lambda h: h.pop("seed"), "header: .*seed"),
        (lambda h: h.pop("progress"), "header: .*progress"),
        (lambda h: h["progress"].update(more=1), "header: .*more"),
    ],
)
def test_what_does_not_belong_together_is_refused(tmp_path, saved, change, text):
    with pytest.raises(FileError, match=text) as error:
        checkpoint.read(changed(saved, tmp_path / "file.npz", change))
    assert "file.npz" in str(error.value) and not isinstance(error.value, Damaged)


def test_wrong_tensors_are_named(tmp_path, saved):
    def without(found):
        return {name: x for name, x in found.items() if name != "reference:fc1.bias"}

    for arrays, text in (
        (without, "reference:fc1.bias: is missing"),
        (lambda found: found | {"fc1.bias": np.zeros(3)}, "fc1.bias: float64 of shape"),
        (lambda found: found | {"fc1.bias": np.zeros(4, np.int16)}, "fc1.bias: int16 of shape"),
    ):
        with pytest.raises(FileError, match=text):
            checkpoint.read(changed(saved, tmp_path / "file.npz", lambda header: None, arrays))


def test_weights_of_other_programs_are_refused(tmp_path):
    np.savez(tmp_path / "weights.npz", **{"fc1.weight": np.zeros(3)})
    with pytest.raises(FileError, match="has no checksum"):
        model_file.read(tmp_path / "weights.npz")


def test_evaluation_is_that_of_the_training(tmp_path):
    """On every back end, from every kind of file; stochastic rounding included."""
    moments, outputs = [], []
    session = open_session("machine", NETWORK, CONFIG, 5)
    original = session.outputs
    session.outputs = lambda x: outputs.append(original(x)) or outputs[-1]
    _, state, _ = run.train(NETWORK, DATA, session, run.Options(2, 5, "epoch"), save=moments.append)
    model_file.write(tmp_path / "weights.npz", replace(MODEL, state=state))
    with RunFolder(tmp_path / "run") as folder:
        folder.save(FIRST.at(moments[-1]))
    for path in (tmp_path / "weights.npz", tmp_path / "run", tmp_path / "run" / CHECKPOINT):
        for backend in ("reference", "machine", "sim"):
            found = inference.outputs(inference.load_model(path), DATA.x_test, backend, CONFIG, Memory())
            assert (found == outputs[-1]).all()
    table = inference.predictions(inference.load_model(path), outputs[-1])
    assert (table["scores"] * 2.0 ** NETWORK.parameters[-1].fo == outputs[-1]).all()
    assert (table["classes"] == outputs[-1].argmax(axis=1)).all()
    inference.write_predictions(tmp_path / "p.npz", table)
    inference.write_predictions(tmp_path / "p.csv", table)
    with np.load(tmp_path / "p.npz") as read:
        assert all((read[key] == table[key]).all() for key in table)
    rows = np.loadtxt(tmp_path / "p.csv", delimiter=",", skiprows=1)
    assert (
        (rows[:, 0] == range(9)).all()
        and (rows[:, 1] == table["classes"]).all()
        and (rows[:, 2:] == table["scores"]).all()
    )


def test_data_have_one_hash():
    names = [replace(DATA, name="other"), replace(DATA, x_train=DATA.x_train.copy(order="F"))]
    assert {data_sha256(data) for data in names} == {data_sha256(DATA)}
    for key in ("x_train", "y_train", "x_test", "y_test"):
        array = getattr(DATA, key).copy()
        array.flat[-1] += 1
        assert data_sha256(replace(DATA, **{key: array})) != data_sha256(DATA)
        assert data_sha256(replace(DATA, **{key: array.astype(np.float32)})) != data_sha256(DATA)
