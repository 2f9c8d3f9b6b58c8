# SPDX-License-Identifier: Apache-2.0
"""The scripts of ci/ as modules."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

from gradcore.files.places import ROOT


def script(name: str):
    loader = SourceFileLoader(f"ci_{name}", str(ROOT / "ci" / name))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module
