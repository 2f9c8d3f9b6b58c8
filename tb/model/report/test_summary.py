# SPDX-License-Identifier: Apache-2.0
"""Reports with a failed check."""

import pytest

from gradcore.report.summary import failed


@pytest.mark.parametrize(
    "change, bad",
    [
        ({}, False),
        ({"weights_equal": None}, False),
        ({"weights_equal": False}, True),
        ({"differing_outputs": 1}, True),
        ({"unaccounted_cycles": {"load": 3}}, True),
    ],
)
def test_failed_checks(change, bad):
    assert failed({"weights_equal": True, "differing_outputs": 0, "unaccounted_cycles": {}} | change) is bad
