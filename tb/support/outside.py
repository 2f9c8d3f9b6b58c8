# SPDX-License-Identifier: Apache-2.0
"""What can be compared of an engine whose gradient buffer cannot be looked into."""

from tb.model.compiler.networks import Probe


class Outside(Probe):
    """Compares what is seen from outside: LOSS, maps and weights."""

    looks = False

    def collect(self, device, compiled):
        pass
