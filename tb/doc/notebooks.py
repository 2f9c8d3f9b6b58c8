# SPDX-License-Identifier: Apache-2.0
"""The notebooks of examples/notebooks, executed."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

from gradcore.files.places import ROOT

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
OWN = "machine"  # tag of a cell whose output depends on the last bits of floating point


def executed(file: Path) -> nbformat.NotebookNode:
    """The notebook of a file with the outputs of a new run. Raises nbclient's CellExecutionError."""
    notebook = nbformat.read(file, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": file.parent}},
        coalesce_streams=True,  # where a text is cut depends on the time
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of day
    return notebook


def printed(notebook: nbformat.NotebookNode) -> list:
    """(code, text that it prints) of its cells; of those with the tag OWN no text."""
    return [
        (
            cell.source,
            [output.text for output in cell.outputs if "text" in output and OWN not in cell.metadata.get("tags", [])],
        )
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
