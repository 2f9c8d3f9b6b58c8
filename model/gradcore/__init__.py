# SPDX-License-Identifier: Apache-2.0
"""gradcore: bit-exact reference, compiler and driver of the gradcore training engine. Importing it needs only NumPy."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcore.frontends.caffe import from_caffe
    from gradcore.frontends.darknet import from_darknet
    from gradcore.frontends.onnx_model import from_onnx, to_onnx
    from gradcore.frontends.torch_model import from_torch, to_torch

__all__ = ["from_caffe", "from_darknet", "from_onnx", "from_torch", "to_onnx", "to_torch"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gradcore.frontends import caffe, darknet, onnx_model, torch_model

    module = {"caffe": caffe, "darknet": darknet, "onnx": onnx_model, "torch": torch_model}[name.partition("_")[2]]
    return getattr(module, name)
