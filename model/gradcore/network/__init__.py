# SPDX-License-Identifier: Apache-2.0
"""Networks and their training: description, checks, net.toml. Knows no engine."""

from gradcore.network.checks import NetworkError
from gradcore.network.description import Conv, Dense, Network, load, parse

__all__ = ["Conv", "Dense", "Network", "NetworkError", "load", "parse"]
