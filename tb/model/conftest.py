# SPDX-License-Identifier: Apache-2.0
import os
import zlib

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

threadpool_limits(1)  # the matrices are small: threads that wait for a busy core cost more than they give


@pytest.fixture
def rng(request):
    """NumPy generator; its seed is printed and can be set by SEED."""
    seed = int(os.environ.get("SEED", zlib.crc32(request.node.nodeid.encode())))
    print(f"SEED={seed}")
    return np.random.default_rng(seed)
