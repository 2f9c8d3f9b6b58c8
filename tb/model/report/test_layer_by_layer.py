# SPDX-License-Identifier: Apache-2.0
"""A network layer by layer: who each cycle belongs to, folds as in the whole network, what is measured and shown."""

import json

import pytest

from gradcore.cli import main as cli
from gradcore.compiler.compile import compile_network
from gradcore.compiler.operation import Op, make
from gradcore.files.places import ROOT
from gradcore.isa.config import PRESETS
from gradcore.isa.instruction import Opcode
from gradcore.network import Conv, Dense, Network, load
from gradcore.network.net_text import text_of
from gradcore.ops.checks import NetworkError
from gradcore.ops.max_pooling import MaxPool
from gradcore.report import bench, bench_table, layer_by_layer
from gradcore.report.shares import SHARES, shares
from tb.model.report.test_bench import change_a_weight
from tb.support.cases import long

LAYERS = (*(Conv(16, 3, pad=1) for _ in range(3)), Conv(16, 3, pad=1, pool=2), MaxPool(3, 2), Dense(4))
NETWORK = Network("tiny", (2, 12, 12), LAYERS, minibatch=6)
NAMES = ["conv0", "conv1", "conv3", "fc5"]
KEY = "tiny/64x16/6"


def operation(opcode, layer, reads=(), writes=(), late=(), **fields):
    return Op(make(opcode, layer, **fields), layer, "", 1, 1, [*reads], [*writes], [*late])


def test_a_wait_belongs_to_the_vector_or_update_that_it_is_for():
    """b waits from cycle 100 to 190: 60 for VECTOR, of which nothing but LOAD tells, 15 for LOAD, 15 for nobody; at the
    end 40 for UPDATE."""
    ops = [
        operation(Opcode.COMPUTE, "a", [("buf0", 0, 8)]),
        operation(Opcode.VECTOR, "a", [("dram0", 0, 64)], [("dram0", 64, 128)]),
        operation(Opcode.LOAD, "b", [("dram0", 64, 128)], [("buf1", 0, 8)]),
        operation(Opcode.COMPUTE, "b", [("buf1", 0, 8)], mode=2),
        operation(Opcode.UPDATE, "b", [("dram0", 512, 576)], [("dram0", 512, 576)]),
    ]
    spans = dict(enumerate([(0, 100), (20, 160), (165, 180), (190, 250), (200, 290)]))
    none = dict.fromkeys(SHARES, 0)
    assert shares(ops, spans, 300) == {
        "a": none | {"FP": 100, "VECTOR": 60},
        "b": none | {"WU": 300 - 160 - 40, "UPDATE": 40},
    }


@pytest.mark.parametrize("name", ["digits", "resnet8", "lenet5-tanh"])
def test_every_cycle_belongs_to_a_layer(name):
    network = load(ROOT / "examples" / name / "net.toml").with_minibatch(16)
    compiled = compile_network(network, PRESETS["64x16"])
    found = layer_by_layer.expected_shares(compiled)
    assert set(found) == {p.name for p in network.parameters}
    assert sum(sum(own.values()) for own in found.values()) == compiled.train.cycles
    ops = compiled.train.ops
    for p in network.parameters:
        for step, mode in (("FP", 0), ("BP", 1), ("WU", 2)):
            computes = [op for op in ops if op.layer == p.name and op.instr.opcode == Opcode.COMPUTE]
            assert found[p.name][step] >= sum(op.cycles for op in computes if op.instr["mode"] == mode)
        assert not found[p.name]["VECTOR"] or p.stages or network.loss == "softmax_cross_entropy"


CASES = [("digits", "64x16", 32), ("cifar10-1x", "64x16", 40)]
LARGE = [(name, preset, n) for name, n in (("alexnet", 128), ("vgg16", 32)) for preset in ("64x16", "64x64")]


@pytest.mark.parametrize("name, preset, minibatch", [*CASES, *(long(*case) for case in LARGE)])
def test_every_layer_compiles_in_the_folds_of_the_whole(name, preset, minibatch):
    config = PRESETS[preset]
    whole = compile_network(load(ROOT / "examples" / name / "net.toml").with_minibatch(minibatch), config)
    layers = layer_by_layer.take_apart(whole)
    assert [one for alone in layers for one in alone.names] == [p.name for p in whole.network.parameters]
    for alone, own in zip(layers, whole.memory.folds, strict=True):
        compiled = layer_by_layer.compile_alone(alone, config)
        assert alone.folds == (own.fp, own.bp) and compiled.images == min(64 >> 2 * own.fp, minibatch)
        plan = layer_by_layer.plan(alone, config)
        passes = [step for step in bench.PASSES if plan["expected"][step]]
        assert passes == plan["passes"] == (["FP", "WU"] if alone is layers[0] else ["FP", "BP", "WU"])


def test_other_folds_are_refused():
    config = PRESETS["64x16"]
    alone = layer_by_layer.take_apart(compile_network(NETWORK, config))[1]
    wrong = layer_by_layer.Alone(alone.names, alone.network, (0, 0))
    with pytest.raises(NetworkError, match="alone it has folds . and ., in the whole network 0 and 0"):
        layer_by_layer.compile_alone(wrong, config)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """net.toml, and the figures and the page in a folder of their own."""
    monkeypatch.setattr(layer_by_layer, "FIGURES", tmp_path / "figures.json")
    monkeypatch.setattr(bench_table, "PAGE", tmp_path / "page.md")
    (tmp_path / "net.toml").write_text(text_of(NETWORK))
    return tmp_path


