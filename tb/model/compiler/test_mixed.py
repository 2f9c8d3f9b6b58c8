# SPDX-License-Identifier: Apache-2.0
"""Random networks of all operators at once on the instruction-level model: training iterations in every bit as the
reference trainer. `NETWORKS=200` trains 200 of them on each engine."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from gradcore.compiler import compile, search
from gradcore.compiler.compiled import compile_program
from gradcore.compiler.limits import CompileError, refusal
from tb.model.compiler.mixed import mixed_network
from tb.model.compiler.networks import train_on_machine
from tb.support.cases import seeds
from tb.support.engines import BYTES, SMALL, TINY, WIDE

ENGINES = dict(small=SMALL, bytes=BYTES, wide=WIDE, tiny=TINY)


@pytest.mark.parametrize("seed", seeds(20, 3))
@pytest.mark.parametrize("engine", ENGINES)
def test_random_networks_train_bit_exactly(engine, seed):
    refused = Counter()
    network = mixed_network(np.random.default_rng(seed), ENGINES[engine], refused)
    print(f"seed {seed}: {network}\nrefused before: {dict(refused)}")
    train_on_machine(network, ENGINES[engine], seed)


@pytest.mark.parametrize("seed", seeds(20, 3))
@pytest.mark.parametrize("engine", ["small", "tiny"])
def test_lower_strips(engine, seed, monkeypatch):
    """Strips of any part of the map, whether that is faster or not."""

    def lower(*task):
        best = search.fastest(*task)
        setting = replace(best.setting, choices=best.setting.choices.but(low=2 + seed % 3))
        programs = {name: compile_program(name, setting) for name in ("train", "infer")}
        return replace(best, setting=setting, **programs)

    rng = np.random.default_rng(seed)
    while not compile.compile_network(
        network := mixed_network(rng, ENGINES[engine]), ENGINES[engine]
    ).setting.choices.strips:
        pass
    monkeypatch.setattr(compile, "search", lower)
    train_on_machine(network, ENGINES[engine], seed)


def test_nothing_is_refused_without_a_reason():
    with pytest.raises(LookupError, match="no reason"):
        CompileError("a", "the wrong day", 1, 2)
    assert refusal("rows of padding").why.startswith("layers, minibatches")
