# SPDX-License-Identifier: Apache-2.0
"""The wheel: complete, and of use outside the repository, in folders whose names hold a space."""

import os
import shutil
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement

from gradcore import __version__
from gradcore.files.places import ROOT
from tb.support.images import few_images

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MADE = shutil.ignore_patterns("__pycache__", "*.egg-info", "training_system/*.hex")


def run(*words, **options):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the installed package, and nothing of this checkout."""
    folder = tmp_path_factory.mktemp("a wheel")
    for name in ("model", "rtl", "examples"):
        shutil.copytree(ROOT / name, folder / "source" / name, ignore=MADE)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source")
    pip = ("-m", "pip", "--disable-pip-version-check", "--no-input")
    built = run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, folder / "source")
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    assert wheel.name == f"gradcore-{__version__}-py3-none-any.whl"
    done = run(*pip, "install", "--no-deps", "--target", folder / "installed here", wheel)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(folder / "source")
    return folder


def gradcore(place, *words):
    environment = os.environ | {
        "PYTHONPATH": str(place / "installed here"),
        "XDG_CACHE_HOME": str(place / "a cache"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    return run("-P", "-m", "gradcore", *words, cwd=place, env=environment)


def files(folder):
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder) for path in found if path.suffix != ".pyc"}


@pytest.mark.parametrize("name, source", [("", "model/gradcore"), ("rtl", "rtl"), ("examples", "examples")])
def test_it_holds_every_file(place, name, source):
    made = {path for path in files(ROOT / source) if path.match("training_system/*.hex")}
    missing = files(ROOT / source) - made - files(place / "installed here" / "gradcore" / name)
    assert not missing


def test_it_trains_and_keeps_its_engine_in_the_users_cache(place):
    few_images(place / "few images.npz")
    engine = "grid=4,cols=4,act_depth=512,has_vector=0,has_softmax=0,has_factor=0"
    words = ("train", "digits", "--data", "few images.npz", "--epochs", "1", "--engine", engine, "--out", "a run")
    done = gradcore(place, *words)
    assert done.returncode == 0, done.stderr
    assert "weights equal: yes" in done.stdout
    assert (place / "a run" / "weights.npz").exists()
    assert list((place / "a cache" / "gradcore" / "sim").glob("*/engine.so"))
    again = gradcore(place, *words, "--force")
    assert "building" in done.stdout + done.stderr and "building" not in again.stdout + again.stderr


def test_it_tells_its_version_and_where_its_cores_are(place):
    assert gradcore(place, "--version").stdout == f"gradcore {__version__}\n"
    folder = place / "installed here" / "gradcore" / "rtl"
    assert gradcore(place, "cores").stdout == f"{folder}\n"
    assert (folder / "engine" / "engine.core").exists()


@pytest.mark.parametrize("words", [("--all",), ("vgg16", "--by-layers"), ("--layer", "all")])
def test_tables_of_the_repository_need_the_repository(place, words):
    done = gradcore(place, "bench", *words)
    assert done.returncode == 2 and "of a checkout" in done.stderr, done.stderr


def test_what_it_asks_for_is_what_the_tests_run_with():
    pins = dict(line.split("==") for line in (ROOT / "requirements.txt").read_text().splitlines())
    for text in (*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]):
        wanted = Requirement(text)
        assert wanted.specifier.contains(pins[wanted.name]), text
