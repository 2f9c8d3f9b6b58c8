# SPDX-License-Identifier: Apache-2.0
"""A trained network in use: the outputs of a weights.npz, a checkpoint or a run folder on any back end, as classes and
scores."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gradcore.data import datasets
from gradcore.data.datasets import DataError, check_range, quantize_input
from gradcore.files.atomic import FileError, StrPath, write_bytes
from gradcore.host import model_file, run_folder
from gradcore.host.backends import open_session
from gradcore.host.model_file import Model
from gradcore.isa.config import EngineConfig
from gradcore.numerics.fixed_point import Format, dequantize
from gradcore.sim.backend import Memory

FORMATS = (".npz", ".csv")


def load_model(path: StrPath) -> Model:
    """The model of a file; of a run folder its weights.npz, before the end of the run its checkpoint. Raises
    FileError."""
    path = Path(path)
    if not path.is_dir():
        return model_file.read(path)
    if (path / run_folder.REPORT).exists():
        return model_file.read(path / "weights.npz")
    found, _ = run_folder.latest(path)
    if found is None:
        raise FileError(path, "holds no weights.npz and no checkpoint")
    return found.model


def load_images(source: StrPath) -> np.ndarray:
    """Real images (N, C, H, W): the array `images` of a .npz file, else the test images of a data set. Raises
    DataError."""
    return datasets.load_images(source) if Path(source).suffix == ".npz" else datasets.load(source).x_test


def outputs(
    model: Model,
    images: np.ndarray,
    backend: str,
    config: EngineConfig,
    memory: Memory,
    say: Callable[[str], None] = print,
) -> np.ndarray:
    """Integers (N, classes) in the last layer's format, those of the training's own evaluation. Raises DataError,
    CompileError, EngineError."""
    network = model.network
    if images.shape[1:] != network.shape:
        raise DataError("images", "", f"are of shape {images.shape[1:]} where the network reads {network.shape}")
    for line in check_range("images", "", images, network):
        say(f"warning: {line}")
    session = open_session(backend, network, config, model.seed, memory, say)
    try:
        session.load(model.state)
        return session.outputs(quantize_input(images, network))
    finally:
        session.close()


def predictions(model: Model, found: np.ndarray) -> dict[str, np.ndarray]:
    """classes (N,), scores (N, classes) as real numbers and outputs, the same as integers."""
    scores = dequantize(found, Format(model.network.data_width, model.network.graph.output.frac))
    return {"classes": found.argmax(axis=1), "scores": scores, "outputs": found}


def write_predictions(path: StrPath, found: dict[str, np.ndarray]) -> None:
    """Write `predictions` as .npz or, without the integers, as .csv. Raises FileError."""
    buffer = io.BytesIO()
    if Path(path).suffix == ".npz":
        named: dict[str, Any] = {**found}
        np.savez(buffer, **named)
    else:
        text = io.TextIOWrapper(buffer, encoding="ascii", newline="", write_through=True)
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["image", "class", *(f"score_{k}" for k in range(found["scores"].shape[1]))])
        for number, (label, scores) in enumerate(zip(found["classes"], found["scores"])):
            rows.writerow([number, int(label), *map(float, scores)])
        text.detach()
    write_bytes(path, buffer.getvalue())
