# SPDX-License-Identifier: Apache-2.0
"""The bench command: figures that follow from each other and from an independent count, refusals, the table."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gradcore.cli import main as cli
from gradcore.files.places import ROOT
from gradcore.isa.config import PRESETS, EngineConfig
from gradcore.network.net_toml import load
from gradcore.report import bench, bench_table, large_layers
from gradcore.sim.backend import Memory

TINY = """
name = "tiny"
input = [2, 10, 9]
[train]
minibatch = 3
[[layer]]
type = "conv"
maps = 5
kernel = 3
pool = 2
[[layer]]
type = "dense"
maps = 4
"""
# The engine of 8x8 lanes that other tests have, too.
DEPTHS = ",".join(f"{name}={value}" for name, value in vars(EngineConfig()).items() if name.endswith("_depth"))
ENGINE = ("--lanes", "8x8", "--engine", DEPTHS)


@pytest.fixture
def net(tmp_path):
    file = tmp_path / "net.toml"
    file.write_text(TINY)
    return file


def run_json(tmp_path, *arguments):
    code = cli.run(["bench", *map(str, arguments), *ENGINE, "--json", str(tmp_path / "out.json")])
    return code, json.loads((tmp_path / "out.json").read_text())


def test_figures_of_a_network(net, tmp_path):
    code, found = run_json(tmp_path, net, "--iterations", 3, "--out", tmp_path / "run")
    assert code == 0
    macs = (
        2 * 5 * 9 * 8 * 7 * 2 + 3 * 4 * 5 * 4 * 3
    )  # conv: FP and WU on 8x7 pixels; Dense on 5 maps of 4x3: FP, BP and WU
    assert found["macs_per_image"] == macs and found["ideal_cycles_per_image"] == macs / 1024
    assert found["cycles_per_image"] == found["cycles"] / 3
    assert found["mac_utilisation"] == pytest.approx(macs * 3 / 1024 / found["cycles"])
    assert found["differing_words"] == found["differing_losses"] == 0 and found["losses_compared"] == 3
    assert found["words_compared"] == 2 * (5 * 2 * 9 + 5 + 4 * 60 + 4)
    assert found["unaccounted_cycles"] == {}
    assert found["mac_busy_cycles"] + sum(found["stall_cycles"].values()) == found["cycles"]
    assert found["dram_bound_cycles_per_image"] == found["dram_bytes_per_image"] / 64
    rows = [row for row in found["per_phase"] if not row.get("beside")]
    assert sum(row["cycles"] for row in rows) == found["cycles"]
    assert [(row["layer"], row["pass"]) for row in rows] == [
        ("conv0", "FP"),
        ("fc1", "FP"),
        ("fc1", "BP"),
        ("fc1", "WU"),
        ("conv0", "WU"),
        ("", "end"),
    ]
    assert all(row["busy"] + sum(row["stalls"].values()) == row["cycles"] for row in rows)
    for name in ("report.json", "trace.json", "timeline.png", "roofline.png"):
        assert (tmp_path / "run" / name).stat().st_size > 500
        if name.endswith(".png"):
            (tmp_path / "run" / name).unlink()
    assert cli.run(["report", str(tmp_path / "run")]) == 0
    assert [file.name for file in (tmp_path / "run").glob("*.png")] == ["roofline.png"]


def test_the_memory_grows_with_the_network(net, monkeypatch):
    monkeypatch.setattr(Memory.__init__, "__defaults__", (1, *Memory.__init__.__defaults__[1:]))
    code = cli.run(["bench", str(net), *ENGINE, "--iterations", "1"])
    assert code == 0 and Memory().size == 1


def test_an_urgent_store_takes_steps_of_the_array(tmp_path):
    """The delta of the pooled layer is stored while WU of the next one reads both operand buffers: one step per vector
    at most."""
    file = tmp_path / "net.toml"
    layers = "".join(f"[[layer]]\ntype = 'conv'\nmaps = 16\nkernel = 3\npad = 1\n{pool}" for pool in ("pool = 2\n", ""))
    file.write_text(
        f"name = 'urgent'\ninput = [4, 16, 16]\n[train]\nminibatch = 3\n{layers}[[layer]]\ntype = 'dense'\nmaps = 4\n"
    )
    code, found = run_json(tmp_path, file, "--minibatch", 1, "--iterations", 1)
    assert code == 0 and found["differing_words"] == 0
    assert 0 < found["stall_cycles"]["yield"] <= 16


def test_slower_memory_takes_longer(net, tmp_path):
    figures = [
        run_json(tmp_path, net, *options)[1] for options in ((), ("--dram-latency", 300), ("--dram-bytes-per-cycle", 4))
    ]
    assert all(slow["cycles"] > figures[0]["cycles"] for slow in figures[1:])
    assert len({found["dram_bytes_per_image"] for found in figures}) == 1


def change_a_weight(monkeypatch) -> None:
    """The reference trainer of a measurement ends each step with one weight too large."""
    step = bench.ReferenceTrainer.step

    def wrong(self, x, labels, iteration):
        loss = step(self, x, labels, iteration)
        self.state[0]["weight"][0, 0, 0, 0] += 1
        return loss

    monkeypatch.setattr(bench.ReferenceTrainer, "step", wrong)


def test_differing_words_fail(net, tmp_path, monkeypatch):
    change_a_weight(monkeypatch)
    code, found = run_json(tmp_path, net, "--iterations", 1)
    assert code == 1 and found["differing_words"] == 1 and "conv0.weight" in found["first_difference"]


OTHERS = (
    ("--engine", "64x32"),
    ("--lanes", "8x8"),
    ("--cols", "32"),
    ("--minibatch", "4"),
    ("--dram-bytes-per-cycle", "32"),
    ("--dram-latency", "0"),
    ("--backend", "sim"),
    ("--stall", "0"),
    ("--data", "digits"),
)


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["nowhere"], "there are " + ", ".join(sorted(file.parent.name for file in ROOT.glob("examples/*/net.toml")))),
        ([], "NET is missing"),
        (["digits", "--lanes", "5x5"], "--lanes: '5x5'"),
        (["digits", "--cols", "12"], "cols is 12"),
        (["--all", "--only", "nothing"], "--only: 'nothing'"),
        (["cifar10-1x", "--data", "digits"], "digits"),
        (["--all", "--engine", "act_depth=8192"], "--all"),
        (["--all", "--lanes", "4x4"], "--all"),
        (["--all", "--data", "digits"], "--all"),
        (["digits", "--backend", "machine"], "sim, sim-axi, sim-avalon"),
        (["digits", "--backend", "board"], "sim-axi"),
        (["--all", "--stall", "0.1"], "--all"),
        (["--layer", "nothing"], "--layer: 'nothing'"),
        (["digits", "--layer", "fc-4096-1000"], "--layer: has its own"),
        *((["--layer", "fc-4096-1000", *option], "--layer: has its own") for option in OTHERS),
        (["--layer", "fc-4096-1000", "--only", "fc"], "--layer: has its own"),
        (["digits", "--all"], "--all: the table has its own"),
        *((["--all", *option], "--all: the table has its own") for option in OTHERS),
        (["digits", "--only", "cifar"], "--only: goes with --all or --by-layers alone"),
    ],
)
def test_refusals(arguments, text, capsys):
    assert cli.run(["bench", *arguments]) == 2
    assert text in capsys.readouterr().err


def test_examples_are_the_published_networks():
    """Multiply-accumulates of an iteration, from the papers' layers."""
    for name, conv1 in (("cifar10-1x", 16), ("cifar10-2x", 32), ("cifar10-4x", 64)):
        maps = [3, conv1, conv1, 2 * conv1, 2 * conv1, 4 * conv1, 4 * conv1]
        forward = [a * b * 9 * side**2 for a, b, side in zip(maps, maps[1:], (32, 32, 16, 16, 8, 8))] + [
            maps[-1] * 16 * 10
        ]
        assert bench.ideal_macs(load(cli.network_file(Path(name)))) == 3 * sum(forward) - forward[0]
    forward = [25 * 32 * 24**2, 32 * 25 * 64 * 8**2, 64 * 16 * 512, 512 * 10]
    assert bench.ideal_macs(load(cli.network_file(Path("fcte-mnist")))) == 3 * sum(forward) - forward[0]


