# SPDX-License-Identifier: Apache-2.0
"""Where the package finds what is not Python, and where it keeps what it builds."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
INSTALLED = (_PACKAGE / "rtl").is_dir()  # from a wheel, which brings rtl/ and examples/ inside the package
ROOT = (
    _PACKAGE if INSTALLED else _PACKAGE.parents[1]
)  # holds rtl/ and examples/; a checkout has doc/ and tb/ beside them


def build_folder() -> Path:
    """Folder for compiled engines: build/ of a checkout, else the user's cache (Linux: $XDG_CACHE_HOME/gradcore or
    ~/.cache/gradcore)."""
    if not INSTALLED:
        return ROOT / "build"
    from platformdirs import user_cache_path

    return user_cache_path("gradcore")
