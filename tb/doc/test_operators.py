# SPDX-License-Identifier: Apache-2.0
"""doc/operators.md: every operator that a front end reads stands there, and nothing that it does not read."""

import re

import pytest

from gradcore.files.places import ROOT
from gradcore.frontends import caffe_layers, darknet, onnx_layers, torch_layers, torch_training
from gradcore.network import AveragePool, Conv, Dense, Network
from gradcore.ops.kinds import KINDS
from gradcore.ops.loss import LOSSES
from tb.doc.documents import rows
from tb.support.evidence import HOW, OPERATORS, count, note, table

TEXT = (ROOT / "doc" / "operators.md").read_text()
COUNTED = [row for row in rows(TEXT) if row[0] == "operator" or all(cell.isdigit() for cell in row[1:])]
READ, *_ = NAMES = [row for row in rows(TEXT) if len(row) == 5 and row not in COUNTED]
SHOWN = [row for row in rows(TEXT) if len(row) == 6]
SUMS = {"+", "torch.add"}  # `torch_graph` reads them
# By the heading of a column: what its reader knows, and names of it that mean one of the others.
READERS = {
    "PyTorch": {*torch_layers.MODULES, *SUMS, *torch_training.LOSSES},
    "ONNX": {*onnx_layers.OPERATORS},
    "Darknet": {*darknet.SECTIONS.values(), *(f"activation {name}" for name in darknet.ACTIVATIONS)},
    "Caffe": {*caffe_layers.KINDS, *caffe_layers.LOSSES},
}


def column(heading: str) -> list:
    return [row[READ.index(heading)] for row in NAMES[1:]]


@pytest.mark.parametrize("heading", READERS)
def test_what_a_front_end_reads(heading):
    shown = {name.strip() for cell in column(heading) for name in cell.split(",") if name.strip()}
    assert shown == READERS[heading]


def test_every_kind_has_its_rows():
    losses = [f"`{name}`" for name in ("softmax_cross_entropy", "square_hinge", "euclidean")]
    assert {name.strip("`") for name in losses} == {*LOSSES}
    kinds = [f"`{kind}`" for kind in KINDS]
    assert [cell for cell in column("`type`") if cell.startswith("`")] == kinds
    assert [cell.removeprefix("loss ") for cell in column("`type`") if cell.startswith("loss")] == losses
    assert [row[0] for row in SHOWN[1:]] == [*kinds, *losses, "optimiser"]


@pytest.mark.parametrize("row", SHOWN[1:], ids=lambda row: row[0])
def test_what_shows_it_is_there(row):
    """Definition, tests and cores; a kind's definition is the file of its class."""
    _, definition, _, _, *tests = (re.findall(r"`([^`]+)`", cell) for cell in row)
    assert definition and all((ROOT / "model" / "gradcore" / file).is_file() for file in definition)
    if row[0].strip("`") in KINDS:
        assert KINDS[row[0].strip("`")].__module__.replace(".", "/").endswith(definition[0].removesuffix(".py"))
    assert all(found and all((ROOT / file).is_file() for file in found) for found in tests)


def test_every_operator_is_in_networks_that_are_compared():
    """With each oracle, on each engine. Else: ci/operators."""
    found = {name.strip("`"): dict(zip(HOW, map(int, numbers), strict=True)) for name, *numbers in COUNTED[1:]}
    assert [*found] == [*OPERATORS]
    assert all(number for numbers in found.values() for number in numbers.values()), found


def test_networks_are_counted(tmp_path, monkeypatch):
    layers = (Conv(2, 1, relu=True, pool=2), AveragePool(), Dense(2))
    network = Network("t", (1, 4, 4), layers, "euclidean")
    note("rtl", network)  # nobody wants to know
    monkeypatch.setenv("EVIDENCE", str(tmp_path))
    for how in ("rtl", "rtl", "loops"):
        note(how, network)
    found = count(tmp_path)
    assert {name for name, numbers in found.items() if numbers} == {
        *("conv", "relu", "max_pool", "average_pool", "dense", "euclidean")
    }
    assert all(not numbers or numbers == {"rtl": 2, "loops": 1} for numbers in found.values())
    assert "| `dense` | 1 | 0 | 0 | 2 |" in table(found).splitlines()
