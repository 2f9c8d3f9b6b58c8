# SPDX-License-Identifier: Apache-2.0
"""The layers of a network as a table, and what they cost."""

import numpy as np

from gradcore.network.description import Network


def network_table(network: Network) -> list[dict]:
    """Layers of a network: shapes, number formats, multiply-accumulates of a forward pass."""
    rows = []
    for p in network.parameters:
        rows.append(
            {
                "name": p.name,
                "type": "dense" if p.weight_shape[2:] == p.in_shape[1:] else "conv",
                "input": "x".join(map(str, p.in_shape)),
                "kernel": "x".join(map(str, p.weight_shape[2:])),
                "output": "x".join(map(str, p.out_shape)),
                "relu": p.relu,
                "pool": p.pool or "",
                "frac act": f"{p.fa} -> {p.fo}",
                "frac weight": p.fw,
                "frac delta": "" if p.fd is None else p.fd,
                "learning rate": p.learning_rate if p.trainable else "frozen",
                "words": int(np.prod(p.weight_shape)) + p.bias * p.weight_shape[0],
                "macs": int(np.prod(p.weight_shape)) * p.conv_shape[1] * p.conv_shape[2],
            }
        )
    return rows


def ideal_macs(network: Network) -> int:
    """Multiply-accumulates of FP, BP and WU for one image: BP where a trained layer is below, WU where the layer is
    trained."""
    total = 0
    for p in network.parameters:
        macs = int(np.prod(p.weight_shape)) * p.conv_shape[1] * p.conv_shape[2]
        total += macs * (1 + (p.shift_bp is not None) + p.trainable)
    return total
