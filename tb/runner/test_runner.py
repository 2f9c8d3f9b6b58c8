# SPDX-License-Identifier: Apache-2.0
"""The bench runner goes red in every way a test can fail to prove something, and its helpers do what they say."""

import os
import random
import re
import subprocess
import sys

import numpy as np
import pytest

from gradcore.files.places import ROOT
from tb.support.bits import pack, unpack
from tb.support.runner import expect_elaboration_error, run

CASES = "tb.runner.cases"


def goes_red(**choice) -> str:
    with pytest.raises(pytest.fail.Exception) as failure:
        run("ram", "gc_ram_sdp", {"DEPTH": 4}, **{"module": CASES, **choice})
    return str(failure.value)


@pytest.mark.parametrize("sim", ["icarus", "verilator"])
def test_passing_case_passes_and_failing_case_fails(sim):
    run("ram", "gc_ram_sdp", {"DEPTH": 4}, module=CASES, testcase="passes", sim=sim)
    assert "told_to_fail" in goes_red(testcase="fails", sim=sim)


@pytest.mark.parametrize(
    "choice, text",
    [
        ({"testcase": "raises"}, "raises"),
        ({"testcase": ["passes", "fails"]}, "fails"),
        ({"testcase": "no_such_case"}, ""),
        ({"module": "tb.runner.no_such_module"}, ""),
        ({"module": "tb.runner.empty"}, ""),
        ({"module": "tb.runner.skipped"}, "ran: 0"),
    ],
)
def test_goes_red(choice, text):
    assert text in goes_red(**choice)


def test_source_that_does_not_build_goes_red():
    with pytest.raises(pytest.fail.Exception):
        run("ram", "gc_ram_sdp", {"DEPTH": 1}, module=CASES, testcase="passes")


def test_unknown_core_is_refused():
    with pytest.raises(RuntimeError, match="no core"):
        run("no_such_core", "gc_ram_sdp", module=CASES)


def test_seed_of_the_environment_repeats_a_run(monkeypatch, tmp_path):
    for name, seed in [("first", "12345"), ("again", "12345"), ("other", "12346")]:
        monkeypatch.setenv("SEED", seed)
        run("ram", "gc_ram_sdp", {"DEPTH": 4}, module=CASES, testcase="draws", env={"DRAWN": str(tmp_path / name)})
    first, again, other = ((tmp_path / name).read_text() for name in ("first", "again", "other"))
    assert first == again != other


def test_the_printed_seed_repeats_what_is_drawn_outside_and_inside(tmp_path):
    def draws(name, **seed):
        env = {key: value for key, value in os.environ.items() if key != "SEED"}
        env |= {"DRAWN": str(tmp_path / name)} | seed
        command = [sys.executable, "-m", "pytest", "-q", "-s", ROOT / "tb" / "runner" / "drawn.py"]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stdout
        seed, outside = (re.search(rf"{key}=(\d+)", done.stdout)[1] for key in ("SEED", "DRAWN"))
        return seed, outside, (tmp_path / name).read_text()

    first = draws("first")
    assert draws("again", SEED=first[0]) == first
    other = draws("other")
    assert all(one != another for one, another in zip(first, other))


@pytest.mark.parametrize("sim, kind", [("icarus", "fst"), ("verilator", "vcd")])
def test_waves(monkeypatch, sim, kind):
    monkeypatch.setenv("WAVES", "1")
    folder = ROOT / "build" / "tb"
    for old in folder.glob(f"gc_ram_sdp-{sim}-*/run-*/dump.*"):
        old.unlink()
    run("ram", "gc_ram_sdp", {"DEPTH": 4}, module=CASES, testcase="passes", sim=sim)
    (waves,) = folder.glob(f"gc_ram_sdp-{sim}-*/run-*/dump.*")
    assert waves.suffix == f".{kind}" and waves.stat().st_size > 100


def test_stream_ends_do_not_wait_for_ever():
    run("stream", "gc_stream_register", module=CASES, testcase="stream_ends_give_up")


def test_legal_parameters_are_not_mistaken_for_illegal_ones():
    with pytest.raises(AssertionError, match="accepts"):
        expect_elaboration_error("ram", "gc_ram_sdp", {"DEPTH": 4}, "DEPTH")


@pytest.mark.parametrize("width", [1, 5, 8, 16, 32, 33, 64])
@pytest.mark.parametrize("signed", [True, False])
def test_pack_and_unpack(width, signed):
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    values = [low, high, 0, *(random.randint(low, high) for _ in range(9))]
    bus = pack(values, width)
    for lane, value in enumerate(values):
        assert bus >> (lane * width) & ((1 << width) - 1) == value % (1 << width)
    assert bus >> (len(values) * width) == 0
    assert unpack(bus, width, len(values), signed) == values
    assert pack(np.array(values, dtype=object), width) == bus
