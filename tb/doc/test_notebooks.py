# SPDX-License-Identifier: Apache-2.0
"""The notebooks run, and print what stands in them."""

import nbformat
import pytest

from tb.doc.notebooks import NOTEBOOKS, executed, printed


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """Nothing of the user's own settings counts, nothing is left there."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_prints_what_stands_in_it(file):
    """Else: build/venv/bin/python ci/notebooks."""
    assert printed(nbformat.read(file, as_version=4)) == printed(executed(file))


def test_another_output_is_seen(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print(6 * 7)")])
    nbformat.write(notebook, tmp_path / "one.ipynb")
    assert printed(notebook) == [("print(6 * 7)", [])]
    assert printed(executed(tmp_path / "one.ipynb")) == [("print(6 * 7)", ["42\n"])]


def test_a_text_that_comes_in_parts_is_one(tmp_path):
    source = "import time\nfor word in 'ab':\n    print(word, flush=True)\n    time.sleep(1)"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]), tmp_path / "parts.ipynb")
    assert printed(executed(tmp_path / "parts.ipynb")) == [(source, ["a\nb\n"])]
