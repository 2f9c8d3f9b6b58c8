# SPDX-License-Identifier: Apache-2.0
"""Images for a run that is over at once."""

from pathlib import Path

import numpy as np


def few_images(file: Path) -> None:
    """An NPZ file of 40 random images for training and 10 for the test, 8x8 pixels of 10 classes."""
    rng, counts = np.random.default_rng(1), {"train": 40, "test": 10}
    arrays = {f"x_{part}": rng.random((count, 8, 8)) for part, count in counts.items()}
    arrays |= {f"y_{part}": rng.integers(0, 10, count) for part, count in counts.items()}
    np.savez(file, **arrays)
