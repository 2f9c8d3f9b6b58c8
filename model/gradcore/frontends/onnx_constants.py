# SPDX-License-Identifier: Apache-2.0
"""Constants of an ONNX graph: weights that are read as real numbers and written back in the type that they had."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcore.frontends.layers import refuse

FLOATS = ("FLOAT", "DOUBLE", "FLOAT16")


@dataclass(frozen=True)
class Constant:
    """owner: the value of an initialiser or the node Constant that holds `tensor`; transposed: a node Transpose, or the
    operator that reads it, turns the matrix round."""

    name: str
    owner: Any
    tensor: Any
    transposed: bool = False

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
        """As float64. Raises ModelError for other types, NaN and infinity."""
        kind = self.tensor.dtype.name
        refuse(kind not in FLOATS, f"'{self.name}' is {kind}", " or ".join(FLOATS))
        found = self._array().astype(np.float64)
        wrong = int(np.count_nonzero(~np.isfinite(found)))
        refuse(wrong, f"{wrong} of {found.size} words of '{self.name}' are infinite or NaN", "finite numbers")
        return found.T if self.transposed else found

    def put(self, values: np.ndarray) -> None:
        """Replace its words by `values`, which have its shape but for axes of one."""
        import onnx_ir

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
