# SPDX-License-Identifier: Apache-2.0
"""What decides a simulated engine is in the hash that names its folder: none is taken for another one."""

import pytest

from gradcore.sim import build

PARAMETERS = {"GRID": 4, "COLS": 8}


@pytest.fixture
def top(tmp_path):
    file = tmp_path / "top.v"
    file.write_text("module top;\nendmodule\n")
    return file


def test_equal_inputs_have_one_hash(top, tmp_path):
    copy = tmp_path / "other" / top.name
    copy.parent.mkdir()
    copy.write_text(top.read_text())
    assert build.inputs_sha256([top], PARAMETERS) == build.inputs_sha256([copy], dict(reversed(PARAMETERS.items())))


@pytest.mark.parametrize("changed", ["text", "name", "parameter", "compiler", "level", "C flags", "make flags"])
def test_another_input_has_another_hash(top, monkeypatch, changed):
    before, parameters = build.inputs_sha256([top], PARAMETERS), dict(PARAMETERS)
    if changed == "text":
        top.write_text("module top;\n\nendmodule\n")
    elif changed == "name":
        top = top.rename(top.with_name("another.v"))
    elif changed == "parameter":
        parameters["COLS"] = 4
    elif changed == "compiler":
        other = next(name for name in build.COMPILERS if name != build.compiler())
        monkeypatch.setattr(build, "compiler", lambda: other)
    elif changed == "level":
        monkeypatch.setitem(build.COMPILERS, build.compiler(), "-O0")
    else:
        monkeypatch.setattr(build, changed.replace(" ", "_").upper(), "-DOTHER")
    assert build.inputs_sha256([top], parameters) != before