def test_table_keeps_every_finished_run(tmp_path, monkeypatch):
    figures, page = tmp_path / "figures.json", tmp_path / "page.md"
    found = dict.fromkeys(bench_table.KEPT, 1) | {
        "stall_cycles": {"wait_load": 4, "idle": 8, "padding": 0},
        "cycles": 20,
        "cycles_per_image": 10.0,
    }
    first, second = bench_table.CASES[0], bench_table.CASES[-1]
    bench_table.store(second, found, figures, page)
    bench_table.store(first, found | {"cycles_per_image": 5.0}, figures, page)
    assert list(json.loads(figures.read_text())) == [bench_table.name_of(first), bench_table.name_of(second)]
    lines = [
        line
        for line in page.read_text().splitlines()
        if bench_table.name_of(first) in line or bench_table.name_of(second) in line
    ]
    assert (
        len(lines) == 2
        and "| idle 2, wait_load 1, padding 0 |" in lines[0]
        and "| idle 4, wait_load 2, padding 0 |" in lines[1]
    )


def test_page_shows_the_stored_figures():
    known = json.loads(bench_table.FIGURES.read_text())
    assert bench_table.PAGE.read_text() == bench_table.page_text(known)
    assert known and all(row["differing_words"] == 0 and row["words_compared"] for row in known.values())


