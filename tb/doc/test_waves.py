# SPDX-License-Identifier: Apache-2.0
"""The waveforms of the datasheets are what the benches show now, and each stands in its datasheet."""

import pytest

from ci.waveforms import SHOWN, label, lane, picture, place
from gradcore.sim.sources import core_names
from tb.support.cases import first

LARGE = ["engine", "axi", "avalon"]  # whole engines
CORES = [core for core in SHOWN if core not in LARGE] + LARGE


def test_every_core_has_one_in_its_datasheet():
    assert sorted(SHOWN) == core_names()
    for core in SHOWN:
        assert f"![Waveform of {core}](waves.svg)" in (place(core).parent / "README.md").read_text(), core


@pytest.mark.parametrize("core", first(len(CORES) - 2, CORES))
def test_picture_is_what_the_bench_shows(core):
    """Else: ci/waves CORE."""
    assert place(core).read_text() == picture(core)


def test_rows_of_a_picture():
    assert lane("a", ["0", "1", "1", "x"], None) == {"name": "a", "wave": "01.x", "data": []}
    assert lane("b", ["0001", "0001", "1111", "0000"], ["1", "1", "0", "1"]) == {
        "name": "b",
        "wave": "=.x=",
        "data": ["1", "0"],
    }
    assert label("1" * 16) == "ffff" and label("1" * 12 + "00000001") == "…01" and label("1x") == "x"
