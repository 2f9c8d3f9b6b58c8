# SPDX-License-Identifier: Apache-2.0
"""Illegal parameters of the three tops: each is named, and nothing else is said."""

import random

import pytest

from tb.support.cases import first
from tb.support.lint import lint_parameters
from tb.support.runner import expect_elaboration_error

HUGE = 1 << 21
PARTS = ("HAS_VECTOR", "HAS_SOFTMAX", "HAS_FACTOR")
# parameter: (reason, illegal values)
ILLEGAL = {
    "GRID": ("GRID_must_be_4_or_8", (0, -4, 5, 16, HUGE)),
    "COLS": ("COLS_must_be_a_power_of_two_from_GRID_to_GRID_squared", (0, -4, 4, 24, 128)),
    "DW": ("DW_must_be_8_to_16", (0, -1, 7, 17, HUGE)),
    "ACC_W": ("ACC_W_must_be_24_to_48_and_at_least_2_DW_plus_4", (0, -1, 10, 35, 49)),
    "MEM_W": ("MEM_W_must_be_a_power_of_two_from_64_to_512", (0, -64, 32, 96, 1024)),
    "ADDR_W": ("ADDR_W_must_be_32_to_48", (0, -1, 31, 49, HUGE)),
    "BURST": ("BURST_must_be_a_power_of_two_from_8_to_128", (0, -8, 4, 24, 256)),
    "ACT_DEPTH": ("ACT_DEPTH_must_be_a_power_of_two_from_64_to_65536", (0, -1, 3, 32, 96, 131072)),
    "WGT_DEPTH": ("WGT_DEPTH_must_be_a_power_of_two_from_16_to_65536", (0, -1, 3, 8, 24, 131072)),
    "GRAD_DEPTH": ("GRAD_DEPTH_must_be_a_power_of_two_from_16_to_65536", (0, -1, 3, 8, 24, 131072)),
    "GATE_DEPTH": ("GATE_DEPTH_must_be_a_power_of_two_from_64_to_1048576", (0, -1, 3, 32, 96, HUGE)),
    "DSP": ("DSP_not_0_to_2", (-1, 3, HUGE)),
    "ULTRA": ("ULTRA_not_0_to_15", (-1, 16, HUGE)),
    **dict.fromkeys(PARTS, ("HAS_VECTOR_HAS_SOFTMAX_HAS_FACTOR_must_be_0_or_1", (-1, 2, HUGE))),
}
FRONTS = {"axi": "gc_engine_axi", "avalon": "gc_engine_avalon"}


@pytest.mark.parametrize("name", ILLEGAL)
def test_engine_refuses(name):
    reason, values = ILLEGAL[name]
    for value in values:
        expect_elaboration_error("engine", "gc_engine", {name: value}, reason, alone=True)


@pytest.mark.parametrize("core", FRONTS)
def test_fronts_refuse(core):
    """The fronts' own modules know MEM_W and ADDR_W: two values of these, any one of two others."""
    for name in ("MEM_W", "ADDR_W", *random.sample(list(ILLEGAL), 2)):
        reason, values = ILLEGAL[name]
        for value in random.sample(values, 2 if name in ("MEM_W", "ADDR_W") else 1):
            expect_elaboration_error(core, FRONTS[core], {name: value}, reason, alone=True)


def test_the_smallest_limit_of_acc_w_follows_dw():
    reason = ILLEGAL["ACC_W"][0]
    for dw, acc_w in ((8, 23), (10, 23), (11, 25), (16, 35)):
        expect_elaboration_error("engine", "gc_engine", {"DW": dw, "ACC_W": acc_w}, reason, alone=True)


@pytest.mark.parametrize("missing", first(1, ["_".join(PARTS), *PARTS]))
def test_an_engine_without_parts_is_clean(missing):
    parts = {name: int(name not in missing) for name in PARTS}
    found = lint_parameters("engine", "gc_engine", {"GRID": 4, "COLS": 4} | parts)
    assert not found, f"{parts}: {found}"


def test_an_engine_with_ultraram_is_clean():
    ultra = random.randint(1, 15)
    found = lint_parameters("engine", "gc_engine", {"GRID": 4, "COLS": 4, "ULTRA": ultra})
    assert not found, f"ULTRA {ultra}: {found}"


@pytest.mark.parametrize("least, most", first(1, [(32, 32), (33, 47)]))
def test_addresses_of_any_width_are_clean(least, most):
    """Four linters; the core's own test has 48 bits."""
    width = random.randint(least, most)
    found = lint_parameters("engine", "gc_engine", {"GRID": 4, "COLS": 4, "ADDR_W": width})
    assert not found, f"ADDR_W {width}: {found}"
