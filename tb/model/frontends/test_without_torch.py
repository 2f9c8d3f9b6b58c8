# SPDX-License-Identifier: Apache-2.0
"""Without PyTorch, onnx-ir and protobuf: the package is imported, the functions say what is missing."""

import subprocess
import sys

import pytest

import gradcore

BLOCKED = "import sys; sys.modules.update(dict.fromkeys(('torch', 'onnx_ir', 'google.protobuf'))); import gradcore; "


@pytest.mark.parametrize("missing, module", [("torch", "torch_model"), ("onnx_ir", "onnx_model"), ("google", "caffe")])
def test_importing_needs_neither(missing, module):
    code = f"import gradcore, gradcore.frontends.{module}, sys; assert '{missing}' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(
    "call, text",
    [
        ("gradcore.from_torch(None, (1, 2, 2), None, None)", "PyTorch is not installed: pip install 'gradcore[torch]'"),
        ("gradcore.to_torch('x', None)", "PyTorch is not installed: pip install 'gradcore[torch]'"),
        ("gradcore.from_onnx('x')", "onnx-ir is not installed: pip install 'gradcore[onnx]'"),
        ("gradcore.from_caffe('x')", "protobuf is not installed: pip install 'gradcore[caffe]'"),
        ("gradcore.to_onnx('x', 'y')", "onnx-ir is not installed: pip install 'gradcore[onnx]'"),
    ],
)
def test_the_extra_is_named(call, text):
    done = subprocess.run([sys.executable, "-c", BLOCKED + call], capture_output=True, text=True, timeout=60)
    assert done.returncode and text in done.stderr


def test_the_command_says_so():
    code = "from gradcore.cli import main; sys.exit(main.run(['import', 'x.onnx', '--out', 'y']))"
    done = subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and done.stderr.startswith("error: onnx-ir is not installed")


def test_other_names_are_unknown():
    with pytest.raises(AttributeError, match="no attribute 'from_keras'"):
        _ = gradcore.from_keras
