# SPDX-License-Identifier: Apache-2.0
"""Cases for pytest.mark.parametrize: those marked `long` are left to `make test-all`."""

import os

import pytest


def long(*values, id: str | None = None):
    """A case that takes long, or that differs little from those before it."""
    return pytest.param(*values, marks=pytest.mark.long, id=id)


def first(count: int, cases) -> list:
    """The cases; those behind the first `count` are long."""
    return [
        case if number < count else long(*(case if isinstance(case, tuple) else (case,)))
        for number, case in enumerate(cases)
    ]


def seeds(count: int, short: int) -> list:
    """Seeds of random cases, `count` of them, those behind the first `short` long. `NETWORKS` sets another number (then
    none is long), `SEED` the first one; `pytest -k seed7` repeats one."""
    start, number = int(os.environ.get("SEED", "1")), int(os.environ.get("NETWORKS", count))
    short = number if "NETWORKS" in os.environ else short
    drawn = [(pytest.param, seed) for seed in range(start, start + short)]
    drawn += [(long, seed) for seed in range(start + short, start + number)]
    return [case(seed, id=f"seed{seed}") for case, seed in drawn]
