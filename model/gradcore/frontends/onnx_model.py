# SPDX-License-Identifier: Apache-2.0
"""From an ONNX model to a network with weights, and back."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from gradcore.files.atomic import FileError, StrPath, write_bytes
from gradcore.frontends.errors import ModelError
from gradcore.frontends.imported import Calibration, Imported, begun, holding
from gradcore.frontends.layers import located
from gradcore.frontends.onnx_graph import OnnxLayers, read
from gradcore.host.inference import load_model
from gradcore.network.description import Network
from gradcore.network.schedule import Schedule
from gradcore.numerics.fixed_point import Format, dequantize
from gradcore.ops.checks import NetworkError
from gradcore.ops.loss import SOFTMAX
from gradcore.reference.trainer import State


@dataclass(frozen=True)
class OnnxModel(Imported):
    """An `Imported` and the model of onnx_ir that it comes from."""

    model: Any

    def to_onnx(self, state: State | None = None) -> Any:
        """Put a state (None: the imported one) into the model; returns it. Every weight is then within half a unit of
        its layer's format of what was trained or imported."""
        return put(self.network, self.state if state is None else state, self.model)


def from_onnx(
    model: Any,
    loss: str = SOFTMAX,
    optimiser: str = "momentum",
    learning_rate: float = 0.01,
    momentum: float = 0.9,
    minibatch: int = 32,
    weight_decay: float = 0.0,
    schedule: Schedule = Schedule(),
    name: str = "network",
    data_width: int = 16,
    rounding: str | dict[str, str] = "stochastic",
    formats: Mapping[str, int] | None = None,
    calibration: Calibration | None = None,
) -> OnnxModel:
    """The network and the weights of an ONNX model: a file, an onnx_ir.Model or an onnx.ModelProto. The rest, which
    ONNX does not know, as in `Network`. calibration: images (N, maps, rows, columns) and labels (N,), from which the
    binary points are chosen that `formats` leaves open.

    A Softmax or LogSoftmax at the end is taken as part of the loss softmax_cross_entropy. Raises ModelError for
    whatever has no equal here, ImagesError for a calibration of other shapes, FileError, ImportError without onnx-ir.
    """
    model = _model(model)
    found = read(model)
    notes = []
    if found.in_loss:
        if loss != SOFTMAX:
            raise ModelError(f"'{loss}' has no softmax inside", f"loss='{SOFTMAX}'", found.in_loss, operator="loss")
        notes.append(f"node '{found.in_loss}': is part of the loss {SOFTMAX}")
    notes += _grids(found, data_width)
    arrays = {layer: {key: _real(found, layer, held[key]) for key in held} for layer, held in found.weights.items()}
    try:
        formats = found.formats | dict(formats or {})
        layers, changed = holding(found.layers, arrays, data_width, formats, calibration)
        network = Network(
            name,
            found.shape,
            layers,
            loss,
            optimiser,
            learning_rate,
            momentum,
            minibatch,
            data_width,
            rounding,
            formats,
            weight_decay,
            schedule,
        )
        network, real, more = begun(network, arrays, calibration)
    except NetworkError as error:
        node, operator = found.nodes.get(error.name, ("", ""))
        problem = f"{error.field}: {error.problem}" if operator else error.problem
        raise ModelError(problem, error.nearest, node, operator=operator or error.field) from error
    return OnnxModel(network, real, (*notes, *changed, *more), model)


def to_onnx(weights: StrPath, model: Any, out: StrPath | None = None) -> Any:
    """Put the weights of a run folder, a weights.npz or a checkpoint into the model (as for `from_onnx`) whose import
    was trained; returns the onnx_ir.Model, and writes it to the file `out`. Raises FileError, ModelError."""
    model = _model(model)
    kept = load_model(weights)
    put(kept.network, kept.state, model)
    if out is not None:
        import onnx_ir

        onnx_ir.external_data.load_to_model(model)
        write_bytes(out, onnx_ir.to_proto(model).SerializeToString())
    return model


def put(network: Network, state: State, model: Any) -> Any:
    """Put the weights and biases of a state, as real numbers, into the constants that the layers were made from.
    Raises ModelError, before anything is changed, where they do not fit."""
    found, new = read(model), []
    for p, layer in zip(network.parameters, state, strict=True):
        for key, frac in (("weight", p.fw), ("bias", p.fb))[: 1 + p.bias]:
            constant = found.weights.get(p.name, {}).get(key)
            words = layer[key]
            shape = (0,) if constant is None else constant.shape
            maps = max(shape) if key == "bias" else shape[0]
            if constant is None or prod(shape) != words.size or maps != len(words):
                there = "nothing" if constant is None else f"the shape {shape}"
                problem = f"the {key} of shape {words.shape} finds {there}"
                raise ModelError(problem, "the model that was imported", module=p.name)
            values = dequantize(words, Format(network.data_width, frac))
            with located(partial(_at_layer, p.name), ""):
                constant.check(values)
            new.append((constant, values))
    for constant, values in new:
        constant.put(values)
    return model


def _at_layer(layer: str, problem: str, nearest: str) -> ModelError:
    return ModelError(problem, nearest, module=layer)


def _grids(found: OnnxLayers, width: int) -> list[str]:
    """Sentences on quantised tensors whose words have other bits. Raises ModelError for those that need more."""
    wider = 0
    for (layer, kind), grid in found.grids.items():
        if grid.width > width:
            node, operator = found.nodes.get(layer, (layer, "input"))
            raise ModelError(f"{kind} of {grid.width} bits", f"data_width={grid.width}", node, operator=operator)
        wider += grid.width < width
    return [f"{wider} quantised tensors have fewer than {width} bits: the same steps, more range"] if wider else []


def _real(found: OnnxLayers, layer: str, constant: Any) -> Any:
    """The words of a layer's constant. Raises ModelError with the node's name."""
    try:
        return constant.real()
    except ModelError as error:
        node, operator = found.nodes[layer]
        raise ModelError(error.problem, error.nearest, node, operator=operator) from error


def _model(model: Any) -> Any:
    """`model` as one of onnx_ir. Raises FileError, ModelError, ImportError."""
    try:
        import onnx_ir
    except ImportError as error:
        text = "onnx-ir is not installed: pip install 'gradcore[onnx]'"
        raise ModuleNotFoundError(text, name="onnx-ir") from error
    if isinstance(model, onnx_ir.Model):
        return model
    if isinstance(model, (str, os.PathLike)):
        return _loaded(model)
    if type(model).__name__ == "ModelProto":
        return onnx_ir.from_proto(model)
    raise ModelError(f"{type(model).__name__} is no ONNX model", "a file, an onnx_ir.Model or an onnx.ModelProto")


def _loaded(path: StrPath) -> Any:
    """The model of a file. Raises FileError."""
    import onnx_ir

    try:
        return onnx_ir.load(path)
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}") from error
    except Exception as error:  # whatever the reader says of bytes that are no model
        raise FileError(path, f"is no ONNX model: {error}") from error
