# SPDX-License-Identifier: Apache-2.0
"""The commands import and export: a model of ONNX, Darknet or Caffe as a network with weights, and trained weights in
an ONNX model, as real numbers or as a board's memory."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gradcore.cli.common import EngineOption, UserError, app, engine_config, fitting, is_given, screen_beside
from gradcore.compiler.compile import compile_network
from gradcore.data import datasets
from gradcore.files.atomic import make_folder, write_bytes, write_text
from gradcore.frontends import caffe, darknet, onnx_model
from gradcore.frontends.errors import ModelError
from gradcore.frontends.imported import Imported
from gradcore.host import inference
from gradcore.host.board_image import board_image, c_text, hex_text
from gradcore.host.model_file import Model, real_npz
from gradcore.network.description import OPTIMISERS
from gradcore.numerics.fixed_point import MODES
from gradcore.ops.loss import LOSSES
from gradcore.reference.calibration import ImagesError


@app.command("import")
def import_command(
    context: typer.Context,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL.onnx|NET.cfg|NET.prototxt", help="ONNX model, network of Darknet, network of Caffe"
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="folder for net.toml and weights.npz")],
    weights: Annotated[
        Path | None, typer.Option(help=".weights of Darknet, .caffemodel of Caffe [default: initial weights]")
    ] = None,
    solver: Annotated[Path | None, typer.Option(help=".prototxt of Caffe's solver")] = None,
    images: Annotated[int | None, typer.Option(min=1, help="of an epoch, for steps of Darknet and Caffe")] = None,
    input_shape: Annotated[
        str, typer.Option("--input", metavar="MAPS,ROWS,COLUMNS", help="of an image, for a .prototxt without it")
    ] = "",
    loss: Annotated[str, typer.Option(help=", ".join(LOSSES))] = "softmax_cross_entropy",
    optimiser: Annotated[str, typer.Option(help=", ".join(OPTIMISERS))] = "momentum",
    learning_rate: Annotated[float, typer.Option(help="of the mean loss of a minibatch")] = 0.01,
    momentum: float = 0.9,
    weight_decay: float = 0.0,
    minibatch: Annotated[int, typer.Option(help="images of a step")] = 32,
    data_width: Annotated[int, typer.Option(help="bits of a word, 8 to 16")] = 16,
    rounding: Annotated[str, typer.Option(help=", ".join(MODES))] = "stochastic",
    data: Annotated[str, typer.Option(help="as for train: choose the binary points from its training images")] = "",
    name: Annotated[str, typer.Option(help="of the network [default: the file's]")] = "",
) -> None:
    """Write a model of ONNX, Darknet or Caffe as net.toml and weights.npz, which train --weights begins with.

    A .cfg and a solver say how it is trained: with them the options of optimiser, rate, momentum and decay are refused.
    """
    fields: dict[str, Any] = dict(
        loss=loss,
        optimiser=optimiser,
        learning_rate=learning_rate,
        momentum=momentum,
        weight_decay=weight_decay,
        minibatch=minibatch,
        data_width=data_width,
        rounding=rounding,
    )
    given = {key: value for key, value in fields.items() if is_given(context, key)}
    screen = screen_beside("")
    if data:
        chosen = datasets.load(data)
        given["calibration"] = chosen.x_train, chosen.y_train
    try:
        own = dict(weights=weights, solver=solver, images=images, input_shape=_sizes(input_shape))
        found = _imported(model, own, name or model.stem, given)
    except ModelError as error:
        raise UserError(f"{model}: {error}") from error
    except ImagesError as error:
        raise UserError(f"--data {data}: {error}") from error
    found.save(make_folder(out))
    for note in found.notes:
        screen.print(note, markup=False)
    layers, words = len(found.network.layers), sum(x.size for layer in found.real for x in layer.values()) // 2
    screen.print(f"{out}: net.toml and weights.npz, {layers} layers, {words} weights and biases", markup=False)


# The kinds of files, by suffix, and the options that they alone have.
OWN = {".cfg": ("weights", "images"), ".prototxt": ("weights", "solver", "images", "input_shape")}
TRAINING = ("optimiser", "learning_rate", "momentum", "weight_decay")


def _imported(file: Path, own: dict[str, Any], name: str, given: dict[str, Any]) -> Imported:
    """The model of a file. Raises UserError for options that are not its own, and what the front ends raise."""
    known = OWN.get(file.suffix, ())
    own = {key: value for key, value in own.items() if value is not None}
    for option in own:
        if option not in known:
            kinds = " or ".join(suffix for suffix, options in OWN.items() if option in options)
            raise UserError(f"--{option.removesuffix('_shape')}: goes with a {kinds} alone")
    says = file if file.suffix == ".cfg" else own.get("solver")
    refused = {"loss"} if known else set()
    for option in sorted((refused | set(TRAINING if says else ())) & set(given)):
        raise UserError(f"--{option.replace('_', '-')}: {file if option == 'loss' else says} says it; change it there")
    if file.suffix == ".cfg":
        return darknet.from_darknet(file, name=name, **own, **given)
    if file.suffix == ".prototxt":
        return caffe.from_caffe(file, name=name, **own, **given)
    return onnx_model.from_onnx(file, name=name, **given)


def _sizes(text: str) -> tuple[int, int, int] | None:
    """Maps, rows and columns of --input. Raises UserError."""
    if not text:
        return None
    sizes = [int(part) if part.isdecimal() else 0 for part in text.split(",")]
    if len(sizes) != 3 or min(sizes) < 1:
        raise UserError(f"--input: {text!r} is not MAPS,ROWS,COLUMNS")
    return sizes[0], sizes[1], sizes[2]


IMAGES = (".h", ".hex", ".bin")  # kinds of files for a board


@app.command("export")
def export_command(
    file: Annotated[Path, typer.Argument(metavar="RUN|FILE", help="run folder, weights.npz or checkpoint")],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help=".onnx: the model with these weights; .npz: the weights as real numbers; .h, .hex or .bin: programs "
            "and weights as the engine reads them",
        ),
    ],
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL.onnx", help="for .onnx: the model that was imported")
    ] = None,
    engine: EngineOption = "",
) -> None:
    """Write trained weights for somebody else: an ONNX model, NumPy, or a board without Python."""
    if (out.suffix == ".onnx") != bool(model):
        raise UserError(f"--out {out}: " + ("needs MODEL.onnx before it" if not model else "is no .onnx file"))
    if model:
        try:
            onnx_model.to_onnx(file, model, out)
        except ModelError as error:
            raise UserError(f"{model}: {error}") from error
        said = f"{model} with the weights of {file}"
    elif out.suffix == ".npz":
        trained = inference.load_model(file)
        write_bytes(out, real_npz(trained))
        said = f"{len(trained.network.parameters)} layers as real numbers"
    elif out.suffix in IMAGES:
        said = _image(inference.load_model(file), file, out, engine)
    else:
        raise UserError(f"--out {out}: is none of {', '.join(('.onnx', '.npz', *IMAGES))}")
    screen_beside("").print(f"{out}: {said}", markup=False)


def _image(model: Model, file: Path, out: Path, engine: str) -> str:
    """Write the image for a board; what is said of it. Raises UserError, FileError."""
    config = engine_config(engine, **model.engine | {"data_width": model.network.data_width})
    with fitting(file):
        compiled = compile_network(model.network, config)
    image = board_image(compiled, model.state)
    if out.suffix == ".bin":
        write_bytes(out, image.data.tobytes())
    else:
        text = c_text(image, compiled, model.seed) if out.suffix == ".h" else hex_text(image, config.mem_bytes)
        write_text(out, text)
    return f"{image.data.size} bytes of programs and weights; the engine needs {image.memory} bytes of memory"
