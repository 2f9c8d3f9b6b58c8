# SPDX-License-Identifier: Apache-2.0
"""`make docs`: the documents become a site without a warning, every link in it leads somewhere, the search knows every
page."""

import json
import os
import shutil
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from bs4 import BeautifulSoup

from gradcore.files.places import ROOT
from tb.doc.documents import DOCUMENTS, name_of
from tb.doc.site import make

SITE = ROOT / "doc" / "site"


def dead_links(site: Path) -> list:
    """(page, link) of every link inside the site that leads nowhere."""
    pages = {file: BeautifulSoup(file.read_text(), "html.parser") for file in site.rglob("*.html")}
    names = {file: {tag["id"] for tag in page.find_all(id=True)} for file, page in pages.items()}
    dead = []
    for file, page in pages.items():
        for link in [tag.get("href") or tag["src"] for tag in page.select("[href], [src]")]:
            place = urlparse(link)
            target = Path(os.path.normpath(file.parent / unquote(place.path))) if place.path else file
            inside = not place.scheme and not place.netloc
            if inside and (
                not target.is_file() or place.fragment and unquote(place.fragment) not in names.get(target, ())
            ):
                dead.append((str(file.relative_to(site)), link))
    return dead


def test_no_link_is_dead(site):
    assert dead_links(site) == []


def test_a_dead_link_is_seen(tmp_path):
    (tmp_path / "a.html").write_text('<a id="x" href="b.html#y">1</a> <a href="a.html#x">2</a> <img src="c.png">')
    (tmp_path / "b.html").write_text('<p id="z">')
    assert dead_links(tmp_path) == [("a.html", "b.html#y"), ("a.html", "c.png")]


def test_the_search_knows_every_document(site):
    index = (site / "searchindex.js").read_text()
    known = json.loads(index[index.index("(") + 1 : index.rindex(")")])["docnames"]
    assert {name_of(file).removesuffix(".md") for file in DOCUMENTS} <= {*known}
    assert "doc/site/index" in known and "doc/site/index.html" in (site / "index.html").read_text()


@pytest.mark.parametrize(
    "text, said",
    [
        ("[nowhere](nowhere.md)", "nowhere.md"),
        ("[part](index.md#no-such-part)", "no-such-part"),
        ("![picture](nowhere.svg)", "nowhere.svg"),
        ("```{eval-rst}\n.. autofunction:: gradcore.nothing\n```", "nothing"),
    ],
)
def test_a_warning_is_an_error(tmp_path, text, said):
    folder = tmp_path / "doc" / "site"
    folder.mkdir(parents=True)
    for name in ("conf.py", "first.html"):
        shutil.copy(SITE / name, folder)
    (folder / "index.md").write_text(f"# Site\n\n{text}\n")
    done = make(tmp_path, tmp_path / "out")
    assert done.returncode and said in done.stderr
