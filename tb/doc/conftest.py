# SPDX-License-Identifier: Apache-2.0
"""The site, for every test that looks at it."""

import pytest

from gradcore.files.places import ROOT
from tb.doc.site import make


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Its folder."""
    out = tmp_path_factory.mktemp("site")
    done = make(ROOT, out)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return out / "html"
