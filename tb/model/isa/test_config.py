# SPDX-License-Identifier: Apache-2.0
"""EngineConfig takes exactly the engines that the RTL takes: what lies just outside stops the elaboration, too."""

import subprocess

import pytest

from gradcore.isa.config import EngineConfig
from gradcore.sim.build import engine_parameters
from gradcore.sim.sources import sources
from tb.support.runner import expect_elaboration_error
from tb.support.tools import tool_environment

SMALL = dict(
    grid=4,
    cols=4,
    data_width=8,
    mem_bytes=8,
    act_depth=64,
    wgt_depth=16,
    grad_depth=16,
    gate_depth=64,
    acc_width=24,
    has_vector=0,
    has_softmax=0,
    has_factor=0,
)
LARGE = dict(
    grid=4,
    cols=16,
    data_width=16,
    mem_bytes=64,
    act_depth=1 << 16,
    wgt_depth=1 << 16,
    grad_depth=1 << 16,
    gate_depth=1 << 20,
    acc_width=48,
)
OUTSIDE = [
    (dict(grid=2), "GRID_must"),
    (dict(cols=2), "COLS_must"),
    (dict(cols=32), "COLS_must"),
    (dict(data_width=7), "DW_must"),
    (dict(acc_width=48, data_width=17), "DW_must"),
    (dict(mem_bytes=4), "MEM_W_must"),
    (dict(mem_bytes=128), "MEM_W_must"),
    (dict(act_depth=32), "ACT_DEPTH_must"),
    (dict(act_depth=96), "ACT_DEPTH_must"),
    (dict(act_depth=1 << 17), "ACT_DEPTH_must"),
    (dict(gate_depth=32), "GATE_DEPTH_must"),
    (dict(gate_depth=1 << 21), "GATE_DEPTH_must"),
    (dict(wgt_depth=8), "WGT_DEPTH_must"),
    (dict(wgt_depth=1 << 17), "WGT_DEPTH_must"),
    (dict(grad_depth=8), "GRAD_DEPTH_must"),
    (dict(grad_depth=1 << 17), "GRAD_DEPTH_must"),
    (dict(acc_width=23), "ACC_W_"),
    (dict(acc_width=49), "ACC_W_"),
    (dict(data_width=16, acc_width=35), "ACC_W_must"),
    (dict(has_vector=2), "HAS_VECTOR_HAS"),
    (dict(has_softmax=2), "HAS_VECTOR_HAS"),
    (dict(has_factor=2), "HAS_VECTOR_HAS"),
]


@pytest.mark.parametrize("change, reason", OUTSIDE, ids=str)
def test_refused_by_both(change, reason):
    values = SMALL | change
    name, value = list(change.items())[-1]
    with pytest.raises(ValueError, match=rf"^{name} is {value}, not"):
        EngineConfig(**values)
    config = EngineConfig(**SMALL)
    for name, value in values.items():
        object.__setattr__(config, name, value)
    expect_elaboration_error("engine", "gc_engine", engine_parameters(config), reason)


@pytest.mark.parametrize(
    "values", [SMALL, LARGE, LARGE | dict(acc_width=36)], ids=["smallest", "largest", "narrowest sum"]
)
def test_taken_by_both(values):
    parameters = [f"-G{k}={v}" for k, v in engine_parameters(EngineConfig(**values)).items()]
    done = subprocess.run(
        [
            "verilator",
            "--lint-only",
            "-Wall",
            "--language",
            "1364-2005",
            "--top-module",
            "gc_engine",
            *parameters,
            *map(str, sources("engine")),
        ],
        capture_output=True,
        text=True,
        env=tool_environment(),
    )
    assert done.returncode == 0, done.stderr
