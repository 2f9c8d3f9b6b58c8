# SPDX-License-Identifier: Apache-2.0
"""Fields of a COMPUTE whose results take a factor: dropout and leaky ReLU (doc/instructions.md, "COMPUTE"); of a
dropout also for VECTOR."""

from gradcore.compiler.tuples import Fields
from gradcore.isa.instruction import FACTOR_GATE, FACTOR_KEEP, FACTOR_SIGN
from gradcore.network.weighted_layer import Factor, LayerParameters
from gradcore.numerics.random_numbers import random_tag
from gradcore.ops import activation, dropout


def forward_factor(p: LayerParameters, train: bool) -> Fields:
    """Of the results of a layer. In inference dropout lets everything pass."""
    if p.factor is None:
        return {}
    own = dict(factor_tag=random_tag(p.factor.layer, "act"), factor_shift=p.factor.shift_fp)
    operator = p.factor.operator
    if isinstance(operator, activation.LeakyRelu):
        return own | dict(factor=FACTOR_SIGN) | _slopes(operator, 0)
    if train:
        return own | _keeping(p.factor, operator, 0)
    if p.factor.shift_fp == dropout.BITS:  # the same word
        return {}
    return own | dict(factor=FACTOR_KEEP, factor_1=1 << dropout.BITS)


def backward_factor(p: LayerParameters) -> Fields:
    """Of the local gradient at the output of a layer, which becomes that at its sums. Where others than the next layer
    read what a leaky ReLU leaves, VECTOR does that."""
    if p.factor is None or not p.alone:
        return {}
    operator, shift = p.factor.operator, p.factor.shift_bp
    assert shift is not None
    own = dict(factor_tag=random_tag(p.factor.source_layer, "delta"), factor_shift=max(shift, 0))
    if isinstance(operator, activation.LeakyRelu):
        return own | dict(factor=FACTOR_GATE) | _slopes(operator, max(-shift, 0))
    return own | _keeping(p.factor, operator, max(-shift, 0))


def _slopes(operator: activation.LeakyRelu, left: int) -> Fields:
    return dict(factor_0=operator.numerator << left, factor_1=1 << activation.BITS + left)


def _keeping(factor: Factor, operator: dropout.Dropping, left: int) -> Fields:
    return dict(factor=FACTOR_KEEP, factor_1=kept_scale(operator) << left) | keeping(operator, factor.layer)


def kept_scale(operator: dropout.Dropping) -> int:
    """What the words that are kept are multiplied by."""
    return round((1 << dropout.BITS) / (1 - operator.p))


def keeping(operator: dropout.Dropping, layer: int) -> Fields:
    """What a dropout keeps whose layer has the number `layer`."""
    return dict(keep_threshold=round(operator.p * 2**16), keep_tag=random_tag(layer, "mask"))
