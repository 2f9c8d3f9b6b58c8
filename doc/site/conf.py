# SPDX-License-Identifier: Apache-2.0
"""Sphinx reads this: the documents of the whole repository as one site, `make docs`. They stay where they are."""

import re
from pathlib import Path

import gradcore

ROOT = Path(__file__).resolve().parents[2]
project = "gradcore"
copyright = "the gradcore authors, Apache-2.0"
version = release = gradcore.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc"]  # the first with MyST
root_doc = "doc/site/index"
include_patterns = [
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "tb/support/README.md", "doc/*.md", "doc/site/*.md"),
    *("rtl/**/README.md", "examples/*/README.md", "boards/*/README.md"),
    "examples/notebooks/*.ipynb",
]
exclude_patterns = ["build", ".git", ".pytest_cache", "dist"]
html_theme = "furo"
html_title = f"gradcore {release}"
html_additional_pages = {"index": "first.html"}  # the folder's address leads to the first page
templates_path = ["."]
html_copy_source = False
highlight_language = "none"
myst_heading_anchors = 4
nb_execution_mode = "off"  # they are executed: ci/notebooks
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


def lead_to_pages(app, name, source):
    """A link to a folder leads to its README. Where there is none only the name is left: a site shows no folders."""
    here = (ROOT / name).parent

    def target(found):
        text, place, part = found[1], here / found[2], found[3] or ""
        if not place.is_dir():
            return found[0]
        return f"[{text}]({found[2].rstrip('/')}/README.md{part})" if (place / "README.md").exists() else text

    source[0] = LINK.sub(target, source[0])


def setup(app):
    app.connect("source-read", lead_to_pages)
    return {"parallel_read_safe": True}
