# SPDX-License-Identifier: Apache-2.0
"""The engine as a LiteX core: every parameter reaches the Verilog without a width, every pin is
there."""

import re

import pytest
from migen.fhdl.verilog import convert

from gradcore.files.places import ROOT
from gradcore.isa.config import EngineConfig
from gradcore.litex.engine import ADDRESS_BITS, Engine
from gradcore.sim.build import engine_parameters

TEXT = (ROOT / "rtl" / "axi" / "gc_engine_axi.v").read_text()
CONFIGS = [EngineConfig(), EngineConfig(grid=4, cols=8, data_width=8, acc_width=24, mem_bytes=8, has_vector=0)]


@pytest.mark.parametrize("dsp, ultra, burst", [(0, 8, 32), (1, 15, 64), (2, 0, 8)])
@pytest.mark.parametrize("config", CONFIGS)
def test_parameters_and_pins(config, dsp, ultra, burst):
    text = str(convert(Engine(config, dsp, ultra, burst)))
    (instance,) = re.findall(r"gc_engine_axi #\((.*?)\) u_axi \((.*?)\);", text, re.S)
    parameters, pins = (dict(re.findall(r"\.(\w+)\((.*?)\)(?:,|\s*$)", part, re.M)) for part in instance)
    more = {"ADDR_W": ADDRESS_BITS, "DSP": dsp, "ULTRA": ultra, "BURST": burst}
    wanted = engine_parameters(config) | more
    assert parameters == {name: str(value) for name, value in wanted.items()}
    assert set(parameters) == set(re.findall(r"^    parameter (\w+)", TEXT, re.M))
    assert set(pins) == set(re.findall(r"^    (?:in|out)put +wire +(?:\[.*?\] +)?(\w+)", TEXT, re.M))