def test_large_layers_have_all_passes_and_no_differing_words():
    known = json.loads(large_layers.FIGURES.read_text())
    assert known and all(row["differing_words"] == 0 and row["words_compared"] for row in known.values())
    for name, row in known.items():
        macs, least = large_layers.least(large_layers.LAYERS[name]())
        assert set(row["passes"]) == set(least) == ({"FP", "WU"} if name.endswith("-s4") else {"FP", "BP", "WU"})
        assert all(one["busy"] >= 0.99 * macs / 1024 for one in row["passes"].values())
        assert abs(row["expected_deviation_percent"]) < 3


class Measured(Exception):
    """Instead of a simulation: what would have been simulated."""


def measured(monkeypatch, *arguments):
    """(network, engine, memory, iterations) of a bench command; nothing is compiled."""

    def stop(network, config, memory, _, iterations, *others):
        raise Measured(network, config, memory, iterations)

    monkeypatch.setattr(bench, "measure", stop)
    with pytest.raises(Measured) as found:
        cli.run(["bench", *arguments])
    return found.value.args


@pytest.mark.parametrize("case", bench_table.CASES, ids=bench_table.name_of)
def test_a_command_measures_what_the_table_measures(case, monkeypatch):
    rows = json.loads(bench_table.FIGURES.read_text())
    one = network, config, memory, iterations = measured(monkeypatch, *bench_table.command(case))
    monkeypatch.setattr(bench_table, "CASES", [case])
    assert measured(monkeypatch, "--all") == one
    assert measured(monkeypatch, "--all", "--iterations", "3")[3] == 3
    file = str(cli.network_file(Path(case[0])))
    assert measured(monkeypatch, file, *bench_table.command(case)[1:]) == one
    assert bench_table.name_of(
        (case[0], config.cols, network.minibatch, memory.bytes_per_cycle, memory.latency)
    ) == bench_table.name_of(case)
    assert iterations == (1 if case[0] in bench_table.ONCE else 2)
    assert EngineConfig(**rows[bench_table.name_of(case)]["engine"]) == config == PRESETS[f"64x{case[1]}"]


def test_the_engine_is_a_preset_unless_asked_otherwise(monkeypatch):
    assert measured(monkeypatch, "digits")[1] == PRESETS["64x16"]
    assert measured(monkeypatch, "digits", "--engine", "64x32")[1] == PRESETS["64x32"]
    assert measured(monkeypatch, "digits", "--cols", "64", "--engine", "act_depth=1024")[1] == replace(
        PRESETS["64x64"], act_depth=1024
    )
    assert measured(monkeypatch, "digits", "--lanes", "4x4", "--cols", "8")[1] == EngineConfig(grid=4, cols=8)


def test_the_page_names_a_command_of_its_rows():
    found = re.findall(r"`python -m gradcore bench ([^`]*)`", bench_table.PAGE.read_text())
    layers = [line.split()[1] for line in found if line.startswith("--layer ")]
    assert layers and all(name in large_layers.LAYERS for name in layers)
    others = [line for line in found if line != "--all" and not line.startswith("--layer ")]
    commands = [line.split() for line in others if "--by-layers" not in line]
    assert commands and all(command in map(bench_table.command, bench_table.CASES) for command in commands)
