# SPDX-License-Identifier: Apache-2.0
"""The commands that the documents show: the cheap ones run, of the others every file, option and name exists."""

import re
import shutil
import subprocess
import sys
from functools import cache

import pytest
import typer

from gradcore.cli import bench_layers
from gradcore.cli import main as cli
from gradcore.files.places import ROOT
from gradcore.host.boards import is_board
from gradcore.report import bench
from gradcore.sim.sources import core_names
from tb.doc.documents import DOCUMENTS, Command, commands, quoted, rows
from tb.support.images import few_images

SHOWN = commands()
ELSEWHERE = ("vivado", "qsys-script", "cd", "export", "pip")  # vendors' tools and the shell: nothing of ours
PLACES = {
    "NET.toml": "net.toml",
    "NET": "digits",
    "mine/net.toml": "net.toml",
    "mine/weights.npz": "build/run/weights.npz",
    "boards/ulx3s/digits.toml": str(ROOT / "boards/ulx3s/digits.toml"),
    "RUN": "build/run",
    "build/demo": "build/run",
    "build/mine": "build/run",
    "WEIGHTS.npz": "build/run/weights.npz",
    "--data FILE": "images.npz",
    "--out FILE": "out.npz",
}
CHEAP = ["--data", "images.npz", "--backend", "reference", "--no-float32", "--epochs", "1"]  # added to `train`
OTHERS = {"--setup", "--target", "--timing", "--x-initial"}  # of FuseSoC and Verilator
MODEL = "".join(file.read_text() for file in (ROOT / "model").rglob("*.py"))
KINDS = set(re.findall(r'"(gradcore \w+)"', MODEL))  # of files, named like commands
GROUP = typer.main.get_command(cli.app)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """net.toml, images.npz and the folder of a run."""
    folder = tmp_path_factory.mktemp("shown")
    shutil.copy(ROOT / "examples" / "digits" / "net.toml", folder)
    few_images(folder / "images.npz")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        assert cli.run(["train", "net.toml", *CHEAP]) == 0
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    """What a command finds where the reader is; each command has its own, so that none needs another one."""
    return shutil.copytree(trained, tmp_path / "shown")


def pairs(words) -> list:
    return [" ".join(pair) for pair in zip(words, words[1:])]


GRADCORE = [command for command in SHOWN if command.words[0] == "gradcore"]


@pytest.mark.parametrize("command", GRADCORE, ids=str)
def test_gradcore(command, folder, monkeypatch, capsys):
    words = [PLACES.get(pair, PLACES.get(word, word)) for pair, word in zip(pairs(command.words), command.words[1:])]
    monkeypatch.chdir(folder)
    if len(words) == 1 and words[0] != "doctor" or command.words[1:] == ("compile", "--json"):
        assert words[0] in GROUP.commands or f"gradcore {words[0]}" in KINDS  # a name in a sentence
    elif words[0] == "bench":
        seen = []
        for module, name in ((bench, "measure"), (bench_layers, "by_layers")):
            monkeypatch.setattr(module, name, lambda *given: seen.append(given) or sys.exit(0))
        assert cli.run(words) == 0 and seen
    elif words[0] == "import" or (words[0] == "export" and any(".onnx" in word for word in words)):
        # They run in tb/model/frontends/test_onnx_cli.py.
        assert cli.run(words) in (cli.USER, cli.MISSING)  # no model, or no onnx-ir
        assert re.search(r"\.(onnx|cfg|prototxt): cannot be read|onnx-ir is not installed", capsys.readouterr().err)
    elif any(is_board(word) for word in words):
        assert cli.run(words) == cli.USER and capsys.readouterr().err.startswith("error: /dev/")  # no board
    else:
        assert cli.run([*words, *(CHEAP if words[0] == "train" else [])]) == 0


@cache
def options_of_script(name: str) -> set:
    """Options that a script of ci/ knows; none of those that read no options."""
    if "argparse" not in (ROOT / name).read_text():
        return set()
    done = subprocess.run([sys.executable, ROOT / name, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"--[\w-]+", done.stdout))


