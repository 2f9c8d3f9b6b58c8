# SPDX-License-Identifier: Apache-2.0
"""The layers of a network of Caffe as layers of ours."""

from dataclasses import replace
from functools import partial
from typing import Any

from gradcore.frontends.caffe_proto import name_of
from gradcore.frontends.errors import ModelError
from gradcore.frontends.layers import Layers, Value, located, refuse
from gradcore.ops.activation import LeakyReluLayer, ReluLayer, Sigmoid, Tanh
from gradcore.ops.addition import Add
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.layer import Layer, Shape
from gradcore.ops.loss import SOFTMAX
from gradcore.ops.max_pooling import MaxPool

DATA = {  # layers that bring images and labels, and their parameters
    "Data": "data_param",
    "ImageData": "image_data_param",
    "HDF5Data": "hdf5_data_param",
    "MemoryData": "memory_data_param",
    "Input": "input_param",
}
LOSSES = {"SoftmaxWithLoss": SOFTMAX, "EuclideanLoss": "euclidean", "HingeLoss": "square_hinge"}
CHANGES = ("scale", "mirror", "mean_file", "mean_value")  # of the images, by a data layer
Weighted = tuple[str, tuple[int, ...], bool]  # our layer, shape of its weights, has it a bias?


class CaffeLayers:
    """shape: of the images; batch: of them, or None; found: the layers; loss; weighted: by name in the file; notes:
    what is not taken over as it is. Raises ModelError for what is not supported, by layer and type."""

    def __init__(self, net: Any, input_shape: Shape | None) -> None:
        self.shape, self.batch, self.loss = input_shape or (0, 0, 0), None, ""
        self.found, self.notes = Layers(), list[str]()
        self.weighted: dict[str, Weighted] = {}
        self.params: dict[str, Any] = {}
        self.values: dict[str, Value] = {}
        for name, shape in zip(net.input, [*net.input_shape] or [None] * len(net.input)):
            dims = shape.dim if shape else net.input_dim
            self._input(name, dims, not self.values)
        for layer in net.layer:
            if not _trains(layer):
                continue
            with located(partial(_at, layer), "caffe.proto"):
                self._layer(layer)
        if not self.loss:
            raise ModelError("no layer is a loss", " or ".join(LOSSES), operator="net")

    @staticmethod
    def check_types(net: Any) -> None:
        """Refuse layers of types that are not known. Raises ModelError."""
        if not net.layer:
            raise ModelError("has no `layer`", "a file of Caffe 1.0: layer { .. }", operator="net")
        for layer in filter(_trains, net.layer):
            if layer.type not in (*DATA, *LOSSES, *KINDS, "Softmax", *BESIDE):
                known = ", ".join([*KINDS, *LOSSES, *DATA])
                raise ModelError("is not supported", f"one of {known}", node=layer.name, operator=layer.type)

    def trained(self, rate: float, decay: float) -> tuple[tuple[Layer, ...], list[str]]:
        """(the layers with the rates that `lr_mult` gives, sentences on biases whose rate or decay is another)."""
        names = {ours: name for name, (ours, *_) in self.weighted.items()}
        layers, notes = list[Layer](), list[str]()
        for layer in self.found.layers:
            params = self.params.get(names.get(layer.name, ""), [])
            rates = [p.lr_mult if p.HasField("lr_mult") else 1.0 for p in params] or [1.0]
            decays = [p.decay_mult if p.HasField("decay_mult") else 1.0 for p in params] or [1.0]
            what = f"layer '{names.get(layer.name, '')}'"
            if decay and decays[0] != 1 and rates[0]:
                raise ModelError(f"decay_mult: {decays[0]:g} of weights is not supported", 1, operator=what)
            if any(value != rates[0] for value in rates[1:]):
                notes.append(f"{what}: lr_mult of the bias is that of the weights, {rates[0]:g}, not {rates[1]:g}")
            if decay and rates[0] and any(value != 1 for value in decays[1:]):
                notes.append(f"{what}: the bias decays as the weights do")
            if isinstance(layer, (Conv, Dense)) and not rates[0]:
                layer = replace(layer, trainable=False)
            elif isinstance(layer, (Conv, Dense)) and rates[0] != 1:
                layer = replace(layer, learning_rate=rate * rates[0])
            layers.append(layer)
        return tuple(layers), notes

    def _input(self, name: str, dims: Any, images: bool) -> None:
        """A tensor from outside: images, if they are the first ones, else labels."""
        if images and len(dims) == 4 and not any(self.shape):
            self.batch, self.shape = dims[0], tuple(dims[1:])
        problem = f"images of {len(dims)} dimensions" if dims else "does not say how large an image is"
        refuse(images and min(self.shape) < 1, problem, "input_shape=(maps, rows, columns)")
        self.values[name] = Value(shape=self.shape)

    def _layer(self, layer: Any) -> None:
        if layer.type in DATA:
            self._data(layer)
            return
        if layer.type in BESIDE:
            self.notes.append(f"layer '{layer.name}': {layer.type} is not part of the training")
            return
        for name in layer.bottom[: 1 if layer.type in LOSSES else None]:  # not the labels
            refuse(name not in self.values, f"reads '{name}', which no layer before it makes", "a layer that does")
        refuse(self.loss, f"stands behind the loss {self.loss}", "one loss, at the end")
        if layer.type in LOSSES:
            self._end(layer)
        elif layer.type == "Softmax":
            self.loss = SOFTMAX
            self.notes.append(f"layer '{layer.name}': Softmax is part of the loss {SOFTMAX}")
        else:
            refuse(len(layer.top) != 1, f"makes {len(layer.top)} tensors", 1)
            self.values[layer.top[0]] = KINDS[layer.type](self, layer, self.values[layer.bottom[0]])

    def _data(self, layer: Any) -> None:
        param = getattr(layer, DATA[layer.type])
        if layer.type == "Input":
            shapes = param.shape if len(param.shape) == len(layer.top) else [*param.shape] * len(layer.top)
            for top, shape in zip(layer.top, shapes):
                self._input(top, shape.dim, not self.values)
            return
        dims = [param.batch_size]
        dims += [param.channels, param.height, param.width] if layer.type == "MemoryData" else []
        for top in layer.top:
            self._input(top, dims if len(dims) == 4 else (), not self.values)
        self.batch = param.batch_size or None
        changed = [name for name in CHANGES if getattr(layer.transform_param, name)]
        if changed:
            self.notes.append(f"layer '{layer.name}': {', '.join(changed)}: the data are taken as they are")

    def _end(self, layer: Any) -> None:
        """A loss."""
        weight = layer.loss_weight[0] if layer.loss_weight else 1
        refuse(weight != 1, f"loss_weight: {weight:g} is not supported", 1)
        if layer.type == "HingeLoss":
            norm = name_of(layer.hinge_loss_param, "norm") if layer.hinge_loss_param.HasField("norm") else "L1"
            refuse(norm != "L2", f"norm: {norm} is not supported", "L2")
        if layer.type == "EuclideanLoss":
            self.notes.append(f"layer '{layer.name}': EuclideanLoss: the target of an image is 1 for its class, else 0")
        rule = layer.loss_param
        kind = name_of(rule, "normalization") if rule.HasField("normalization") else "VALID"
        refuse(kind == "NONE", "a loss that is the sum of the images is not supported", "normalization: VALID")
        refuse(rule.HasField("ignore_label"), "ignore_label is not supported", "a loss of all images")
        source = self.values[layer.bottom[0]]
        refuse(source.layer != self.found.last, f"does not read the last layer, '{self.found.last}'", "one that does")
        self.loss = LOSSES[layer.type]

    def _add(self, layer: Layer, name: str, *inputs: Value) -> Value:
        return self.found.add(layer, "".join(c if c.isalnum() or c in "_.-" else "_" for c in name), list(inputs))

    def _convolution(self, layer: Any, now: Value) -> Value:
        param = layer.convolution_param
        kernel, stride, pad = (_pair(param, *names) for names in WINDOW)
        refuse(not all(kernel), "has no kernel_size", "kernel_size: 3")
        refuse(any(n != 1 for n in param.dilation), "dilation is not supported", "dilation: 1")
        refuse(param.HasField("axis") and param.axis != 1, f"axis: {param.axis} is not supported", 1)
        groups, bias = param.group or 1, not param.HasField("bias_term") or param.bias_term
        conv = Conv(param.num_output, kernel, pad, bias, relu=False, stride=stride, groups=groups)
        return self._weights(layer, conv, (param.num_output, now.shape[0] // groups, *kernel), now)

    def _inner_product(self, layer: Any, now: Value) -> Value:
        param = layer.inner_product_param
        refuse(param.HasField("axis") and param.axis != 1, f"axis: {param.axis} is not supported", 1)
        refuse(param.transpose, "transpose is not supported", "transpose: false")
        bias = not param.HasField("bias_term") or param.bias_term
        return self._weights(layer, Dense(param.num_output, bias), (param.num_output, *now.shape), now)

    def _weights(self, layer: Any, ours: Conv | Dense, shape: tuple[int, ...], now: Value) -> Value:
        left = self._add(ours, layer.name, now)
        refuse(any(param.name for param in layer.param), "shared weights are not supported", "weights of its own")
        self.weighted[layer.name], self.params[layer.name] = (left.layer, shape, ours.bias), layer.param
        return left

    def _pooling(self, layer: Any, now: Value) -> Value:
        param = layer.pooling_param
        kind = name_of(param, "pool") if param.HasField("pool") else "MAX"
        refuse(kind == "STOCHASTIC", "pool: STOCHASTIC is not supported", "MAX or AVE")
        rows, columns = now.shape[1:]
        window, stride, pad = (_pair(param, *names) for names in WINDOW)
        if param.global_pooling:
            window, stride, pad = (rows, columns), (1, 1), (0, 0)
        refuse(not all(window), "has no kernel_size", "kernel_size: 2")
        up = not param.HasField("round_mode") or name_of(param, "round_mode") == "CEIL"
        due = tuple(_pooled(up, *side) for side in zip(now.shape[1:], window, stride, pad))
        tried: list[Layer] = [MaxPool(window, stride, pad, up)] if kind == "MAX" else [AveragePool(window, stride, pad)]
        (_, operator), *_ = tried[0].operators([now.shape])
        left = operator.shape([now.shape])[1:]
        problem = (
            f"of {rows}x{columns} pixels leaves {due[0]}x{due[1]} in Caffe, which rounds up, here {left[0]}x{left[1]}"
        )
        refuse(left != due, problem, "windows that fill the map")
        return self._add(tried[0], layer.name, now)

    def _relu(self, layer: Any, now: Value) -> Value:
        slope = layer.relu_param.negative_slope
        return self._add(LeakyReluLayer(round(slope, 7)) if slope else ReluLayer(), layer.name, now)

    def _sigmoid(self, layer: Any, now: Value) -> Value:
        return self._add(Sigmoid(), layer.name, now)

    def _tanh(self, layer: Any, now: Value) -> Value:
        return self._add(Tanh(), layer.name, now)

    def _dropout(self, layer: Any, now: Value) -> Value:
        param = layer.dropout_param
        refuse(param.HasField("scale_train") and not param.scale_train, "scale_train: false is not supported", "true")
        ratio = round(param.dropout_ratio, 7) if param.HasField("dropout_ratio") else 0.5
        return self._add(Dropout(ratio), layer.name, now)

    def _eltwise(self, layer: Any, now: Value) -> Value:
        param = layer.eltwise_param
        kind = name_of(param, "operation") if param.HasField("operation") else "SUM"
        refuse(kind != "SUM", f"operation: {kind} is not supported", "SUM")
        refuse(any(value != 1 for value in param.coeff), "coeff is not supported", "coeff: 1")
        return self._add(Add(), layer.name, *(self.values[name] for name in layer.bottom))

    def _flatten(self, layer: Any, now: Value) -> Value:
        return now


KINDS = {
    "Convolution": CaffeLayers._convolution,
    "InnerProduct": CaffeLayers._inner_product,
    "Pooling": CaffeLayers._pooling,
    "ReLU": CaffeLayers._relu,
    "Sigmoid": CaffeLayers._sigmoid,
    "TanH": CaffeLayers._tanh,
    "Dropout": CaffeLayers._dropout,
    "Eltwise": CaffeLayers._eltwise,
    "Flatten": CaffeLayers._flatten,
}
BESIDE = ("Accuracy", "Silence")  # layers that train nothing
# Fields of a window: for both sides, rows, columns, default.
WINDOW = (
    ("kernel_size", "kernel_h", "kernel_w", 0),
    ("stride", "stride_h", "stride_w", 1),
    ("pad", "pad_h", "pad_w", 0),
)


def _pair(param: Any, both: str, rows: str, columns: str, default: int) -> tuple[int, int]:
    """(rows, columns) of a window's field: one number, one for each side, or the fields of both sides."""
    given = getattr(param, both)
    if hasattr(given, "__len__"):
        given = [*given] or [default]
        refuse(len(given) > 2, f"{both} has {len(given)} numbers", 2)
        first, last = given[0], given[-1]
    else:
        first = last = given if param.HasField(both) else default
    return tuple(getattr(param, key) if param.HasField(key) else n for key, n in ((rows, first), (columns, last)))


def _pooled(up: bool, size: int, window: int, stride: int, pad: int) -> int:
    """Pixels of a side that a pooling of Caffe leaves: a last window may hang over the map, and must begin before its
    padding."""
    count = -(-(size + 2 * pad - window) // stride) + 1 if up else (size + 2 * pad - window) // stride + 1
    return count - 1 if pad and (count - 1) * stride >= size + pad else count


def _trains(layer: Any) -> bool:
    """Is a layer there in training? As Caffe reads `include` and `exclude`."""
    return any(map(_met, layer.include)) if layer.include else not any(map(_met, layer.exclude))


def _met(rule: Any) -> bool:
    """Does a rule hold in the phase TRAIN, at level 0, in no stage?"""
    phase = not rule.HasField("phase") or name_of(rule, "phase") == "TRAIN"
    return phase and not rule.stage and rule.min_level <= 0 and (not rule.HasField("max_level") or rule.max_level >= 0)


def _at(layer: Any, problem: str, nearest: str) -> ModelError:
    return ModelError(problem, nearest, node=layer.name, operator=layer.type)
