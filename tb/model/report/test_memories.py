# SPDX-License-Identifier: Apache-2.0
"""The presets fit their chips; their memories are those of the RTL."""

import json
import math
import random
from collections import Counter

import pyslang.ast
import pyslang.driver
import pytest

from gradcore.cli.common import UserError, engine_config
from gradcore.files.places import ROOT
from gradcore.isa.config import BOARDS, PRESETS, EngineConfig
from gradcore.report.memories import M20K, S10_1SG280, ULTRA, ULTRARAM, VU9P, Memories, full, memories, placed, ultra
from gradcore.sim.build import engine_parameters
from gradcore.sim.sources import sources


@pytest.mark.parametrize("name", PRESETS)
def test_presets_fit(name):
    config, used = PRESETS[name], dict.fromkeys(VU9P, 0)
    assert name == f"{config.lanes}x{config.cols}"
    for found in memories(config):
        for kind, blocks in placed(found, ultra(config)).items():
            used[kind] += blocks
    assert all(used[kind] <= 0.85 * VU9P[kind] for kind in VU9P)
    assert sum(found.blocks(M20K) for found in memories(config)) <= 0.85 * S10_1SG280["M20K"]


def elaborated(config: EngineConfig, chosen: int, module: str, depth: str, *width: str) -> Counter:
    """Modules of memories in the engine by depth and width, which are parameters (more than one: their product), as
    slang elaborates the RTL. `chosen`: the parameter ULTRA."""
    given = [f"-G{key}={value}" for key, value in (engine_parameters(config) | {"ULTRA": chosen}).items()]
    driver, found = pyslang.driver.Driver(), Counter()
    driver.addStandardArgs()
    assert driver.parseCommandLine(" ".join(["slang", "--top", "gc_engine", *given, *map(str, sources("engine"))]))
    assert driver.processOptions() and driver.parseAllSources()

    def visit(node):
        if isinstance(node, pyslang.ast.InstanceSymbol) and node.definition.name == module:
            values = {item.name: int(item.value.value) for item in node.body.parameters}
            found[values[depth], math.prod(values[name] for name in width)] += 1

    driver.createCompilation().getRoot().visit(visit)
    return found


@pytest.mark.parametrize(
    "config",
    [*PRESETS.values(), *BOARDS.values(), EngineConfig(cols=8), EngineConfig(grid=4, cols=4, wgt_depth=16)],
)
def test_memories_are_those_of_the_rtl(config):
    """Every buffer; what else has memories are queues."""
    wanted, found = Counter(), elaborated(config, 0, "gc_ram_sdp", "DEPTH", "WIDTH")
    for buffer in memories(config):
        wanted[buffer.depth, buffer.width] += buffer.count
    assert {shape: found[shape] for shape in wanted} == wanted
    assert all(depth <= 128 for depth, _ in found.keys() - wanted.keys())


@pytest.mark.parametrize("chosen", [0, 2, 4, 8, 10, 15])
def test_rows_of_ultraram_are_those_of_the_rtl(chosen):
    config, wanted = PRESETS[random.choice(list(PRESETS))], Counter()
    for buffer in memories(config):
        share = (chosen & ULTRA.get(buffer.name, 0)).bit_count() / max(ULTRA.get(buffer.name, 0).bit_count(), 1)
        if share:
            wanted[buffer.in_rows().depth, buffer.in_rows().width] += int(share * buffer.count)
    assert elaborated(config, chosen, "gc_ram_ultra", "ROWS", "WORDS", "SLOT") == wanted


def test_blocks_are_those_of_synthesis():
    entry = json.loads((ROOT / "ci" / "resources.json").read_text())["ram_ultra"]
    found = Memories("m", 1, entry["parameters"]["DEPTH"], entry["parameters"]["WIDTH"])
    assert found.in_rows().blocks(ULTRARAM) == entry["cells"]["URAM"] == 1


def test_blocks():
    assert Memories("m", 2, 32769, 16).in_rows() == Memories("m", 2, 8193, 72)
    assert placed(Memories("operands", 4, 16384, 16), 2) == {"RAMB36": 16, "UltraRAM": 2}
    assert placed(Memories("gates", 4, 16384, 1), 15) == {"RAMB36": 2}
    assert Memories("m", 3, 4096, 18).blocks(((2048, 18), (1024, 36))) == 6
    assert Memories("m", 1, 100, 80).blocks(((512, 72),)) == 2
    assert full(10, "M20K", {"M20K": 20}) == "50 %" and full(3, "M20K", {"M20K": 2}) == "150 %: does not fit"


def test_presets_on_the_command_line():
    assert engine_config("64x32", 16) == PRESETS["64x32"]
    assert engine_config("64x16,cols=8,mem_bytes=32", 12).mem_bytes == 32
    assert engine_config("64x16", 12).data_width == 12 and engine_config("", 16) == EngineConfig()
    with pytest.raises(UserError, match="--engine: '64x48' is none of 64x16, 64x32, 64x64"):
        engine_config("64x48", 16)
