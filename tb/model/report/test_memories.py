# SPDX-License-Identifier: Apache-2.0
"""The presets fit their chips; their memories are those of the RTL."""

import pytest

from gradcore.cli.common import UserError, engine_config
from gradcore.isa.config import PRESETS, EngineConfig
from gradcore.report.memories import M20K, S10_1SG280, VU9P, Memories, memories, placed
from gradcore.sim.build import engine_parameters


@pytest.mark.parametrize("name", PRESETS)
def test_presets_fit(name):
    config, used = PRESETS[name], dict.fromkeys(VU9P, 0)
    assert name == f"{config.lanes}x{config.cols}"
    for found in memories(config):
        kind, blocks = placed(found, config)
        used[kind] += blocks
    assert all(used[kind] <= 0.85 * VU9P[kind] for kind in VU9P)
    assert sum(found.blocks(M20K) for found in memories(config)) <= 0.85 * S10_1SG280["M20K"]


def test_bits_are_those_of_the_parameters():
    """Every buffer holds as many bits as the parameters of the engine say, on any engine."""
    for config in (*PRESETS.values(), EngineConfig(), EngineConfig(grid=4, cols=4, data_width=8, acc_width=24)):
        given = engine_parameters(config)
        bits = {found.name: found.count * found.depth * found.width for found in memories(config)}
        lanes = given["GRID"] ** 2
        assert bits == {
            "operands": 2 * lanes * given["ACT_DEPTH"] * given["DW"],
            "gates": lanes * given["GATE_DEPTH"],
            "weights": given["COLS"] * given["WGT_DEPTH"] * given["DW"],
            "gradients": given["COLS"] * given["GRAD_DEPTH"] * given["ACC_W"],
        }


def test_blocks():
    assert Memories("m", 3, 4096, 18).blocks(((2048, 18), (1024, 36))) == 6
    assert Memories("m", 1, 100, 80).blocks(((512, 72),)) == 2


def test_presets_on_the_command_line():
    assert engine_config("64x32", 16) == PRESETS["64x32"]
    assert engine_config("64x16,cols=8,mem_bytes=32", 12).mem_bytes == 32
    assert engine_config("64x16", 12).data_width == 12 and engine_config("", 16) == EngineConfig()
    with pytest.raises(UserError, match="--engine: '64x48' is none of 64x16, 64x32, 64x64"):
        engine_config("64x48", 16)
