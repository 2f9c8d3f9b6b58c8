# SPDX-License-Identifier: Apache-2.0
"""From Caffe's .prototxt, its solver and its .caffemodel to a network with weights (doc/caffe.md)."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gradcore.files.atomic import FileError, StrPath
from gradcore.frontends import caffe_proto
from gradcore.frontends.caffe_layers import CaffeLayers
from gradcore.frontends.errors import ModelError
from gradcore.frontends.imported import Arrays, Calibration, Imported, described, holding
from gradcore.network.description import Network
from gradcore.network.schedule import Piecewise, Schedule, Step

POLICIES = ("fixed", "step", "multistep")


def from_caffe(
    net: StrPath,
    solver: StrPath | None = None,
    weights: StrPath | None = None,
    input_shape: tuple[int, int, int] | None = None,
    images: int | None = None,
    minibatch: int | None = None,
    optimiser: str = "momentum",
    learning_rate: float = 0.01,
    momentum: float = 0.9,
    weight_decay: float = 0.0,
    name: str = "",
    seed: int = 1,
    data_width: int = 16,
    rounding: str | dict[str, str] = "stochastic",
    formats: Mapping[str, int] | None = None,
    calibration: Calibration | None = None,
) -> Imported:
    """The network, the training and the weights of a .prototxt of Caffe and, if given, of a solver's .prototxt and a
    .caffemodel; without one the initial weights of `seed`.

    input_shape: maps, rows, columns, where the file does not say them; images: of an epoch, which the policies step and
    multistep ask for; minibatch: in the place of the file's batch_size; optimiser to weight_decay: of the training,
    where there is no solver; calibration: images (N, maps, rows, columns) and labels (N,), from which the binary points
    are chosen that `formats` leaves open. Raises ModelError for what would not train in the same way, FileError,
    ImagesError for a calibration of other shapes, ImportError without protobuf.
    """
    found = CaffeLayers(_network(net), input_shape)
    batch = minibatch or found.batch or 32
    training: dict[str, Any] = dict(learning_rate=learning_rate, momentum=momentum, weight_decay=weight_decay)
    training |= dict(optimiser=optimiser, minibatch=batch)
    if solver is not None:
        training |= _training(caffe_proto.text(solver, "SolverParameter"), images, batch)
    layers, notes = found.trained(training["learning_rate"], training["weight_decay"])
    arrays = {} if weights is None else _weights(weights, found)
    formats = dict(formats or {})
    layers, more = holding(layers, arrays, data_width, formats, calibration)
    fields: dict[str, Any] = training | {"data_width": data_width, "rounding": rounding, "formats": formats}
    make = partial(Network, name or Path(net).stem, found.shape, layers, found.loss, **fields)
    network, real, last = described(make, arrays, seed, calibration)
    return Imported(network, real, (*found.notes, *notes, *more, *last))


def _network(path: StrPath) -> Any:
    """The NetParameter of a file: first whether its layers are of known types, then whether their fields are known."""
    CaffeLayers.check_types(caffe_proto.text(path, "NetParameter", known=False))
    return caffe_proto.text(path, "NetParameter")


def _training(solver: Any, images: int | None, batch: int) -> dict[str, Any]:
    """Fields of the network that a solver describes. Raises ModelError."""

    def refuse(wrong: object, problem: str, nearest: object) -> None:
        if wrong:
            raise ModelError(problem, nearest, operator="solver")

    refuse(solver.type not in ("", "SGD"), f"type: {solver.type!r} is not supported", '"SGD"')
    refuse(solver.clip_gradients > 0, f"clip_gradients: {solver.clip_gradients:g} is not supported", "none")
    kind = solver.regularization_type or "L2"
    refuse(solver.weight_decay and kind != "L2", f"regularization_type: {kind!r} is not supported", '"L2"')
    refuse(not solver.HasField("base_lr"), "base_lr is not there", "base_lr: 0.01")
    policy = solver.lr_policy or "fixed"
    refuse(policy not in POLICIES, f"lr_policy: {policy!r} is not supported", " or ".join(map(repr, POLICIES)))
    refuse(policy != "fixed" and not images, f"lr_policy: {policy!r} counts iterations", "images=N, of an epoch")
    each = solver.iter_size or 1
    per_epoch = (images or 0) // (batch * each) or 1

    def epochs(iterations: int) -> int:
        near = max(1, round(iterations / per_epoch)) * per_epoch
        what = f"a step after {iterations} iterations is no whole epoch of {per_epoch}"
        refuse(iterations % per_epoch or not iterations, what, near)
        return iterations // per_epoch

    schedule = Schedule()
    if policy == "step":
        schedule = Step(every=epochs(solver.stepsize), factor=solver.gamma)
    elif policy == "multistep":
        at = tuple(epochs(value) for value in solver.stepvalue)
        schedule = Piecewise(epochs=at, factors=tuple(solver.gamma ** (k + 1) for k in range(len(at))))
    return {
        "learning_rate": _real(solver.base_lr),
        "momentum": _real(solver.momentum),
        "optimiser": "momentum" if solver.momentum else "sgd",
        "weight_decay": _real(solver.weight_decay),
        "minibatch": batch * each,
        "schedule": schedule,
    }


def _real(value: float) -> float:
    """A float of 32 bits as the number that was written: 0.01, not 0.0099999998."""
    return float(f"{value:.7g}")


def _weights(path: StrPath, found: CaffeLayers) -> Arrays:
    """The words of a .caffemodel by layer. Raises FileError."""
    blobs = {layer.name: layer.blobs for layer in caffe_proto.weights(path).layer}
    arrays: dict[str, dict[str, np.ndarray]] = {}
    for name, (layer, shape, bias) in found.weighted.items():
        given = blobs.get(name, ())
        if len(given) != 1 + bias:
            raise FileError(path, f"layer '{name}' has {len(given)} blobs, not {1 + bias}")
        arrays[layer] = {}
        for key, size, blob in zip(("weight", "bias"), (shape, shape[:1]), given):
            values = np.array(blob.data, np.float64)
            if len(values) != np.prod(size):
                raise FileError(path, f"layer '{name}': {len(values)} words of {key}, not {np.prod(size)}")
            if not np.isfinite(values).all():
                raise FileError(path, f"layer '{name}': words of {key} are infinite or NaN")
            arrays[layer][key] = values.reshape(size)
    return arrays
