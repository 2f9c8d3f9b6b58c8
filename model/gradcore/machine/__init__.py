# SPDX-License-Identifier: Apache-2.0
"""The engine as an instruction-level model: bit-exact, without a clock."""

from gradcore.machine.machine import Deadlock, Machine

__all__ = ["Deadlock", "Machine"]
