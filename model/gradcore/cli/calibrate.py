# SPDX-License-Identifier: Apache-2.0
"""The command calibrate: a network with binary points chosen from what its tensors hold."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from gradcore import network as networks
from gradcore.cli.common import DataOption, JsonOption, Net, UserError, app, screen_beside, write_json
from gradcore.data import datasets
from gradcore.data.datasets import Dataset
from gradcore.files.atomic import FileError, StrPath, make_folder, write_text
from gradcore.frontends.imported import Imported
from gradcore.host import model_file
from gradcore.network.description import Network
from gradcore.network.net_text import text_of
from gradcore.ops.layer import LAYER_FORMATS
from gradcore.reference.calibration import AHEAD, STEPS, Calibration, ImagesError, calibrate
from gradcore.reference.trainer import State, real_of


@app.command("calibrate")
def calibrate_command(
    net: Net,
    data: DataOption = "digits",
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="initial weights, choice of the images")] = 1,
    weights: Annotated[Path | None, typer.Option(help="weights.npz or checkpoint to begin with")] = None,
    ahead: Annotated[int, typer.Option(min=STEPS, help="minibatches in floating point")] = AHEAD,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="folder for net.toml and, with --weights, weights.npz")
    ] = None,
    json_file: JsonOption = "",
) -> None:
    """Choose the binary points that a network leaves open: what some minibatches hold in floating point decides."""
    screen, network = screen_beside(json_file), networks.load(net)
    found = with_points(network, replace(datasets.load(data), name=data), seed, weights, ahead)
    rows = table(found)
    write_json(json_file, {"input": found.network.input_frac, "layers": rows, "warnings": found.warnings})
    if json_file != "-":
        shown = Table(*rows[0])
        for row in rows:
            shown.add_row(*("" if value is None else str(value) for value in row.values()))
        screen.print(f"input: {found.network.input_frac} fraction bits", markup=False)
        screen.print(shown)
    for line in found.warnings:
        screen.print(f"warning: {line}", markup=False)
    if out and weights:
        Imported(found.network, real_weights(weights, network), ()).save(out, seed)
    elif out:
        write_text(make_folder(out) / "net.toml", text_of(found.network))


def with_points(network: Network, data: Dataset, seed: int, weights: StrPath | None, ahead: int) -> Calibration:
    """`calibrate` by a data set's training images, beginning with the weights of a file. Raises UserError, FileError,
    NetworkError."""
    real = real_weights(weights, network) if weights else None
    try:
        return calibrate(network, data.x_train, data.y_train, seed, real, ahead)
    except ImagesError as error:
        raise UserError(f"--data {data.name}: {error}") from error


def real_weights(file: StrPath, network: Network) -> State:
    """Weights, biases and momenta of a weights.npz or a checkpoint whose formats may be others. Raises FileError."""
    model = model_file.read(file)
    theirs, ours = ({p.name: p.weight_shape for p in each.parameters} for each in (model.network, network))
    for name in {**ours, **theirs}:
        if ours.get(name) != theirs.get(name):
            has, wanted = (found.get(name, "nothing") for found in (theirs, ours))
            raise FileError(file, f"layer {name}: has weights of {has}, the network {wanted}")
    return real_of(model.network, model.state)


def table(found: Calibration) -> list[dict[str, Any]]:
    """A row for each layer that has formats: its fraction widths, and how far its weights are off in per cent."""
    rows = []
    for number, layer in enumerate(found.network.layers):
        if not layer.own_formats:
            continue
        name = layer.name or f"{layer.prefix}{number}"
        formats = found.network.formats | layer.formats
        row: dict[str, Any] = {"layer": name} | {kind: formats.get(kind) for kind in LAYER_FORMATS}
        off = found.errors.get(name)
        rows.append(row | {"off %": None if off is None else round(100 * off, 3)})
    return rows
