# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX as layers, one function each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from gradcore.frontends.layers import Value, refuse
from gradcore.frontends.onnx_constants import Constant
from gradcore.frontends.onnx_sizes import Sizes
from gradcore.frontends.onnx_windows import pads_of, windows_of
from gradcore.ops.activation import LeakyReluLayer, ReluLayer, Sigmoid, Tanh
from gradcore.ops.addition import Add
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.layer import Layer
from gradcore.ops.max_pooling import MaxPool


@dataclass(frozen=True)
class Call:
    """An operator at its place: its version of the operator set, its attributes with their defaults, its inputs (None:
    left out); images: of the model's input, where that number is fixed."""

    operator: str
    opset: int
    attributes: Mapping[str, Any]
    inputs: tuple[Value | Constant | Sizes | None, ...]
    images: int | None

    @property
    def x(self) -> Value:
        """The first input, a tensor of the model. Raises ModelError."""
        return self.tensor(0)

    @property
    def maps(self) -> Value:
        """The first input, which has rows and columns. Raises ModelError."""
        refuse(self.x.flat, "reads a flattened tensor", "Flatten behind it")
        return self.x

    def tensor(self, number: int) -> Value:
        """An input that is a tensor of the model. Raises ModelError."""
        found = self.inputs[number]
        if not isinstance(found, Value):
            refuse(True, f"input {number} is none", "a tensor of the model")
        assert isinstance(found, Value)
        return found

    def constant(self, number: int) -> Constant | None:
        """An input that is a constant or left out. Raises ModelError."""
        found = self.inputs[number] if number < len(self.inputs) else None
        computed = isinstance(found, (Value, Sizes))
        refuse(computed, f"input {number} is computed by the model", "a constant")
        return found if isinstance(found, Constant) else None


@dataclass(frozen=True)
class Made:
    """What becomes of an operator: a layer, without name, or None where nothing is to be done; what it reads; its
    weights, shaped as the layer has them; whether rows and columns are gone; whether it belongs to the loss."""

    layer: Layer | None
    inputs: tuple[Value, ...]
    weight: Constant | None = None
    bias: Constant | None = None
    flat: bool = False
    in_loss: bool = False


def _of(layer: Callable[[Call], Layer | None], flat: bool = False) -> Callable[[Call], Made]:
    """Reader of an operator with one tensor and no weights."""
    return lambda call: Made(layer(call), (call.x,), flat=flat)


def _weight(call: Call, axes: int, nearest: str) -> Constant:
    found = call.constant(1)
    refuse(found is None, "has no weights", nearest)
    assert found is not None
    refuse(len(found.shape) != axes, f"the weights '{found.name}' have {len(found.shape)} axes", nearest)
    return found


def _bias(call: Call, maps: int) -> Constant | None:
    found = call.constant(2)
    wrong = found is not None and found.shape not in ((maps,), (1, maps))
    refuse(wrong, f"the bias has the shape {found and found.shape}", f"({maps},)")
    return found


def _conv(call: Call) -> Made:
    x, given = call.maps, call.attributes
    weight = _weight(call, 4, "a convolution of rows and columns")
    maps, inner, *kernel = weight.shape
    groups = given["group"]
    refuse(given["kernel_shape"] not in (None, tuple(kernel)), f"kernel_shape {given['kernel_shape']}", tuple(kernel))
    text = f"reads {inner * groups} maps in {groups} groups and gets {x.shape[0]}"
    refuse(inner * groups != x.shape[0], text, f"weights of {x.shape[0]} maps")
    stride = given["strides"] or (1, 1)
    pad = pads_of(given, (kernel[0], kernel[1]), stride, x.shape)
    bias = _bias(call, maps)
    layer = Conv(maps, tuple(kernel), pad, bias is not None, False, stride=tuple(stride), groups=groups)
    return Made(layer, (x,), weight, bias)


def _gemm(call: Call) -> Made:
    given = call.attributes
    for name, one in (("alpha", 1), ("beta", 1), ("transA", 0)):
        refuse(given[name] != one, f"{name}={given[name]}", f"{name}={one}")
    weight = _weight(call, 2, "a matrix")
    return _dense(call, weight if given["transB"] else weight.turned)


