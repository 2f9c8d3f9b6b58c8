# SPDX-License-Identifier: Apache-2.0
"""The C header of an elaborated register map: freestanding C99 and C++, macros and three inline functions.

Names follow from the map's (doc/registers.md, "In C"). Needs systemrdl-compiler.
"""

import textwrap

from systemrdl.node import AddressableNode, AddrmapNode, FieldNode, RegNode

COUNTERS = "COUNTERS"  # the group whose pairs of words are counters
PREFACE = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* Written by `python -m gradcore regs` from {source}, ADDR_W {addr_w}. Offsets are in bytes; masks are in place. Of
   a value of 64 bits the low word is at its offset, the high word 4 bytes behind it. */
#ifndef {guard}
#define {guard}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif
"""
FUNCTIONS = """\
/* How a register is reached: regs points to the first of the mapped, uncached registers. Define both before this file
   is included where it goes another way; regs is then handed to them as it is. */
#ifndef GC_READ32
#define GC_READ32(regs, offset) (((const volatile uint32_t *)(regs))[(offset) / 4u])
#endif
#ifndef GC_WRITE32
#define GC_WRITE32(regs, offset, value) (((volatile uint32_t *)(regs))[(offset) / 4u] = (value))
#endif

/* A value of 64 bits, its low word read first. */
static inline uint64_t gc_read64(volatile void *regs, uint32_t offset)
{
    uint32_t low = GC_READ32(regs, offset);
    uint32_t high = GC_READ32(regs, offset + 4u);
    (void)regs;
    return (uint64_t)high << 32 | low;
}

static inline void gc_write64(volatile void *regs, uint32_t offset, uint64_t value)
{
    (void)regs;
    GC_WRITE32(regs, offset, (uint32_t)value);
    GC_WRITE32(regs, offset + 4u, (uint32_t)(value >> 32));
}

/* A counter, GC_COUNTER_.., right also while it counts: reading the low word keeps the high word of the same moment.
   One is kept for all counters, so only one thread may read them at a time. */
static inline uint64_t gc_counter(volatile void *regs, uint32_t counter)
{
    return gc_read64(regs, counter);
}

#ifdef __cplusplus
}
#endif

#endif
"""


class _Macros:
    """Lines of the header; a name is defined once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: set[str] = set()

    def define(self, name: str, value: str, comment: str | None = "") -> None:
        key = name.partition("(")[0]
        if key in self.names:
            raise ValueError(f"{key}: two entries of the register map have this name in C")
        self.names.add(key)
        line, remark = f"#define {name:<40} {value}", f"/* {_plain(comment)} */" * bool(comment)
        short = len(line) + 1 + len(remark) <= 120
        self.lines += [f"{line} {remark}".rstrip()] if short else [remark, line]

    def remark(self, text: str) -> None:
        self.lines += ["", *textwrap.wrap(f"/* {_plain(text)} */", 120, subsequent_indent="   ")]


def _plain(text: str | None) -> str:
    return " ".join((text or "").split()).replace("*/", "* /")


def c_header(top: AddrmapNode, source: str) -> str:
    """Text of the header of the map `top`; `source` is the name of its file.

    Raises ValueError for what the names have no form for: an array inside an array or a group, two entries of one name.
    """
    out = _Macros()
    for group in top.children(unroll=False):
        assert isinstance(group, AddressableNode)
        if group.inst_name == COUNTERS:
            _counters(out, group)
        else:
            _group(out, group)
    width = top.inst.parameters_dict["ADDR_W"].get_value()
    preface = PREFACE.format(source=source, addr_w=width, guard=f"{top.inst_name.upper()}_H")
    return preface + "\n".join(out.lines) + "\n\n" + FUNCTIONS


def _registers(group: AddressableNode) -> list[tuple[str, RegNode]]:
    """(name in C, register) of a group, by offset. Parts of a name are joined, that of a low word is left out."""
    found = []
    for node in [group] if isinstance(group, RegNode) else group.descendants(unroll=False):
        if node is not group and getattr(node, "is_array", False):
            raise ValueError(f"{node.get_path()}: the C header has no form for an array inside a group")
        if isinstance(node, RegNode):
            parts = [group.inst_name] + ([] if node is group else node.get_rel_path(group).split("."))
            found.append(("_".join(part for part in parts if part != "low").upper(), node))
    return found


def _group(out: _Macros, group: AddressableNode) -> None:
    registers, name = _registers(group), group.inst_name
    access = "r" * any(r.has_sw_readable for _, r in registers) + "w" * any(r.has_sw_writable for _, r in registers)
    out.remark(f"{name}, {access}. {group.get_property('desc')}")
    if group.is_array:
        dimensions = group.array_dimensions or []
        if len(dimensions) > 1:
            raise ValueError(f"{name}: the C header has no form for an array of arrays")
        out.define(f"GC_{name}_COUNT", f"{dimensions[0]}u")
        out.define(f"GC_{name}_STRIDE", f"{group.array_stride:#x}u")
    for word, register in registers:
        offset = f"0x{register.raw_absolute_address:03x}u"
        if group.is_array:
            out.define(f"GC_REG_{word}(n)", f"({offset} + GC_{name}_STRIDE * (n))")
        else:
            out.define(f"GC_REG_{word}", offset)
    for word, register in registers:
        for field in register.fields():
            _field(out, f"GC_{word}" if field.inst_name == "value" else f"GC_{word}_{field.inst_name.upper()}", field)


def _field(out: _Macros, name: str, field: FieldNode) -> None:
    mask, text = f"{(1 << field.width) - 1 << field.low:#x}u", field.get_property("desc")
    if field.width == 1:
        out.define(name, mask, text)
    elif field.width < 32:
        out.define(f"{name}_MASK", mask, text)
        out.define(f"{name}_SHIFT", f"{field.low}")
    if reset := field.get_property("reset"):
        out.define(f"{name}_RESET", f"{reset:#x}u", "" if field.width < 32 else text)
    for member in field.get_property("encode") or ():
        out.define(f"{name}_{member.name.upper()}", f"{member.value}u", member.rdl_name)


def _counters(out: _Macros, group: AddressableNode) -> None:
    out.remark(f"{group.inst_name}, r, for gc_counter. {group.get_property('desc')}")
    for node in group.descendants(unroll=False):
        if isinstance(node, RegNode) and node.inst_name == "low":
            name = node.parent.get_rel_path(group).replace(".", "_").upper()
            out.define(f"GC_COUNTER_{name}", f"0x{node.raw_absolute_address:03x}u")
