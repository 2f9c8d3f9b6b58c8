# SPDX-License-Identifier: Apache-2.0
import random
from itertools import product

import cocotb

from tb.support.bench import Sink, cycles, reset, start
from tb.support.runner import run

WIDTH = 20
FIELDS = ("addr", "y0", "x0", "chan", "last_group", "last")


def walk(c):
    """Words of a walk, by the loops of doc/instructions.md, "LOAD and STORE"."""
    q = range(2 if c["upsample"] else 1)
    words = [
        (
            (
                c["base"]
                + b * c["stride_b"]
                + y * c["stride_y"]
                + x * c["stride_x"]
                + k
                + qy * c["stride_qy"]
                + qx * c["stride_qx"]
            )
            % (1 << WIDTH),
            (y << c["fold"]) % 4096,
            (x << c["fold"]) % 4096,
            k,
            int(b == c["n_b"] - 1),
            0,
        )
        for b, y, x, k, qy, qx in product(range(c["n_b"]), range(c["n_y"]), range(c["n_x"]), range(c["n_c"]), q, q)
    ]
    return words[:-1] + [(*words[-1][:-1], 1)]


def random_walk():
    c = {f"stride_{n}": random.getrandbits(16) for n in ("b", "y", "x", "qy", "qx")}
    c |= {f"n_{n}": random.choice([1, 1, 2, random.randint(1, 5)]) for n in "byxc"}
    return c | {"base": random.getrandbits(WIDTH), "fold": random.randint(0, 3), "upsample": random.getrandbits(1)}


async def begin(dut, c):
    for name, value in c.items():
        getattr(dut, f"cfg_{name}").value = value
    dut.start.value = 1
    await cycles(dut, 1)
    dut.start.value = 0


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.5])
async def walks_in_memory_order(dut, stall):
    await start(dut, start=0)
    sink = Sink(dut, "m_", FIELDS, stall)
    for _ in range(40):
        c, done = random_walk(), len(sink.words)
        words = walk(c)
        await begin(dut, c)
        await sink.receive(done + len(words))
        assert [tuple(int(w[f]) for f in FIELDS) for w in sink.words[done:]] == words
        await cycles(dut, random.randint(0, 3))
        assert len(sink.words) == done + len(words)


@cocotb.test()
async def reset_ends_a_walk(dut):
    await start(dut, start=0)
    await begin(dut, random_walk() | {"n_c": 50})
    await cycles(dut, 3)
    await reset(dut)
    assert dut.m_valid.value == 0
    sink, c = Sink(dut, "m_", FIELDS), random_walk()
    await begin(dut, c)
    await sink.receive(len(walk(c)))
    assert [tuple(int(w[f]) for f in FIELDS) for w in sink.words] == walk(c)


def test_vector_walker():
    run("engine", "gc_vector_walker")
