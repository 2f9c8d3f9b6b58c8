# SPDX-License-Identifier: Apache-2.0
"""Without PyTorch: the package is imported, the functions say what is missing."""

import subprocess
import sys

import pytest

import gradcore

BLOCKED = "import sys; sys.modules['torch'] = None; import gradcore; "


def test_importing_needs_no_torch():
    code = "import gradcore, gradcore.frontends.torch_model, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("call", ["gradcore.from_torch(None, (1, 2, 2), None, None)", "gradcore.to_torch('x', None)"])
def test_the_extra_is_named(call):
    done = subprocess.run([sys.executable, "-c", BLOCKED + call], capture_output=True, text=True, timeout=60)
    assert done.returncode and "ImportError: PyTorch is not installed: pip install 'gradcore[torch]'" in done.stderr


def test_other_names_are_unknown():
    with pytest.raises(AttributeError, match="no attribute 'from_keras'"):
        _ = gradcore.from_keras