def _matmul(call: Call) -> Made:
    return _dense(call, _weight(call, 2, "a matrix").turned)


def _dense(call: Call, weight: Constant) -> Made:
    """weight: (maps, words)."""
    x = call.x
    refuse(not x.flat, f"reads maps of {x.shape[1]}x{x.shape[2]}", "Flatten before it")
    maps, words = weight.shape
    refuse(words != prod(x.shape), f"reads {words} words and gets {prod(x.shape)}", f"{prod(x.shape)} words")
    bias = _bias(call, maps)
    return Made(Dense(maps, bias is not None), (x,), weight, bias)


def _max_pool(call: Call) -> Layer:
    refuse(call.attributes["storage_order"], "storage_order=1", "storage_order=0")
    return MaxPool(*windows_of(call.attributes, call.maps.shape), bool(call.attributes["ceil_mode"]))


def _average_pool(call: Call) -> Layer:
    given = call.attributes
    refuse(given["ceil_mode"], "ceil_mode=1", "ceil_mode=0")
    windows = windows_of(given, call.maps.shape)
    uncounted = any(windows[2]) and not given["count_include_pad"]
    refuse(uncounted, "count_include_pad=0 with pads", "count_include_pad=1")
    return AveragePool(*windows)


def _dropout(call: Call) -> Layer:
    given = call.constant(1)
    return Dropout(float(call.attributes["ratio"]) if given is None else round(given.number(), 7))


def _flatten(call: Call) -> None:
    axis, axes = call.attributes["axis"], 2 if call.x.flat else 4
    refuse(axis not in (1, 1 - axes), f"axis={axis}", "axis=1")


def _reshape(call: Call) -> None:
    sizes, words = call.inputs[1], prod(call.x.shape)
    given: list[int | None] = []
    if isinstance(sizes, Sizes):
        given += sizes.values
    elif isinstance(constant := call.constant(1), Constant):
        given += constant.integers()
    first = [call.images] if call.attributes["allowzero"] else [call.images, 0]
    good = len(given) == 2 and (given[0] in first and given[1] in (-1, words) or given == [-1, words])
    refuse(not good, f"gives the shape {given} to {words} words of an image", f"[0, -1] or [-1, {words}]")


def _axes(call: Call) -> list[int]:
    """The axes that an operator acts on, counted from the front."""
    found, rank = call.constant(1), 2 if call.x.flat else 4
    axes = call.attributes["axes"] if found is None else found.integers()
    return sorted(axis % rank for axis in axes or ())


def _squeeze(call: Call) -> None:
    good = _axes(call) == [2, 3] and call.maps.shape[1:] == (1, 1)
    refuse(not good, f"axes {_axes(call)} of the shape {call.x.shape}", "rows and columns of one pixel: axes=[2, 3]")


def _mean(call: Call) -> Made:
    refuse(_axes(call) != [2, 3], f"axes {_axes(call)}", "rows and columns: axes=[2, 3]")
    return Made(AveragePool(call.maps.shape[1:]), (call.x,), flat=not call.attributes["keepdims"])


def _softmax(call: Call) -> Made:
    axis = call.attributes["axis"]
    axis = (1 if call.opset < 13 else -1) if axis is None else axis
    refuse(not call.x.flat or axis not in (1, -1), f"axis={axis} is not that of the classes", "axis=1 of two axes")
    return Made(None, (call.x,), in_loss=True)


def _add(call: Call) -> Made:
    tensors = tuple(call.tensor(number) for number in range(len(call.inputs)))
    shapes = [x.shape for x in tensors]
    same = all((x.shape, x.flat) == (tensors[0].shape, tensors[0].flat) for x in tensors)
    refuse(not same, f"adds the shapes {' and '.join(map(str, shapes))}", "one shape, both flattened or not")
    return Made(Add() if len(tensors) > 1 else None, tensors)


