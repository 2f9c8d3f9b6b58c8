# SPDX-License-Identifier: Apache-2.0
"""The commands evaluate and predict: a trained network at work."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from gradcore.cli.common import (
    BackendOption,
    EngineOption,
    JsonOption,
    StallOption,
    UserError,
    app,
    engine_config,
    fitting,
    memory_of,
    screen_beside,
    write_json,
)
from gradcore.data import datasets
from gradcore.data.input_format import DataError
from gradcore.files.atomic import make_folder
from gradcore.host import inference
from gradcore.host.model_file import Model, weights_sha256
from gradcore.report.classes import confusion, confusion_picture, weights_picture, wrong_picture

File = Annotated[Path, typer.Argument(metavar="RUN|FILE", help="run folder, weights.npz or checkpoint")]


@app.command()
def evaluate(
    file: File,
    data: Annotated[str, typer.Option(help="as for train [default: the data of the training]")] = "",
    backend: BackendOption = "reference",
    stall: StallOption = None,
    engine: EngineOption = "",
    pictures: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="draw confusion.png, wrong.png (images) and weights.png (histograms) there"
        ),
    ] = None,
    json_file: JsonOption = "",
) -> None:
    """Print the test accuracy of trained weights."""
    model, screen = inference.load_model(file), screen_beside(json_file)
    if not (name := data or model.data):
        raise UserError(f"--data is missing: {file} was imported and names no data")
    dataset = datasets.load(name)
    found = _outputs(file, model, dataset.x_test, backend, stall, engine, screen)
    labels, classes, count = dataset.y_test, found.argmax(axis=1), len(dataset.y_test)
    if labels.max() >= found.shape[1]:
        raise DataError(name, "y_test", f"class {labels.max()} where the network has {found.shape[1]} outputs")
    table = confusion(labels, classes, found.shape[1])
    right = int(np.trace(table))
    if pictures:
        make_folder(pictures)
        confusion_picture(pictures / "confusion.png", table)
        wrong_picture(pictures / "wrong.png", dataset.x_test, labels, classes)
        weights_picture(pictures / "weights.png", model.network, model.state)
    write_json(
        json_file,
        {
            "network": model.network.name,
            "file": str(file),
            "data": name,
            "backend": backend,
            "test_images": count,
            "correct": right,
            "test_accuracy": right / count,
            "confusion": table.tolist(),
            "weights_sha256": weights_sha256(model.state),
        },
    )
    screen.print(f"test accuracy {100 * right / count:.2f} %, {right} of {count} images of {name}", markup=False)


@app.command()
def predict(
    file: File,
    data: Annotated[
        str,
        typer.Option(
            help=".npz file with the array images (N, H, W) or (N, C, H, W); or a data set as for train, "
            "its test images"
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="classes and scores, .npz or .csv")],
    backend: BackendOption = "reference",
    stall: StallOption = None,
    engine: EngineOption = "",
) -> None:
    """Write the class and the scores of images."""
    if out.suffix not in inference.FORMATS:
        raise UserError(f"--out {out}: is neither {' nor '.join(inference.FORMATS)}")
    model, screen = inference.load_model(file), screen_beside("")
    found = _outputs(file, model, inference.load_images(data), backend, stall, engine, screen)
    inference.write_predictions(out, inference.predictions(model, found))
    screen.print(f"{out}: {len(found)} images", markup=False)


def _outputs(
    file: Path, model: Model, images: np.ndarray, backend: str, stall: float | None, engine: str, screen: Console
) -> np.ndarray:
    config = engine_config(engine, **model.engine | {"data_width": model.network.data_width})
    with fitting(file):
        return inference.outputs(model, images, backend, config, memory_of(backend, stall), screen.print)
