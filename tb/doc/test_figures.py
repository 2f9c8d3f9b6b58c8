# SPDX-License-Identifier: Apache-2.0
"""Figures in the documents are those of their source: sizes, latencies, benchmarks, the demo, memory."""

import json
import os
import re
import subprocess
import sys

import pytest

from gradcore.cli import main as cli
from gradcore.files.places import ROOT
from gradcore.report import bench_table, memories
from gradcore.report.tables import compiled_figures
from tb.doc.documents import DOCUMENTS, name_of, prose, rows

README = (ROOT / "README.md").read_text()
SIZES = json.loads((ROOT / "ci" / "resources.json").read_text())
BENCHMARKS = json.loads(bench_table.FIGURES.read_text())
# Configurations of ci/synth.json whose sizes stand in the table of the cores, in the order there.
ALONE = "mac_array operand_buffer weight_buffer gradient_buffer requantise loss drain softmax upsample vector update"
SHOWN = {name: [f"gc_{name}"] for name in ALONE.split()} | {
    "dma": ["gc_dma_reader"],
    "ram": ["gc_stream_fifo", "gc_ram_sdp"],
    "engine": ["engine_64x16_bare", "engine_64x16", "engine_64x32", "engine_64x64"],
}


def cores() -> dict:
    """Rows of the table of cores by the first core's name: [does, rate and latency, sizes, ..]."""
    table = README[README.index("| core | does |") :].split("\n\n")[0]
    return {re.match(r"`(\w+)`", first)[1]: rest for first, *rest in rows(table)[1:]}


def numbers(text: str) -> list:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def test_sizes_in_the_readme():
    for core, (_, _, sizes, *_) in cores().items():
        found = [tuple(map(float, size)) for size in re.findall(r"([\d.]+) / ([\d.]+) / ([\d.]+) / ([\d.]+)", sizes)]
        cells = [SIZES[name]["cells"] for name in SHOWN.get(core, ())]
        assert found == [tuple(cell[key] for key in ("LUT", "FF", "DSP", "BRAM")) for cell in cells], core


def test_sizes_in_datasheets():
    """Tables with a column LUT: module, parameters, sizes as in ci/resources.json."""
    known = {
        (entry.get("top", name), ", ".join(f"{key} {value}" for key, value in entry["parameters"].items())): entry
        for name, entry in SIZES.items()
        if "family" not in entry
    }
    seen = 0
    for file in sorted((ROOT / "rtl").rglob("README.md")):
        heading = None
        for row in rows(file.read_text()):
            heading = row if "LUT" in row else heading if heading and len(row) == len(heading) else None
            if heading and row is not heading:
                assert (row[0].strip("`"), row[1]) in known, (file, row)
                size, shown = known[row[0].strip("`"), row[1]], dict(zip(heading[2:], map(float, row[2:]), strict=True))
                assert shown == {key: size["cells"][key] for key in shown}, (file, row)
                seen += 1
    assert seen >= 7


def constant(core: str, file: str = "", name: str = "LATENCY") -> int:
    """A constant of a bench, which compares it with every output's cycle."""
    text = (ROOT / "tb" / core / f"test_{file or core}.py").read_text()
    return int(re.search(rf"^{name} = (\d+)", text, re.M)[1])


def parameter(core: str, name: str) -> int:
    """The value of a parameter of gc_<core> that is not given."""
    return int(re.search(rf"parameter {name} += (\d+)", (ROOT / "rtl" / core / f"gc_{core}.v").read_text())[1])


# Cycles by core, and how its datasheet says them.
LATENCIES = {
    "operand_buffer": (constant("operand_buffer"), "| read latency | {} cycles from `s_rd_valid` to `m_rd_valid`"),
    "weight_buffer": (parameter("weight_buffer", "LATENCY"), "`s_rd_valid` to `m_rd_valid`, at least {};"),
    "gradient_buffer": (constant("gradient_buffer", name="TAKES_EFFECT"), "reads that are taken {} cycles after it"),
    "requantise": (constant("requantise"), "| `gc_requantise` | GRID * GRID sums of ACC_W bits to DW bits | {} |"),
    "loss": (constant("loss"), "`m_delta` comes {} cycles after `s_valid`"),
    "drain": (parameter("drain", "GATE_LATENCY") + 9, "`GATE_LATENCY + 9` cycles later"),
    "update": (constant("update"), "| latency | {} cycles from taking a row to `m_valid` |"),
}


@pytest.mark.parametrize("core", LATENCIES)
def test_latencies(core):
    """The readme's and the datasheet's."""
    cycles, said = LATENCIES[core]
    assert numbers(cores()[core][1].rpartition(";")[2])[0] == cycles
    assert said.format(cycles) in (ROOT / "rtl" / core / "README.md").read_text()


