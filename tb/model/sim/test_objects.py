# SPDX-License-Identifier: Apache-2.0
"""The objects of Verilator's runtime are compiled once for what decides them; other sources and failures are not
kept."""

import shlex
import subprocess

import pytest

from gradcore.sim import objects

SOURCE = '#include "value.h"\nint value() { return VALUE + MORE; }\n'


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Compile a source through the program in a folder of its own; (exit code, object or None)."""
    monkeypatch.setattr(objects.shutil, "which", lambda program: None)  # also where ccache is installed
    words = shlex.split(objects.command(tmp_path / "objects"))
    number = iter(range(100))

    def run(name="verilated.cpp", text=SOURCE, header="#define VALUE 1\n", flags=("-O1", "-DMORE=0")):
        folder = tmp_path / f"build{next(number)}"
        folder.mkdir()
        (tmp_path / "value.h").write_text(header)
        (tmp_path / name).write_text(text)
        output = f"{name.partition('.')[0]}.o"
        arguments = ["-I.", f"-I{tmp_path}", "-MMD", *flags, "-c", "-o", output, str(tmp_path / name)]
        done = subprocess.run([*words, "c++", *arguments], cwd=folder, capture_output=True, text=True)
        object_ = folder / output
        if done.returncode == 0:
            assert "value.h" in object_.with_suffix(".d").read_text() or "value.h" not in text
        return done.returncode, object_.read_bytes() if object_.exists() else None

    return run


def kept(tmp_path):
    return sorted((tmp_path / "objects").glob("*.o"))


def test_the_second_build_takes_the_object_of_the_first(build, tmp_path):
    code, first = build()
    (object_,) = kept(tmp_path)
    assert code == 0 and first == object_.read_bytes()
    object_.write_bytes(b"marked")
    assert build() == (0, b"marked")
    # Beat width and other definitions that the text does not use are no reason for another object.
    assert build(flags=("-O1", "-DMORE=0", "-DUNUSED=5")) == (0, b"marked")


@pytest.mark.parametrize(
    "other",
    [
        {"text": SOURCE + "int another;\n"},
        {"header": "#define VALUE 2\n"},
        {"flags": ("-O1", "-DMORE=1")},
        {"flags": ("-O2", "-DMORE=0")},
        {"flags": ("-O1", "-fPIC", "-DMORE=0")},
    ],
    ids=["source", "header", "definition", "level", "code"],
)
def test_what_decides_the_object_makes_another(build, tmp_path, other):
    assert build()[0] == 0
    for object_ in kept(tmp_path):
        object_.write_bytes(b"marked")
    code, found = build(**other)
    assert code == 0 and found != b"marked" and len(kept(tmp_path)) == 2


def test_what_does_not_compile_is_not_kept(build, tmp_path):
    assert build(text="int value( {\n") == (1, None)
    assert build(text="#error no\n") == (1, None)
    assert kept(tmp_path) == []


def test_other_sources_are_compiled_as_without(build, tmp_path):
    code, found = build(name="Vtop.cpp")
    assert code == 0 and found and not (tmp_path / "objects").exists()