def problem(command) -> str:
    """What is wrong with a command that is not gradcore's; empty: nothing."""
    first, *rest = command.words
    options = {word.partition("=")[0] for word in rest if word.startswith("--")}
    if first == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
        return "" if {word for word in rest if "=" not in word} <= set(targets) else f"no such target of {targets}"
    if first.startswith("ci/"):
        if not (ROOT / first).is_file():
            return "no such script"
        cores = [word for word in rest if first == "ci/lint" and word not in core_names()]
        unknown = options - options_of_script(first) if options else set()
        return " ".join([*cores, *unknown])
    if rest[:2] == ["-m", "pytest"]:
        return "" if (ROOT / rest[2]).exists() else "no such tests"
    if first == "python":
        return "" if (ROOT / command.document).parent.joinpath(rest[0]).is_file() else "no such script"
    if first == "fusesoc":
        return fusesoc_problem(command)
    return "" if first in ELSEWHERE else "nobody checks this command"


def fusesoc_problem(command) -> str:
    """`run --target=T CORE`: a core of the library or of the document's folder has that target."""
    if command.words[1] == "library":
        return ""
    (target,) = (word.partition("=")[2] for word in command.words if word.startswith("--target="))
    (name,) = (word for word in command.words if re.fullmatch(r"\w+:\w+:\w+", word))
    files = [*ROOT.glob("*.core"), *ROOT.glob("rtl/*/*.core"), *(ROOT / command.document).parent.glob("*.core")]
    cores = [file.read_text() for file in files]
    core = next((text for text in cores if re.search(rf"^name:\s*\"?{name}:", text, re.M)), "")
    return "" if re.search(rf"^  {target}:", core, re.M) else f"no core {name} with a target {target}"


@pytest.mark.parametrize("command", [command for command in SHOWN if command not in GRADCORE], ids=str)
def test_other_commands(command):
    assert problem(command) == ""


@pytest.mark.parametrize(
    "line",
    [
        "make nothing",
        "ci/nothing",
        "ci/lint nowhere",
        "ci/fuzz --counts 3",
        "python -m pytest tb/nowhere",
        "tclsh x.tcl",
        "python nothing.py",
        "fusesoc run --target=vu9p gradcore:ip:axi",
        "fusesoc run --target=sim example:user:no_core",
    ],
)
def test_a_wrong_command_goes_red(line):
    assert problem(Command("README.md", tuple(line.split())))


def test_report_draws_what_its_row_says(folder):
    """Of a benchmark: tb/model/report/test_bench.py."""
    (row,) = (row for row in rows((ROOT / "doc" / "simulation.md").read_text()) if row[0] == "`gradcore report RUN`")
    said = re.search(r"draws `(\S+)` of a run or `(\S+)` of a benchmark again", row[1])
    assert said.groups() == ("loss.png", "roofline.png")
    run = shutil.copytree(folder / "build/run", folder / "again")
    for name in ("loss.png", "saturations.png", "timeline.png"):
        (run / name).unlink(missing_ok=True)
    assert cli.run(["report", str(run)]) == 0
    assert [file.name for file in run.glob("*.png")] == ["loss.png"]


def test_options_in_sentences():
    """`--option` between backticks is one of gradcore or of a script."""
    parameters = [parameter for command in (GROUP, *GROUP.commands.values()) for parameter in command.params]
    known = {name for parameter in parameters for name in parameter.opts + parameter.secondary_opts}
    scripts = [f"ci/{name}" for name in ("fuzz", "mutate", "package", "pnr", "synth")] + ["examples/litex/train.py"]
    known |= OTHERS.union(*map(options_of_script, scripts))
    shown = {
        (file.name, option)
        for file in DOCUMENTS
        for text in quoted(file.read_text())
        if text.startswith("-")
        for option in re.findall(r"(?<!\S)--[\w-]+", text)
    }
    assert len(shown) > 10 and not {(name, option) for name, option in shown if option not in known}
