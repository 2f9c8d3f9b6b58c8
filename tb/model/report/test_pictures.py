# SPDX-License-Identifier: Apache-2.0
"""Pictures are drawn."""

import numpy as np
import pytest

from gradcore.report.pictures import loss_picture, timeline_picture
from gradcore.sim.backend import EVENT


@pytest.mark.parametrize("count", [0, 1, 300])
def test_pictures_are_drawn(tmp_path, count):
    rows = [(10 * i, 10 * i + 7, i % 5, i) for i in range(count)]
    timeline_picture(tmp_path / "t.png", np.array(rows, dtype=EVENT))
    history = [
        {"epoch": i + 1, "loss": 1 / (i + 1), "test_accuracy": 0.5, "float32_loss": 1, "float32_test_accuracy": 0.4}
        for i in range(3)
    ]
    loss_picture(tmp_path / "l.png", history)
    for name in ("t.png", "l.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
