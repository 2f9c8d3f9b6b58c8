# SPDX-License-Identifier: Apache-2.0
"""The record in which an access travels (doc/architecture.md, "Access records")."""

FIELDS = {
    "addr": 20,
    "y0": 12,
    "x0": 12,
    "dy": 8,
    "dx": 8,
    "chan": 16,
    "stride_y": 16,
    "stride_x": 16,
    "fold_a": 2,
    "fold_s": 2,
    "rot_y": 3,
    "rot_x": 3,
    "height": 12,
    "width": 12,
}
ACCESS_W = sum(FIELDS.values())


def record(**fields) -> int:
    """The record with these fields; the others are zero."""
    word, low = 0, 0
    for name, bits in FIELDS.items():
        word |= (fields.pop(name, 0) & (1 << bits) - 1) << low
        low += bits
    assert not fields, fields
    return word


def fields(word: int) -> dict:
    """All fields of a record."""
    found, low = {}, 0
    for name, bits in FIELDS.items():
        found[name] = word >> low & (1 << bits) - 1
        low += bits
    return found


def natural(addr: int, y0: int, x0: int, chan: int, fold: int, **more: int) -> int:
    """A whole vector in its storage fold; `more`: rotations, extent of the map if it has one."""
    more = {"height": 4095, "width": 4095} | more
    return record(addr=addr, y0=y0, x0=x0, chan=chan, fold_a=fold, fold_s=fold, **more)
