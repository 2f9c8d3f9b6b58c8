# SPDX-License-Identifier: Apache-2.0
"""The register map of rtl/engine/gradcore_regs.rdl as 32-bit words, for tests that compare something with it."""

from dataclasses import dataclass

from systemrdl.node import FieldNode, RegNode
from systemrdl.rdltypes import OnWriteType

from gradcore.isa.register_map import elaborate


@dataclass(frozen=True)
class Bits:
    """A field: its kind is store (software writes, reads back), w1c, w1s, pulse (writes do something, reads zero),
    const or hw (hardware's)."""

    name: str
    low: int
    width: int
    kind: str
    reset: int | None

    @property
    def mask(self) -> int:
        return (1 << self.width) - 1 << self.low


@dataclass(frozen=True)
class Word:
    path: str  # as in WINDOW[0].base.low
    access: str  # r, w or rw
    bits: tuple

    def mask(self, *kinds) -> int:
        return sum(bits.mask for bits in self.bits if bits.kind in kinds)


def _kind(field: FieldNode) -> str:
    onwrite, hardware = field.get_property("onwrite"), field.is_hw_writable or field.get_property("hwset")
    found = (field.is_sw_readable, field.is_sw_writable, bool(field.get_property("singlepulse")), onwrite, hardware)
    return {
        (True, True, False, None, False): "store",
        (True, True, False, OnWriteType.woclr, True): "w1c",
        (True, True, False, OnWriteType.woset, False): "w1s",
        (False, True, True, None, False): "pulse",
        (True, False, False, None, False): "const",
        (True, False, False, None, True): "hw",
    }[found]


def words(**parameters) -> dict:
    """Word by offset."""
    top = elaborate(**parameters)
    found = {}
    for node in top.descendants(unroll=True):
        if isinstance(node, RegNode):
            assert (
                node.get_property("regwidth") == 32
                and node.absolute_address % 4 == 0
                and node.absolute_address not in found
            )
            bits = tuple(Bits(f.inst_name, f.low, f.width, _kind(f), f.get_property("reset")) for f in node.fields())
            access = "r" * node.has_sw_readable + "w" * node.has_sw_writable
            found[node.absolute_address] = Word(node.get_rel_path(top), access, bits)
    return found
