# SPDX-License-Identifier: Apache-2.0
"""What the readers of all front ends share: tensors of a model, the layers found so far, places in errors."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from gradcore.frontends.errors import ModelError
from gradcore.network.graph import INPUT
from gradcore.ops.checks import NAME_MAX, NetworkError
from gradcore.ops.layer import Layer, Shape


@dataclass(frozen=True)
class Value:
    """A tensor of the model: the layer that makes it, its shape without the images, whether the model has it without
    rows and columns."""

    layer: str = INPUT
    shape: Shape = (1, 1, 1)
    flat: bool = False


@dataclass
class Layers:
    """layers: with their names and inputs; output: what the model returns."""

    layers: list[Layer] = field(default_factory=list)
    output: Value = field(default_factory=Value)
    names: set[str] = field(default_factory=lambda: {INPUT})

    @property
    def last(self) -> str:
        """Name of the last layer."""
        return self.layers[-1].name if self.layers else INPUT

    def add(self, layer: Layer, name: str, inputs: list[Value]) -> Value:
        """Append a layer that reads `inputs`, called `name` or, where that is taken, nearly so. Raises NetworkError."""
        name = name.replace("..", ".")[:NAME_MAX]
        while name in self.names:
            name = f"{name}_"[-NAME_MAX:]
        names = tuple(x.layer for x in inputs)
        layer = replace(layer, name=name, inputs=() if names == (self.last,) else names)
        layer.check()
        shapes = [x.shape for x in inputs]
        for _, operator in layer.operators(shapes):
            shapes = [operator.shape(shapes)]
        self.layers.append(layer)
        self.names.add(name)
        return Value(name, shapes[0], inputs[0].flat)


def refuse(wrong: object, problem: str, nearest: object = "") -> None:
    """Raise ModelError if `wrong`."""
    if wrong:
        raise ModelError(problem, nearest)


@contextmanager
def located(at: Callable[[str, str], ModelError], documentation: str) -> Iterator[None]:
    """Names a place in the errors that come out of it: `at` makes them of problem and nearest form. documentation: of
    arguments that the model's framework would refuse, too."""
    try:
        yield
    except NetworkError as error:
        own = isinstance(error, ModelError)
        problem = error.problem if own else f"{error.field}: {error.problem}"
        raise at(problem, error.nearest) from error
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise at(f"has unusual arguments: {error}", f"the form in {documentation}") from error
