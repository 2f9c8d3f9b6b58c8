# SPDX-License-Identifier: Apache-2.0
import os
import random

import pytest

from gradcore.compiler import compile
from tb.support import runner


@pytest.fixture(autouse=True)
def repeatable(request):
    """The seed: the environment's SEED or a new one; what a test draws outside the simulation follows from it, too."""
    runner.drawn_seed = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 31)))
    random.seed(f"{runner.drawn_seed} {request.node.nodeid}")


@pytest.fixture(autouse=True)
def compiled_anew():
    """What one test has compiled, perhaps with a changed compiler, is not for the next one."""
    compile.recent.clear()
