# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch as layers, one function each. Functions and methods of tensors are read as the module that does
the same."""

from collections.abc import Callable
from typing import Any

from gradcore.frontends.errors import ModelError
from gradcore.frontends.layers import Value, refuse
from gradcore.ops.activation import LeakyReluLayer, ReluLayer, Sigmoid, Tanh
from gradcore.ops.average_pooling import AveragePool
from gradcore.ops.convolution import Conv, Dense
from gradcore.ops.dropout import Dropout
from gradcore.ops.layer import Layer
from gradcore.ops.max_pooling import MaxPool


def layer_of(module: Any, x: Value) -> Layer | None:
    """The layer, without name, that does what `module` does with `x`; None where nothing is to be done. Raises
    ModelError."""
    kind = type(module)
    if not kind.__module__.startswith("torch.nn.modules.") or kind.__name__ not in MODULES:
        nearest = NEAREST.get(kind.__name__, "one of " + ", ".join(MODULES))
        raise ModelError("is not supported", nearest)
    found: Layer | None = MODULES[kind.__name__](module, x)
    return found


def _maps(x: Value) -> None:
    refuse(x.flat, "reads a flattened tensor", "Flatten behind it")


def _pair(value: Any) -> tuple[int, int]:
    rows, columns = (value, value) if isinstance(value, int) else value if len(value) == 2 else (*value, *value)
    return int(rows), int(columns)


def _conv(module: Any, x: Value) -> Layer:
    _maps(x)
    refuse(_pair(module.dilation) != (1, 1), f"dilation {module.dilation}", "dilation=1")
    refuse(module.padding_mode != "zeros", f"padding_mode '{module.padding_mode}'", "padding_mode='zeros'")
    text = f"reads {module.in_channels} maps and gets {x.shape[0]}"
    refuse(module.in_channels != x.shape[0], text, f"in_channels={x.shape[0]}")
    kernel, pad = _pair(module.kernel_size), module.padding
    if pad == "same":
        refuse(any(k % 2 == 0 for k in kernel), f"padding='same' with the even kernel {kernel}", "an odd kernel")
        pad = (kernel[0] // 2, kernel[1] // 2)
    pad = (0, 0) if pad == "valid" else _pair(pad)
    bias, stride = module.bias is not None, _pair(module.stride)
    return Conv(module.out_channels, kernel, pad, bias, False, stride=stride, groups=module.groups)


def _linear(module: Any, x: Value) -> Layer:
    refuse(not x.flat, f"reads maps of {x.shape[1]}x{x.shape[2]}", "Flatten before it")
    words = x.shape[0] * x.shape[1] * x.shape[2]
    refuse(module.in_features != words, f"reads {module.in_features} words and gets {words}", f"in_features={words}")
    return Dense(module.out_features, module.bias is not None)


def _max_pool(module: Any, x: Value) -> Layer:
    _maps(x)
    refuse(_pair(module.dilation) != (1, 1), f"dilation {module.dilation}", "dilation=1")
    refuse(module.return_indices, "return_indices", "return_indices=False")
    return MaxPool(*_windows(module), bool(module.ceil_mode))


def _average_pool(module: Any, x: Value) -> Layer:
    _maps(x)
    refuse(module.ceil_mode, "ceil_mode", "ceil_mode=False")
    refuse(module.divisor_override is not None, "divisor_override", "divisor_override=None")
    padded = any(_pair(module.padding)) and not module.count_include_pad
    refuse(padded, "count_include_pad=False with a padding", "count_include_pad=True")
    return AveragePool(*_windows(module))


def _windows(module: Any) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    window = _pair(module.kernel_size)
    return window, _pair(module.stride or window), _pair(module.padding)


def _adaptive(module: Any, x: Value) -> Layer | None:
    _maps(x)
    size = module.output_size if isinstance(module.output_size, (list, tuple)) else (module.output_size,) * 2
    (rows, columns), (height, width) = x.shape[1:], (s or n for s, n in zip(size, x.shape[1:]))
    whole = [n for n in range(1, rows + 1) if rows % n == 0 and columns % n == 0]
    parts = f"{rows}x{columns} in {height}x{width} parts of different sizes"
    refuse(rows % height or columns % width, parts, " or ".join(f"({n}, {n})" for n in whole[-3:]))
    window = rows // height, columns // width
    return None if window == (1, 1) else AveragePool(window)


def _flatten(module: Any, x: Value) -> None:
    wrong = module.start_dim != 1 or module.end_dim not in (-1, 1 if x.flat else 3)
    refuse(wrong, f"start_dim {module.start_dim}, end_dim {module.end_dim}", "start_dim=1, end_dim=-1")


MODULES: dict[str, Callable[[Any, Value], Layer | None]] = {
    "Conv2d": _conv,
    "Linear": _linear,
    "ReLU": lambda module, x: ReluLayer(),
    "LeakyReLU": lambda module, x: LeakyReluLayer(float(module.negative_slope)),
    "Sigmoid": lambda module, x: Sigmoid(),
    "Tanh": lambda module, x: Tanh(),
    "MaxPool2d": _max_pool,
    "AvgPool2d": _average_pool,
    "AdaptiveAvgPool2d": _adaptive,
    "Dropout": lambda module, x: Dropout(float(module.p)),
    "Flatten": _flatten,
    "Identity": lambda module, x: None,
}
NEAREST = {
    "AdaptiveMaxPool2d": "MaxPool2d",
    "BatchNorm2d": "Conv2d with the normalisation folded into it",
    "Dropout2d": "Dropout",
    "ELU": "LeakyReLU",
    "GELU": "ReLU",
    "Hardtanh": "Tanh",
    "LogSoftmax": "CrossEntropyLoss, which has it inside",
    "PReLU": "LeakyReLU",
    "ReLU6": "ReLU",
    "SiLU": "ReLU",
    "Softmax": "CrossEntropyLoss, which has it inside",
}

# Functions of torch and torch.nn.functional and methods of tensors: the module, and the arguments behind the tensor
# with their defaults. None: no default.
POOL = {"kernel_size": None, "stride": None, "padding": 0}
FUNCTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "relu": ("ReLU", {"inplace": False}),
    "relu_": ("ReLU", {}),
    "leaky_relu": ("LeakyReLU", {"negative_slope": 0.01, "inplace": False}),
    "sigmoid": ("Sigmoid", {}),
    "tanh": ("Tanh", {}),
    "max_pool2d": ("MaxPool2d", {**POOL, "dilation": 1, "ceil_mode": False, "return_indices": False}),
    "avg_pool2d": (
        "AvgPool2d",
        {**POOL, "ceil_mode": False, "count_include_pad": True, "divisor_override": None},
    ),
    "adaptive_avg_pool2d": ("AdaptiveAvgPool2d", {"output_size": None}),
    "dropout": ("Dropout", {"p": 0.5, "training": True, "inplace": False}),
    "flatten": ("Flatten", {"start_dim": 0, "end_dim": -1}),
    "contiguous": ("Identity", {}),
}
