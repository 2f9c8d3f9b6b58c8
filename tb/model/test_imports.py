# SPDX-License-Identifier: Apache-2.0
"""Every module of the package can be the first one that somebody imports: no circle shows only in another order."""

import importlib
import pkgutil
import sys

import pytest

import gradcore

MODULES = [m.name for m in pkgutil.walk_packages(gradcore.__path__, "gradcore.") if not m.name.endswith("__main__")]
ROOMS = sorted({name.split(".")[1] for name in MODULES})


@pytest.mark.parametrize("room", ROOMS)
def test_each_module_comes_first(room):
    # Whatever the loop loads goes away again: other tests compare classes by identity.
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "gradcore"}
    try:
        for module in (name for name in MODULES if name.split(".")[1] == room):
            for name in [name for name in sys.modules if name.split(".")[0] == "gradcore"]:
                del sys.modules[name]
            importlib.import_module(module)
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "gradcore"]:
            del sys.modules[name]
        sys.modules.update(kept)
