# SPDX-License-Identifier: Apache-2.0
"""From a Darknet .cfg and its .weights to a network with weights (doc/darknet.md)."""

import struct
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gradcore.files.atomic import FileError, StrPath
from gradcore.frontends.darknet_cfg import Section, sections
from gradcore.frontends.errors import ModelError
from gradcore.frontends.imported import Arrays, Calibration, Imported, described, holding
from gradcore.frontends.layers import Layers, Value, located
from gradcore.network.description import Network
from gradcore.network.schedule import Piecewise, Schedule, Step
from gradcore.ops.activation import LeakyReluLayer, ReluLayer, Sigmoid, Tanh
from gradcore.ops.addition import Add
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.layer import Layer
from gradcore.ops.loss import SOFTMAX
from gradcore.ops.max_pooling import MaxPool

ACTIVATIONS: dict[str, Layer | None] = {
    "linear": None,
    "relu": ReluLayer(),
    "leaky": LeakyReluLayer(0.1),
    "logistic": Sigmoid(),
    "tanh": Tanh(),
}
# Changes of the images, which are the business of whoever makes the data; the value that changes nothing.
AUGMENTATION = {
    "angle": 0,
    "saturation": 1,
    "exposure": 1,
    "hue": 0,
    "aspect": 1,
    "flip": 1,
    "max_crop": 0,
    "min_crop": 0,
}


def from_darknet(
    cfg: StrPath,
    weights: StrPath | None = None,
    images: int | None = None,
    minibatch: int | None = None,
    name: str = "",
    seed: int = 1,
    data_width: int = 16,
    rounding: str | dict[str, str] = "stochastic",
    formats: Mapping[str, int] | None = None,
    calibration: Calibration | None = None,
) -> Imported:
    """The network, the training and the weights of a Darknet .cfg and, if given, a .weights file; without one, the
    initial weights of `seed`.

    images: of an epoch, which the policies `steps` and `step` ask for; minibatch: in the place of the file's `batch`;
    name: default the file's; calibration: images (N, maps, rows, columns) and labels (N,), from which the binary points
    are chosen that `formats` leaves open. Raises ModelError for what would not train in the same way, FileError,
    ImagesError for a calibration of other shapes.
    """
    net, *rest = sections(cfg)
    reader = _Reader(net, rest)
    training = _training(net, images, minibatch)
    if training["weight_decay"]:
        reader.notes.append("[net]: decay: weights and biases decay, in Darknet the weights alone")
    arrays = _weights(weights, reader) if weights is not None else {}
    formats = dict(formats or {})
    layers, notes = holding(reader.found.layers, arrays, data_width, formats, calibration)
    fields: dict[str, Any] = training | {"data_width": data_width, "rounding": rounding, "formats": formats}
    make = partial(Network, name or Path(cfg).stem, reader.shape, layers, reader.loss, **fields)
    network, real, more = described(make, arrays, seed, calibration)
    return Imported(network, real, (*reader.notes, *notes, *more))


def _training(net: Section, images: int | None, minibatch: int | None) -> dict[str, Any]:
    """Fields of the network that [net] describes. Raises ModelError."""
    batch = net.integer("batch", 1)
    net.options.pop("subdivisions", None)  # of the batch: the update is that of all its images
    fields: dict[str, Any] = {"minibatch": minibatch or batch, "learning_rate": net.number("learning_rate", 0.001)}
    fields["momentum"] = net.number("momentum", 0.9)
    fields["weight_decay"] = net.number("decay", 0.0001)
    fields["optimiser"] = "pytorch_momentum" if fields["momentum"] else "sgd"
    net.only("burn_in", 0)
    net.options.pop("max_batches", None)  # how long the user trains
    policy, schedule = net.text("policy", "constant"), Schedule()
    per_epoch = None if images is None else images // batch
    if policy not in ("constant", "steps", "step"):
        raise net.error(f"policy={policy} is not supported", "policy=steps")
    if policy != "constant" and not per_epoch:
        raise net.error(f"policy={policy} counts batches", "images=N, of an epoch")
    if policy == "steps":
        at, by = ([float(x) for x in net.text(key, "").split(",") if x.strip()] for key in ("steps", "scales"))
        if len(at) != len(by) or not at:
            raise net.error(f"{len(at)} steps and {len(by)} scales", "a scale for each step")
        factors = np.cumprod(by)
        schedule = Piecewise(epochs=tuple(_epochs(net, x, per_epoch) for x in at), factors=tuple(map(float, factors)))
    elif policy == "step":
        schedule = Step(every=_epochs(net, net.number("step", 1), per_epoch), factor=net.number("scale", 1))
    fields["schedule"] = schedule
    net.end()
    return fields


