# SPDX-License-Identifier: Apache-2.0
"""gradcore: bit-exact reference, compiler and driver of the gradcore training engine. Importing it needs only NumPy."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcore.frontends.torch_model import from_torch, to_torch

__all__ = ["from_torch", "to_torch"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gradcore.frontends import torch_model

    return getattr(torch_model, name)
