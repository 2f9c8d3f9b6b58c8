# SPDX-License-Identifier: Apache-2.0
"""A module of PyTorch as layers, by its graph of torch.fx."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any

from gradcore.frontends.errors import ModelError
from gradcore.frontends.layers import Layers, Value, located, refuse
from gradcore.frontends.torch_layers import FUNCTIONS, MODULES, layer_of
from gradcore.network.graph import INPUT
from gradcore.ops.addition import Add
from gradcore.ops.checks import NAME_MAX
from gradcore.ops.layer import Shape

PLACES = ("torch", "torch.nn.functional", "torch._C._nn", "_operator", "builtins")
BATCH = "batch"  # in the place of the number of images
ADDITIONS = ("add", "iadd", "add_")
WEIGHTED = ("Conv2d", "Linear")


@dataclass
class TorchLayers(Layers):
    """modules: those with weights, by layer."""

    modules: dict[str, Any] = field(default_factory=dict)


def read(model: Any, shape: Shape) -> TorchLayers:
    """The layers of `model` for images of `shape`. Raises ModelError."""
    training = _trace(model, True)
    _same(training, _trace(model, False))
    reader = _Reader(dict(model.named_modules()), shape)
    for node in training.nodes:
        with _located(node):
            reader.add(node)
    return reader.found


def _located(node: Any) -> AbstractContextManager[None]:
    """Names node, module and operator in the errors that come out of it."""
    return located(partial(_at, node), "PyTorch's documentation")


def _at(node: Any, problem: str, nearest: str) -> ModelError:
    module = str(node.target) if node.op == "call_module" else _owner(node)
    return ModelError(problem, nearest, node.name, module, _operator(node))


def _owner(node: Any) -> str:
    """Path of the module whose forward method has made a node."""
    stack = node.meta.get("nn_module_stack") or {}
    return str(next(reversed(stack))) if stack else ""


def _operator(node: Any) -> str:
    if node.op == "call_module":
        return str(node.meta.get("kind", "module"))
    if node.op == "call_function":
        return f"{getattr(node.target, '__module__', '')}.{_name(node)}"
    return f"Tensor.{node.target}" if node.op == "call_method" else str(node.op)


def _name(node: Any) -> str:
    return str(getattr(node.target, "__name__", node.target))


def _trace(model: Any, training: bool) -> Any:
    """The graph of the model in training or not; its modules are left as they were."""
    from torch import fx

    modes = [(module, module.training) for module in model.modules()]
    try:
        model.train(training)
        return fx.Tracer().trace(model)
    except Exception as error:  # whatever the model's own code raises
        raise ModelError(f"torch.fx cannot trace it: {error}", "a forward method without branches on data") from error
    finally:
        for module, mode in modes:
            module.training = mode


def _same(training: Any, other: Any) -> None:
    """Refuse a model that does something else in training than afterwards, but for dropout."""

    def plain(node: Any) -> tuple:
        kwargs = {key: value for key, value in node.kwargs.items() if key != "training"}
        return node.op, str(node.target), str(node.args), str(kwargs)

    nodes = list(training.nodes), list(other.nodes)
    for ours, theirs in zip(*nodes):
        with _located(ours):
            is_dropout = ours.op == "call_function" and _name(ours) == "dropout"
            given = [node.kwargs.get("training", True) for node in (ours, theirs)]
            refuse(is_dropout and given != [True, False], "drops always or never", "training=self.training")
            refuse(plain(ours) != plain(theirs), "is not the same in train() and eval()", "one forward method for both")
    refuse(len(nodes[0]) != len(nodes[1]), "is not the same in train() and eval()", "one forward method for both")


class _Reader:
    def __init__(self, modules: Mapping[str, Any], shape: Shape) -> None:
        self.paths, self.shape = modules, shape
        self.values: dict[Any, Any] = {}
        self.found = TorchLayers()
        self.inputs = 0

    def add(self, node: Any) -> None:
        """Takes over one node of the graph."""
        args, kwargs = self._resolved(node.args), self._resolved(node.kwargs)
        self.values[node] = getattr(self, f"_{node.op}")(node, args, kwargs)

    def _placeholder(self, node: Any, args: Any, kwargs: Any) -> Value:
        self.inputs += 1
        refuse(self.inputs > 1, "is a second input", "one input")
        return Value(INPUT, self.shape)

    def _get_attr(self, node: Any, args: Any, kwargs: Any) -> None:
        refuse(True, f"reads the tensor '{node.target}' itself", "a module that holds it: Conv2d or Linear")

    def _output(self, node: Any, args: Any, kwargs: Any) -> None:
        refuse(not isinstance(args[0], Value), "the model does not return one tensor", "one output")
        x = args[0]
        refuse(not x.flat, f"the model returns maps of {x.shape[1]}x{x.shape[2]}", "Flatten at the end")
        last = self.found.last
        refuse(x.layer != last, f"the model returns '{x.layer}', and '{last}' behind it has no reader", "leave it out")
        self.found.output = x

    def _call_module(self, node: Any, args: Any, kwargs: Any) -> Value:
        module = self.paths[node.target]
        node.meta["kind"] = kind = type(module).__name__
        refuse(len(args) != 1 or kwargs or not isinstance(args[0], Value), "reads more than one tensor", "one input")
        if kind not in WEIGHTED:
            return self._module(module, args[0], node.target if node.target not in self.found.names else node.name)
        refuse(node.target in self.found.modules, "is used twice: shared weights", "a module of its own for each use")
        long = node.target == INPUT or len(node.target) > NAME_MAX
        refuse(long, f"'{node.target}' is not a layer's name", f"up to {NAME_MAX} characters, not '{INPUT}'")
        value = self._module(module, args[0], node.target)
        for path, other in self.found.modules.items():
            shared = module.weight is other.weight or module.bias is not None and module.bias is other.bias
            refuse(shared, f"shares weights with '{path}'", "weights of its own")
        self.found.modules[node.target] = module
        return value

    def _call_method(self, node: Any, args: Any, kwargs: Any) -> Any:
        return self._call(node, node.target, args, kwargs)

    def _call_function(self, node: Any, args: Any, kwargs: Any) -> Any:
        place = getattr(node.target, "__module__", "")
        refuse(place not in PLACES, "is not supported", "functions of torch and torch.nn.functional")
        return self._call(node, _name(node), args, kwargs)

    def _call(self, node: Any, name: str, args: Any, kwargs: Any) -> Any:
        if name in ADDITIONS:
            return self._sum(node, args, kwargs)
        if name in ("view", "reshape"):
            return self._reshaped(args, kwargs)
        if name in ("size", "getattr", "getitem"):
            return self._shape(name, args, kwargs)
        if name not in FUNCTIONS:
            raise ModelError("is not supported", "one of " + ", ".join([*FUNCTIONS, "add", "view", "reshape", "size"]))
        kind, defaults = FUNCTIONS[name]
        x = kwargs.pop("input", None) if not args else args[0]
        refuse(not isinstance(x, Value), "does not read a tensor of the model", "a tensor")
        given = dict(zip(defaults, args[1:])) | kwargs
        unknown = sorted(set(given) - set(defaults))
        refuse(unknown or len(args) - 1 > len(defaults), f"has the arguments {unknown}", ", ".join(defaults))
        given = defaults | given
        given.pop("training", None)
        return self._module(_made(kind, given), x, node.name)

    def _module(self, module: Any, x: Value, name: str) -> Value:
        layer = layer_of(module, x)
        flat = x.flat or type(module).__name__ == "Flatten"
        return replace(x, flat=flat) if layer is None else self.found.add(layer, name, [x])

    def _sum(self, node: Any, args: Any, kwargs: Any) -> Value:
        alpha = kwargs.pop("alpha", 1)
        inputs = [*args, *kwargs.values()]
        refuse(alpha != 1, f"alpha={alpha}", "alpha=1")
        tensors = len(inputs) == 2 and all(isinstance(x, Value) for x in inputs)
        refuse(not tensors, "adds something else than two tensors of the model", "a sum of two tensors")
        same = inputs[0].shape == inputs[1].shape and inputs[0].flat == inputs[1].flat
        refuse(not same, f"adds the shapes {inputs[0].shape} and {inputs[1].shape}", "one shape, both flattened or not")
        return self.found.add(Add(), node.name, inputs)

    def _reshaped(self, args: Any, kwargs: Any) -> Value:
        x, *sizes = args
        sizes = list(sizes[0]) if sizes and isinstance(sizes[0], (list, tuple)) else sizes
        refuse(kwargs or not isinstance(x, Value), "does not read a tensor of the model", "x.flatten(1)")
        words = prod(x.shape)
        good = sizes in ([BATCH, -1], [BATCH, words], [-1, words])
        refuse(not good, f"gives the shape {sizes} to {words} words of an image", "x.flatten(1)")
        flat: Value = replace(x, flat=True)
        return flat

    def _shape(self, name: str, args: Any, kwargs: Any) -> Any:
        x, *rest = args
        if name == "getitem":
            refuse(not isinstance(x, tuple) or not isinstance(rest[0], int), "takes a part of a tensor", "all of it")
            return x[rest[0]]
        refuse(name == "getattr" and rest != ["shape"], f"reads the attribute {rest}", "shape")
        refuse(not isinstance(x, Value) or bool(kwargs), "does not read a tensor of the model", "x.size(0)")
        sizes = (BATCH, prod(x.shape)) if x.flat else (BATCH, *x.shape)
        return sizes[rest[0]] if name == "size" and rest else sizes

    def _resolved(self, value: Any) -> Any:
        """Arguments with what the nodes in them stand for."""
        if isinstance(value, (list, tuple)):
            return [self._resolved(item) for item in value]
        if isinstance(value, Mapping):
            return {key: self._resolved(item) for key, item in value.items()}
        return self.values[value] if hasattr(value, "op") and value in self.values else value


def _made(kind: str, arguments: Mapping[str, Any]) -> Any:
    """A module of torch.nn with these arguments."""
    from torch import nn

    assert kind in MODULES
    return getattr(nn, kind)(**arguments)