def bias_of(call: Call) -> tuple[Value, Constant] | None:
    """Tensor and constant of an Add that adds a number to each map; None: it adds two tensors. Raises ModelError."""
    constants = [found for found in call.inputs if isinstance(found, Constant)]
    tensors = [found for found in call.inputs if isinstance(found, Value)]
    if not constants or not tensors:
        return None
    (x,), (found,) = tensors, constants
    good = [(x.shape[0],), (1, x.shape[0])] if x.flat else [(x.shape[0], 1, 1), (1, x.shape[0], 1, 1)]
    refuse(found.shape not in good, f"adds a constant of the shape {found.shape}", f"a bias of the shape {good[0]}")
    return x, found


AXES = {"axis": None}
PADS = {"auto_pad": "NOTSET", "dilations": None, "kernel_shape": None, "pads": None, "strides": None}
AVERAGE = {"ceil_mode": 0, "count_include_pad": 0}
MAXIMUM = {"ceil_mode": 0, "storage_order": 0}
GEMM = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0}
# Reader, attributes with their defaults (None: no default), largest number of inputs.
OPERATORS: dict[str, tuple[Callable[[Call], Made], dict[str, Any], int]] = {
    "Conv": (_conv, {"group": 1, **PADS}, 3),
    "Gemm": (_gemm, GEMM, 3),
    "MatMul": (_matmul, {}, 2),
    "Add": (_add, {}, 2),
    "Sum": (_add, {}, 16),
    "Relu": (_of(lambda call: ReluLayer()), {}, 1),
    "LeakyRelu": (_of(lambda call: LeakyReluLayer(round(call.attributes["alpha"], 7))), {"alpha": 0.01}, 1),
    "Sigmoid": (_of(lambda call: Sigmoid()), {}, 1),
    "Tanh": (_of(lambda call: Tanh()), {}, 1),
    "MaxPool": (_of(_max_pool), {**MAXIMUM, **PADS}, 1),
    "AveragePool": (_of(_average_pool), {**AVERAGE, **PADS}, 1),
    "GlobalMaxPool": (_of(lambda call: MaxPool(call.maps.shape[1:])), {}, 1),
    "GlobalAveragePool": (_of(lambda call: AveragePool(call.maps.shape[1:])), {}, 1),
    "ReduceMean": (_mean, {"axes": None, "keepdims": 1, "noop_with_empty_axes": 0}, 2),
    "Dropout": (_of(_dropout), {"ratio": 0.5, "seed": None}, 3),
    "Flatten": (_of(_flatten, flat=True), {"axis": 1}, 1),
    "Reshape": (_of(_reshape, flat=True), {"allowzero": 0}, 2),
    "Squeeze": (_of(_squeeze, flat=True), {"axes": None}, 2),
    "Identity": (_of(lambda call: None), {}, 1),
    "Softmax": (_softmax, AXES, 1),
    "LogSoftmax": (_softmax, AXES, 1),
}
NORMALISATION = "a model without it: folded into the convolution before it, another model would be trained"
NEAREST = {
    "BatchNormalization": NORMALISATION,
    "InstanceNormalization": NORMALISATION,
    "LayerNormalization": NORMALISATION,
    "BipolarQuant": "Quant of 2 bits or more",
    "Cast": "weights and input of one type of floating point",
    "Clip": "Relu",
    "Elu": "LeakyRelu",
    "Gelu": "Relu",
    "HardSigmoid": "Sigmoid",
    "Pad": "the pads of Conv",
    "PRelu": "LeakyRelu",
    "Slice": "Flatten, or Reshape to the constant shape [0, -1]",
    "QLinearConv": "Conv between DequantizeLinear and QuantizeLinear",
    "QLinearMatMul": "MatMul between DequantizeLinear and QuantizeLinear",
    "Trunc": "Quant",
    "Transpose": "maps before rows and columns (NCHW) throughout",
}


def made_of(call: Call) -> Made:
    """What becomes of an operator of `OPERATORS`. Raises NetworkError."""
    made = OPERATORS[call.operator][0](call)
    return replace(made, flat=made.flat or made.inputs[0].flat)
