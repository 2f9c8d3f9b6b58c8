# SPDX-License-Identifier: Apache-2.0
"""Constants of an ONNX graph: weights that are read as real numbers and written back in the type that they had."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcore.frontends.layers import refuse

FLOATS = ("FLOAT", "DOUBLE", "FLOAT16")


@dataclass(frozen=True)
class Grid:
    """What a quantisation says of a tensor: integers of `bits` times 2^-frac; narrow: without the least one."""

    frac: int
    bits: int
    signed: bool = True
    narrow: bool = False

    @property
    def limits(self) -> tuple[int, int]:
        """Least and largest integer."""
        high = (1 << self.bits - self.signed) - 1
        return (-high - (not self.narrow) if self.signed else 0), high

    @property
    def width(self) -> int:
        """Bits of a signed word that holds all of them."""
        return self.bits + (not self.signed)


@dataclass(frozen=True)
class Constant:
    """owner: the value of an initialiser or the node Constant that holds `tensor`; transposed: a node Transpose, or the
    operator that reads it, turns the matrix round; grid: where its words lie; stored: as integers of that grid."""

    name: str
    owner: Any
    tensor: Any
    transposed: bool = False
    grid: Grid | None = None
    stored: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """As it is read."""
        sizes = tuple(int(size) for size in self.tensor.shape)
        return sizes[::-1] if self.transposed else sizes

    @property
    def turned(self) -> "Constant":
        """The transposed matrix."""
        return replace(self, transposed=not self.transposed)

    def integers(self) -> list[int]:
        """Its words, of a shape or a list of axes. Raises ModelError."""
        refuse(self.tensor.dtype.name != "INT64", f"'{self.name}' is {self.tensor.dtype.name}", "INT64")
        return [int(word) for word in self._array().flatten()]

    def number(self) -> float:
        """Its one word. Raises ModelError."""
        found = self.real().flatten()
        refuse(found.size != 1, f"'{self.name}' has {found.size} words", "one number")
        return float(found[0])

    def real(self) -> np.ndarray:
        """As float64, on its grid if it has one. Raises ModelError for other types, NaN and infinity."""
        kind = self.tensor.dtype.name
        refuse(kind not in FLOATS and not self.stored, f"'{self.name}' is {kind}", " or ".join(FLOATS))
        found = self._array().astype(np.float64)
        wrong = int(np.count_nonzero(~np.isfinite(found)))
        refuse(wrong, f"{wrong} of {found.size} words of '{self.name}' are infinite or NaN", "finite numbers")
        if self.grid:
            integers = found if self.stored else np.rint(found * 2.0**self.grid.frac)
            found = np.clip(integers, *self.grid.limits) * 2.0**-self.grid.frac
        return found.T if self.transposed else found

    def check(self, values: np.ndarray) -> None:
        """Raise ModelError for `values` that its grid does not hold."""
        if self.grid:
            low, high = (limit * 2.0**-self.grid.frac for limit in self.grid.limits)
            outside = int(np.count_nonzero((values < low) | (values > high)))
            text = f"{outside} words of '{self.name}' are outside {low:g}..{high:g}"
            refuse(outside, text, f"a training of words of {self.grid.width} bits")

    def put(self, values: np.ndarray) -> None:
        """Replace its words by `values`, which have its shape but for axes of one."""
        import onnx_ir

        if self.grid and self.stored:
            values = np.rint(values * 2.0**self.grid.frac)
        array = values.reshape(self.shape)
        array = np.ascontiguousarray(array.T if self.transposed else array).astype(self.tensor.dtype.numpy())
        tensor = onnx_ir.Tensor(array, name=self.tensor.name)
        if isinstance(self.owner, onnx_ir.Node):
            self.owner.attributes["value"] = onnx_ir.AttrTensor("value", tensor)
        else:
            self.owner.const_value = tensor

    def _array(self) -> np.ndarray:
        try:
            found: np.ndarray = self.tensor.numpy()
        except (OSError, ValueError) as error:  # external data that are not there, or too short
            refuse(True, f"'{self.name}' cannot be read: {error}", "the file of its data beside the model")
            raise
        return found
