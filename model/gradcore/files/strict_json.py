# SPDX-License-Identifier: Apache-2.0
"""JSON that every parser reads: an undefined number (NaN, infinity) is null."""

import json
import math
from typing import Any

import numpy as np


def dumps(content: Any, indent: int | None = None) -> str:
    """`content` as text; what JSON does not know becomes text."""
    return json.dumps(_defined(content), indent=indent, default=str, allow_nan=False)


def _defined(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: _defined(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [_defined(value) for value in x]
    if isinstance(x, (np.integer, np.floating)):
        x = x.item()
    return None if isinstance(x, float) and not math.isfinite(x) else x