def _epochs(net: Section, batches: float, per_epoch: int | None) -> int:
    assert per_epoch
    if batches % per_epoch:
        near = max(1, round(batches / per_epoch)) * per_epoch
        raise net.error(f"a step after {batches:g} batches is no whole epoch of {per_epoch}", f"{near}")
    return int(batches // per_epoch)


class _Reader:
    """shape: of the images; found: the layers; loss; values: what each section leaves; weighted: layers with weights
    and their shapes, in the order of the .weights file; notes: what is not taken over as it is."""

    def __init__(self, net: Section, rest: list[Section]) -> None:
        size = (net.integer("channels", 0), net.integer("height", 0), net.integer("width", 0))
        if min(size) < 1:
            raise net.error(f"channels, height and width are {size}", "the sizes of the images")
        self.shape, self.found, self.loss = size, Layers(), ""
        self.values: list[Value] = []
        self.weighted: list[tuple[str, tuple[int, ...]]] = []
        self.notes: list[str] = []
        changes = [key for key, same in AUGMENTATION.items() if net.number(key, same) != same]
        if changes:
            self.notes.append(f"[net]: {', '.join(changes)}: the data are taken as they are")
        now = Value(shape=size)
        for number, section in enumerate(rest):
            make = getattr(self, "_" + SECTIONS.get(section.kind, ""), None)
            if make is None:
                raise section.error("is not supported", "one of " + ", ".join(f"[{kind}]" for kind in SECTIONS))
            if self.loss == SOFTMAX and section.kind != "cost":
                raise section.error("stands behind the softmax, which is the loss", "[cost]")
            with located(partial(_at, section), "Darknet's parser"):
                now = make(section, now, number)
            section.end()
            self.values.append(now)
        if not self.loss:
            raise net.error("the file ends without a loss", "[softmax] or [cost] at the end")

    def _add(self, layer: Layer, name: str, *inputs: Value) -> Value:
        return self.found.add(layer, name, list(inputs))

    def _activated(self, activation: str, now: Value, number: int, section: Section) -> Value:
        if activation not in ACTIVATIONS:
            raise section.error(f"activation={activation} is not supported", "one of " + ", ".join(ACTIVATIONS))
        layer = ACTIVATIONS[activation]
        return now if layer is None else self._add(layer, f"{layer.prefix}{number}", now)

    def _plain(self, section: Section) -> None:
        for key in ("batch_normalize", "binary", "xnor", "flipped", "dontload"):
            section.only(key, 0)

    def _convolutional(self, section: Section, now: Value, number: int) -> Value:
        self._plain(section)
        section.only("dilation", 1)
        maps, size, stride = (section.integer(key, 1) for key in ("filters", "size", "stride"))
        half, padding = section.integer("pad", 0), section.integer("padding", 0)
        groups, activation = section.integer("groups", 1), section.text("activation", "logistic")
        pad = size // 2 if half else padding
        layer = Conv(maps, (size, size), (pad, pad), relu=activation == "relu", stride=(stride, stride), groups=groups)
        left = self._add(layer, f"conv{number}", now)
        self.weighted.append((left.layer, (maps, now.shape[0] // groups, size, size)))
        return left if layer.relu else self._activated(activation, left, number, section)

    def _connected(self, section: Section, now: Value, number: int) -> Value:
        self._plain(section)
        maps, activation = section.integer("output", 1), section.text("activation", "logistic")
        layer = Dense(maps, relu=activation == "relu")
        left = self._add(layer, f"fc{number}", now)
        self.weighted.append((left.layer, (maps, *now.shape)))
        return left if layer.relu else self._activated(activation, left, number, section)

    def _maxpool(self, section: Section, now: Value, number: int) -> Value:
        stride = section.integer("stride", 1)
        size = section.integer("size", stride)
        padding = section.integer("padding", size - 1)
        due = tuple((n + padding - size) // stride + 1 for n in now.shape[1:])
        for ceil_mode in (False, True):
            layer = MaxPool((size, size), (stride, stride), (padding // 2, padding // 2), ceil_mode)
            (_, operator), *_ = layer.operators([now.shape])
            if operator.shape([now.shape])[1:] == due:
                return self._add(layer, f"pool{number}", now)
        raise section.error(f"padding={padding} leaves maps of {due[0]}x{due[1]}", f"padding={size - 1}")

    def _avgpool(self, section: Section, now: Value, number: int) -> Value:
        return self._add(AveragePool(now.shape[1:]), f"average{number}", now)

    def _dropout(self, section: Section, now: Value, number: int) -> Value:
        return self._add(Dropout(section.number("probability", 0.5)), f"dropout{number}", now)

    def _shortcut(self, section: Section, now: Value, number: int) -> Value:
        at, activation = section.integer("from", 0), section.text("activation", "linear")
        other = at if at >= 0 else number + at
        if not 0 <= other < number:
            raise section.error(f"from={at} is no section before it", "from=-2")
        if self.values[other].shape != now.shape:
            shapes = " and ".join("x".join(map(str, value.shape)) for value in (self.values[other], now))
            raise section.error(f"adds maps of {shapes}", "maps of one shape")
        left = self._add(Add(), f"add{number}", now, self.values[other])
        return self._activated(activation, left, number, section)

    def _softmax(self, section: Section, now: Value, number: int) -> Value:
        section.only("groups", 1)
        section.only("temperature", 1)
        self.loss = SOFTMAX
        self.notes.append(f"line {section.line}: [softmax]: is part of the loss {SOFTMAX}")
        return now

    def _cost(self, section: Section, now: Value, number: int) -> Value:
        kind = section.text("type", "sse")
        if kind != "sse":
            raise section.error(f"type={kind} is not supported", "type=sse")
        section.only("scale", 1)
        # Behind a softmax the differences go back through it as they are: that is the gradient of the cross-entropy.
        self.loss = self.loss or "euclidean"
        return now


SECTIONS = {
    "convolutional": "convolutional",
    "conv": "convolutional",
    "connected": "connected",
    "conn": "connected",
    "maxpool": "maxpool",
    "max": "maxpool",
    "avgpool": "avgpool",
    "avg": "avgpool",
    "dropout": "dropout",
    "shortcut": "shortcut",
    "softmax": "softmax",
    "soft": "softmax",
    "cost": "cost",
}


def _at(section: Section, problem: str, nearest: str) -> ModelError:
    return section.error(problem, nearest)


def _weights(path: StrPath, reader: _Reader) -> Arrays:
    """The words of a .weights file by layer. Raises FileError."""
    words = sum(shape[0] + int(np.prod(shape)) for _, shape in reader.weighted)
    try:
        with Path(path).open("rb") as file:
            major, minor, _ = struct.unpack("<3i", file.read(12))
            wide = major * 10 + minor >= 2
            file.read(8 if wide else 4)  # images seen
            data = file.read(4 * words + 1)
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}") from error
    except struct.error as error:
        raise FileError(path, "is no .weights file of Darknet: it has no header") from error
    if not (0 <= major < 1000 and 0 <= minor < 1000):
        raise FileError(path, f"is no .weights file of Darknet that is known: version {major}.{minor}")
    if len(data) != 4 * words:
        many = "more" if len(data) > 4 * words else f"{len(data) // 4}"
        raise FileError(path, f"has {many} words where the .cfg has {words} weights and biases")
    values, found, at = np.frombuffer(data, "<f4").astype(np.float64), {}, 0
    if not np.isfinite(values).all():
        raise FileError(path, f"{int((~np.isfinite(values)).sum())} of {words} words are infinite or NaN")
    for layer, shape in reader.weighted:
        begin, at = at + shape[0], at + shape[0] + int(np.prod(shape))
        found[layer] = {"bias": values[begin - shape[0] : begin], "weight": values[begin:at].reshape(shape)}
    return found
