# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import numpy as np
import pytest

from gradcore.ops.max_pooling import MaxPooling, max_pool
from tb.support.bench import cycles, reset, start
from tb.support.bits import pack, unpack
from tb.support.folds import pooled_to_lanes, to_lanes, to_maps
from tb.support.pipeline import flow
from tb.support.runner import expect_elaboration_error, parameter, run

LATENCY = 3


def pool(data, fold: int, grid: int, height: int, width: int) -> tuple[list, list, list]:
    """Results, write enables and one-hot index of maps that end after `height` rows and `width` columns."""
    maps = to_maps(data, fold, grid)
    z = maps[:, :, :height, :width]
    out, chosen = max_pool(z)
    gate = MaxPooling().gate(chosen, z.shape, np.ones(out.shape, dtype=bool))
    index = np.zeros(maps.shape, dtype=int)
    index[:, :, :height, :width] = gate
    room = ((0, 0), (0, 0), (0, maps.shape[2] // 2 - out.shape[2]), (0, maps.shape[3] // 2 - out.shape[3]))
    lanes = [pooled_to_lanes(np.pad(x, room), grid) for x in (out, np.ones(out.shape, dtype=int))]
    return lanes[0].tolist(), lanes[1].tolist(), to_lanes(index, grid).tolist()


def word() -> tuple[dict, list[int], list[int], list[int]]:
    grid, dw = parameter("GRID"), parameter("DW")
    lanes, top = grid * grid, 1 << (dw - 1)
    values = random.choice([[-top, top - 1], [-1, 0, 1], range(-top, top)])
    data = [random.choice(values) for _ in range(lanes)]
    gate = [random.randrange(2) for _ in range(lanes)]
    pooled, fold = random.randrange(4) > 0, random.randrange(1, grid.bit_length())
    py = 1 << fold
    height, width = (random.choice([py, random.randrange(py + 1)]) for _ in range(2))  # less at the map's edge
    valid = [int(r % py < height and c % py < width) for r in range(grid) for c in range(grid)]
    payload = {
        "pool": int(pooled),
        "fold": fold,
        "in_map": pack(valid, 1),
        "gate": pack(gate, 1),
        "data": pack(data, dw),
    }
    out, enable, index = pool(data, fold, grid, height, width) if pooled else (data, valid, valid)
    return payload, out, enable, [g & i for g, i in zip(gate, index)]


async def check(dut, words, gap=0.0):
    lanes, dw = parameter("GRID") ** 2, parameter("DW")
    got = await flow(dut, [w[0] for w in words], LATENCY, ["data", "enable", "gate"], gap)
    for result, (payload, data, enable, gate) in zip(got, words, strict=True):
        assert unpack(result["enable"], 1, lanes, signed=False) == enable, payload
        assert unpack(result["gate"], 1, lanes, signed=False) == gate, payload
        out = unpack(result["data"], dw, lanes)
        assert [o for o, e in zip(out, enable) if e] == [d for d, e in zip(data, enable) if e], payload


@cocotb.test()
async def finds_first_maximum_and_its_place(dut):
    await start(dut)
    await check(dut, [word()])
    await check(dut, [word() for _ in range(150)])
    await check(dut, [word() for _ in range(50)], gap=0.5)


@cocotb.test()
async def reset_drops_the_words_on_their_way(dut):
    await start(dut)
    dut.s_valid.value = 1
    await cycles(dut, 2)
    dut.s_valid.value = 0
    await reset(dut, 1)
    await check(dut, [word() for _ in range(5)])


@pytest.mark.parametrize("grid, dw", [(4, 16), (4, 8), (8, 16), (8, 9)])
def test_pool2x2(grid, dw):
    run("drain", "gc_pool2x2", {"GRID": grid, "DW": dw})


def test_illegal_parameters():
    expect_elaboration_error("drain", "gc_pool2x2", {"GRID": 2}, "GRID")