def run(files, *arguments):
    """(exit code, the figures that are then kept) of a bench by layers."""
    code = cli.run(["bench", str(files / "net.toml"), "--by-layers", "--iterations", "1", *arguments])
    return code, json.loads((files / "figures.json").read_text())[KEY]


def test_layers_are_measured_once_and_kept_at_once(files, monkeypatch):
    seen, measure = [], bench.measure

    def recorded(network, *given):
        seen.append(network.name)
        return measure(network, *given)

    monkeypatch.setattr(bench, "measure", recorded)
    code, table = run(files, "--only", "conv2")
    assert code == 0 and seen == ["tiny-conv1"] and list(table["layers"]) == NAMES
    assert table["layers"]["conv1"]["names"] == ["conv1", "conv2"]
    assert [name for name, row in table["layers"].items() if row["run"]] == ["conv1"]
    page = (files / "page.md").read_text()
    assert page.count("| not measured |") == 3 and "not given: some are not measured" in page

    code, table = run(files)
    assert code == 0 and seen == ["tiny-conv1", "tiny-conv0", "tiny-conv3", "tiny-fc5"]
    rows = table["layers"].values()
    for row in rows:
        assert row["run"]["differing_words"] == 0 < row["run"]["words_compared"]
        assert sum(row["run"]["shares"].values()) < row["run"]["run_cycles"]
        assert all(row["run"]["shares"][step] > 0 for step in row["passes"])
        assert bool(row["run"]["shares"]["BP"]) == ("BP" in row["passes"])
    assert table["layers"]["conv3"]["run"]["shares"]["VECTOR"] and not table["layers"]["conv0"]["run"]["shares"]["BP"]

    total = 0
    for row in rows:
        own = row["run"]["shares"]
        total += len(row["names"]) * (own["UPDATE"] / 6 + (sum(own.values()) - own["UPDATE"]) / row["images"])
    assert sum(layer_by_layer.sums(table).values()) == pytest.approx(total)
    whole = compile_network(NETWORK, PRESETS["64x16"]).train.cycles / 6
    assert (
        f"| {total:,.0f} | {whole:,.0f} | {100 * (whole - total) / total:+.1f} % |" in (files / "page.md").read_text()
    )

    assert run(files) == (0, table) and len(seen) == 4
    run(files, "--only", "fc5")
    assert seen[4:] == ["tiny-fc5"]


def test_what_was_measured_of_another_program_is_dropped(files):
    whole = compile_network(NETWORK, PRESETS["64x16"])
    plans = [layer_by_layer.plan(alone, PRESETS["64x16"]) for alone in layer_by_layer.take_apart(whole)]
    layer_by_layer.store_plans(KEY, whole, plans)
    layer_by_layer.store_run(KEY, "conv0", {"shares": {}})
    assert layer_by_layer.store_plans(KEY, whole, plans)["layers"]["conv0"]["run"] == {"shares": {}}
    plans[0]["expected"]["FP"] += 1
    assert layer_by_layer.store_plans(KEY, whole, plans)["layers"]["conv0"]["run"] is None


def test_a_layer_with_differing_words_is_not_kept(files, monkeypatch):
    change_a_weight(monkeypatch)
    code, table = run(files, "--only", "fc5")
    assert code == 1 and table["layers"]["fc5"]["run"] is None


@pytest.mark.parametrize(
    "arguments, text",
    [
        ([], "NET is missing: name the network for --by-layers"),
        (["digits", "--only", "fc6"], "--only: 'fc6' is not one of conv0"),
        (["digits", "--cols", "8"], "--cols: with --by-layers there are the presets 64x16, 64x32, 64x64, not 64x8"),
        (["resnet8", "--minibatch", "1"], "only a chain of layers can be taken apart"),
        *(
            (["digits", *option], "--by-layers: has a preset")
            for option in (
                ["--all"],
                ["--lanes", "8x8"],
                ["--engine", "64x32"],
                ["--dram-latency", "0"],
                ["--dram-bytes-per-cycle", "32"],
                ["--backend", "sim"],
                ["--stall", "0"],
                ["--data", "digits"],
                ["--out", "folder"],
            )
        ),
        (["digits", "--layer", "fc-4096-1000"], "--layer: has its own"),
    ],
)
def test_refusals(arguments, text, capsys, files):
    assert cli.run(["bench", "--by-layers", *arguments]) == 2
    assert text in capsys.readouterr().err and not layer_by_layer.FIGURES.exists()


def test_stored_figures():
    """Nothing differs, the estimates are near, the layers are those of the network."""
    for key, table in layer_by_layer.stored().items():
        name, _, minibatch = key.split("/")
        network = load(ROOT / "examples" / name / "net.toml")
        names = [one for row in table["layers"].values() for one in row["names"]]
        assert sorted(names) == sorted(p.name for p in network.parameters) and table["minibatch"] == int(minibatch)
        for row in table["layers"].values():
            if own := row["run"]:
                assert own["differing_words"] == 0 < own["words_compared"]
                assert sum(row["expected"].values()) == pytest.approx(sum(own["shares"].values()), rel=0.03)
