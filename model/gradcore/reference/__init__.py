# SPDX-License-Identifier: Apache-2.0
"""Trainers in NumPy: the bit-exact reference, and the same network in floating point."""

from gradcore.reference.float_trainer import FloatTrainer
from gradcore.reference.trainer import ReferenceTrainer

__all__ = ["FloatTrainer", "ReferenceTrainer"]
