# SPDX-License-Identifier: Apache-2.0
"""The site in a browser: every page opens without an error of a script, and the search finds. Skipped where there is no
Chromium (Debian: apt-get install chromium)."""

import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from bs4 import BeautifulSoup

from tb.support.cases import long

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MADE = ("genindex.html", "py-modindex.html", "search.html")  # by Sphinx
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(site):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def opened(address: str) -> BeautifulSoup:
    """A page after its scripts have run. Fails when one of them has an error or a part of the page is missing."""
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=5000")
    done = subprocess.run([BROWSER, *options, "--dump-dom", address], capture_output=True, text=True, timeout=120)
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "rror" in line]
    assert done.returncode == 0 and not errors, errors or done.stderr[-2000:]
    return BeautifulSoup(done.stdout, "html.parser")


def test_the_search_finds(address):
    page = opened(f"{address}/search.html?q=requantise")
    found = [link["href"] for link in page.select("#search-results a")]
    assert any(link.startswith("rtl/requantise/README.html") for link in found), found
    assert not opened(f"{address}/search.html?q=qwertyuiop").select("#search-results ul.search li")


def test_the_folder_leads_to_the_first_page(address):
    assert opened(address).find("h1").text.startswith("gradcore")


@pytest.mark.parametrize("share", [0, *(long(k) for k in range(1, 10))])
def test_pages_open(site, address, share):
    """A tenth of them each."""
    for file in sorted(site.rglob("*.html"))[share::10]:
        page = opened(f"{address}/{file.relative_to(site)}")
        assert page.find("title").text and (page.find("h1") or file.name in MADE), file


def test_an_error_is_seen(tmp_path, address):
    (tmp_path / "a.html").write_text("<title>a</title><script>nothing()</script>")
    with pytest.raises(AssertionError, match="nothing is not defined"):
        opened(f"file://{tmp_path}/a.html")
