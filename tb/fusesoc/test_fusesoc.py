# SPDX-License-Identifier: Apache-2.0
"""The cores as a user meets them: through the fusesoc command, in the repository and in a project of the user's own."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from gradcore.files.places import ROOT
from gradcore.sim.sources import core_names
from tb.fusesoc.conftest import Shell, copy_of_library, plant
from tb.support.cases import long

EXAMPLE = ROOT / "examples" / "mac_array_user"
EXAMPLES = sorted((ROOT / "examples").glob("*/*.core"))
CORE_FILES = [ROOT / "core.core", *sorted((ROOT / "rtl").glob("*/*.core")), *EXAMPLES]
WHOLE = "engine", "axi", "avalon"  # engines, all of whose modules gradcore has, too
NAMES = {f"gradcore:ip:{name}:0.1.0" for name in [*core_names(), "gradcore"]}
BENCHES = {"gradcore:tb:player:0.1.0", "gradcore:tb:step:0.1.0"}  # what the targets `sim` are made of


def test_list_shows_every_core_and_nothing_else(fusesoc):
    """Nothing else: no example, no scratch copy below build/."""
    scratch = fusesoc.folder / "scratch.core"
    scratch.write_text("CAPI=2:\nname: gradcore:ip:scratch:0.1.0\n")
    done = fusesoc("--cores-root", ".", "core", "list")
    assert done.returncode == 0, done.stdout
    assert set(re.findall(r"^(\w+:\w+:\w+:[\d.]+)\s+: +local", done.stdout, re.M)) == NAMES | BENCHES
    assert "Replacing" not in done.stdout and "Failed" not in done.stdout and "rror" not in done.stdout, done.stdout


def test_documents_name_cores_that_exist():
    known = NAMES | {yaml.safe_load(path.read_text().removeprefix("CAPI=2:\n"))["name"] for path in EXAMPLES}
    known |= {name.rpartition(":")[0] for name in known}
    documents = [
        f
        for folder in ("", "doc", "examples/*", "boards/*", "rtl/*", "rtl/*/*")
        for f in ROOT.glob(f"{folder}/*.md" if folder else "*.md")
    ]
    named = {
        (f.name, name)
        for f in documents
        for name in re.findall(r"\b(?:gradcore|example):(?:ip|user):[\w:.]*\w", f.read_text())
    }
    assert len(named) > 8 and {(f, name) for f, name in named if name not in known} == set()


@pytest.mark.parametrize("path", CORE_FILES, ids=lambda p: p.stem)
def test_core_file_has_licence_lint_and_rtl_only_by_default(path):
    text = path.read_text()
    core = yaml.safe_load(text.removeprefix("CAPI=2:\n"))
    assert text.startswith("CAPI=2:\n# SPDX-License-Identifier: Apache-2.0\n")
    assert core["license"] == "Apache-2.0" and core["description"] and "provider" not in core
    assert (
        core["targets"]["lint"]["flow"] == "lint"
        and "-Wall" in core["targets"]["lint"]["flow_options"]["verilator_options"]
    )
    assert core["targets"]["default"]["filesets"] == ["rtl"]
    assert core["targets"]["default"]["toplevel"].startswith("is_toplevel? (")
    assert core["targets"]["sim"]["flow"] == "sim" and core["targets"]["sim"]["flow_options"]["tool"] == "icarus"
    for fileset in core["filesets"].values():
        for name in fileset.get("depend", []):
            assert name in NAMES | BENCHES or path in EXAMPLES and name.removeprefix("~") in NAMES, (
                f"{name}: no exact version"
            )
    for fileset in core["filesets"].values():
        for file in fileset.get("files", []):
            (name,) = [file] if isinstance(file, str) else file  # a file may carry its type
            assert (
                (path.parent / name).is_file() or path in EXAMPLES and name.endswith(".hex")
            ) and ".." not in name  # .hex: made by its script


@pytest.mark.parametrize("name", sorted(NAMES))
def test_default_gives_rtl_only(fusesoc, name):
    done = fusesoc.run("default", name, ROOT, "--setup", "--tool=verilator")
    assert done.returncode == 0, done.stdout
    (listing,) = (fusesoc.folder / "build" / name.replace(":", "_")).rglob("*.eda.yml")
    files = yaml.safe_load(listing.read_text())["files"]
    assert files
    for file in files:
        assert file["file_type"].startswith("verilogSource") and re.search(
            r"(^|/)rtl/|^src/gradcore_ip_\w+_0.1.0/[\w/]+\.v$", file["name"]
        ), file
        assert not re.search(r"smoke|_tb\b|test|bench", file["name"]), file


def test_registers_of_the_engine(fusesoc):
    done = fusesoc.run("registers", "gradcore:ip:engine:0.1.0", ROOT, "--setup", "--tool=verilator")
    assert done.returncode == 0, done.stdout
    (listing,) = (fusesoc.folder / "build" / "gradcore_ip_engine_0.1.0").glob("registers*/*.eda.yml")
    files = {
        file["name"].rpartition("/")[2]: file["file_type"] for file in yaml.safe_load(listing.read_text())["files"]
    }
    assert files == {"gradcore_regs.rdl": "systemRDL", "gradcore_regs.h": "cSource"}


@pytest.mark.parametrize("name", [long(name) if name.split(":")[2] in WHOLE else name for name in sorted(NAMES)])
def test_lint_passes(fusesoc, name):
    done = fusesoc.run("lint", name)
    assert done.returncode == 0 and "Verilat" in done.stdout and "%Warning" not in done.stdout, done.stdout[-3000:]


def test_lint_goes_red(fusesoc, tmp_path):
    root = copy_of_library(tmp_path)
    plant(root / "rtl" / "stream" / "gc_stream_fifo.v", "endmodule", "wire [3:0] wide = s_valid;\nendmodule")
    done = fusesoc.run("lint", "gradcore:ip:stream:0.1.0", root)
    assert done.returncode != 0 and "WIDTHEXPAND" in done.stdout


@pytest.fixture
def project(tmp_path):
    """The example in a folder of its own, as a user would copy it."""
    shutil.copytree(EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns("build", "fusesoc.conf"))
    return tmp_path / "project"


def test_example_runs_outside_the_repository(tmp_path, project):
    """The commands of its README, with the library in the project's own fusesoc.conf."""
    fusesoc = Shell(tmp_path / "home")
    done = fusesoc("library", "add", "gradcore", ROOT, cwd=project, config=False)
    assert done.returncode == 0 and (project / "fusesoc.conf").exists(), done.stdout
    done = fusesoc("--cores-root", ".", "run", "--target=sim", "example:user:outer_product", cwd=project, config=False)
    assert done.returncode == 0 and "outer_product: passed" in done.stdout and "Replacing" not in done.stdout, (
        done.stdout[-3000:]
    )
    done = fusesoc("--cores-root", ".", "run", "--target=lint", "example:user:outer_product", cwd=project, config=False)
    assert done.returncode == 0 and "%Warning" not in done.stdout, done.stdout[-3000:]
    (listing,) = project.rglob("sim/*.eda.yml")
    used = {Path(f["name"]).name for f in yaml.safe_load(listing.read_text())["files"]}
    cores = [f for core in ("mac_array", "stream", "ram") for f in (ROOT / "rtl" / core).glob("*.v")]
    assert used == {f.name for f in cores} | {"gc_outer_product.v", "gc_outer_product_tb.v"}


def test_example_goes_red_with_a_broken_core(tmp_path, project):
    root = copy_of_library(tmp_path / "library")
    plant(root / "rtl" / "mac_array" / "gc_mac_element.v", "addend + product", "addend - product")
    fusesoc = Shell(tmp_path / "home")
    done = fusesoc(
        "--cores-root", root, "--cores-root", ".", "run", "--target=sim", "example:user:outer_product", cwd=project
    )
    assert done.returncode != 0 and "expected" in done.stdout, done.stdout[-3000:]