def test_mac_array_latency():
    assert "3 + ceil(log4 COLS)" in cores()["mac_array"][1]
    assert "`3 + ceil(log4(COLS)) + j` cycles" in (ROOT / "rtl" / "mac_array" / "README.md").read_text()
    bench = (ROOT / "tb" / "mac_array" / "test_mac_array.py").read_text()
    levels = dict(re.findall(r"(\d+): (\d)", re.search(r"self.levels = {(.*)}", bench)[1]))
    assert [(int(cols), int(n)) for cols, n in levels.items()] == [(1 << n, -(-n // 2)) for n in range(2, 7)]
    assert "due = self.now + 3 + self.levels" in bench


def test_benchmarks_in_the_readme():
    table = README[README.index("| training iteration") :].split("\n\n")[0]
    for name, array, *shown in rows(table)[1:]:
        network, minibatch = re.fullmatch(r"(.*), minibatch (\d+)", name).groups()
        network = "fcte-mnist" if "FCTE" in network else network.lower().replace("cifar-10 ", "cifar10-")
        found = BENCHMARKS[f"{network}/{array}/{minibatch}"]
        figures = [f"{found[key]:,.0f}".replace(",", " ") for key in ("cycles_per_image", "ideal_cycles_per_image")]
        assert shown == [*figures, f"{100 * found['mac_utilisation']:.1f} %"], name
    said = re.search(r"CIFAR-10 1X takes (\d+) % more\s+cycles than one of forty, of 4X (\d+) % more", README)
    for name, percent in zip(("cifar10-1x/64x16", "cifar10-4x/64x64"), said.groups()):
        one, forty = (BENCHMARKS[f"{name}/{minibatch}"]["cycles_per_image"] for minibatch in (1, 40))
        assert int(percent) == round(100 * one / forty - 100), name


def test_the_demo(tmp_path):
    """Epochs, accuracy and weights by the reference trainer, as which the demo trains; cycles by the benchmark."""
    command = [sys.executable, "-m", "gradcore", "train", ROOT / "examples" / "digits" / "net.toml", "--no-calibrate"]
    env = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "model")}
    options = ["--out", tmp_path, "--backend", "reference", "--no-float32"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    *epochs, last = done.stdout.splitlines()
    demo = [line for line in README.splitlines() if re.match(r"epoch \d|test accuracy", line)]
    plain = [re.sub(r" \(float32 [^)]*\)", "", line) for line in (demo[0], demo[1])]
    assert plain == [f"{line}, weights equal" for line in (epochs[0], epochs[-1])]
    pattern = r"test accuracy (\S+) % \(float32 \.\.\), cycles per image (\d+), MAC utilisation (\S+) %, "
    pattern += r"weights equal: yes, weights sha256 (\w+)\.\.\."
    accuracy, cycles, use, sha256 = re.fullmatch(pattern, demo[2]).groups()
    assert f"test accuracy {accuracy} % " in last and f"sha256 {sha256}" in last
    bench = BENCHMARKS["digits/64x16/32"]
    assert int(cycles) == round(bench["cycles_per_image"])
    assert round(float(use), 1) == round(100 * bench["mac_utilisation"], 1)


def test_no_figure_of_float32():
    """They depend on the order in which a machine's BLAS sums."""
    figure = re.compile(r"float32\D{0,12}\d+(\.\d+)? ?%")
    assert [name_of(file) for file in DOCUMENTS if figure.search(file.read_text())] == []


def test_memory_in_integration():
    """As the command before it prints."""
    text = prose((ROOT / "doc" / "integration.md").read_text())
    options = re.search(r"`gradcore compile net.toml --engine (\S+) --json -`", text)[1]
    network = cli.networks.load(cli.network_file(cli.Path("digits")))
    found = compiled_figures(cli.compile_network(network, cli.engine_config(options, network.data_width)))
    ends = {base: max(t["address"] + t["bytes"] for t in found["tensors"] if t["base"] == base) for base in range(3)}
    number = r"(\d[\d ]*)"
    pattern = rf"minibatch of {number} on\s.*?{number} bytes at `BASE0`, {number} at `BASE1`, {number} at `BASE2` and "
    pattern += f"{number} instructions"
    said = [int(n.replace(" ", "")) for n in re.search(pattern, text, re.S).groups()]
    assert said == [found["images"], *ends.values(), found["programs"]["train"]["instructions"]]


def test_presets():
    assert "\n".join(memories.table()) in (ROOT / "doc" / "integration.md").read_text()
