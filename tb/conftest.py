# SPDX-License-Identifier: Apache-2.0
import os
import random

import pytest


@pytest.fixture(autouse=True)
def repeatable_parameters(request):
    """What a test draws outside the simulation, such as its parameters, follows from SEED, too."""
    if "SEED" in os.environ:
        random.seed(f"{os.environ['SEED']} {request.node.nodeid}")
