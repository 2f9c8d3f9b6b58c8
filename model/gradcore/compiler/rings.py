# SPDX-License-Identifier: Apache-2.0
"""Places in buffers whose addresses count modulo the depth: a ring of block rows that are loaded once, and regions that
are handed out one after the other."""

from dataclasses import dataclass

from gradcore.compiler.operation import space
from gradcore.compiler.tuples import Access, Span


def ranges(buffer: int, depth: int, start: int, size: int) -> tuple[Access, ...]:
    """What `size` vectors from address `start` modulo the depth on touch."""
    first = start % depth
    end = first + size
    name = space(buffer)
    if end <= depth:
        return ((name, first, end),)
    return ((name, first, depth), (name, 0, end - depth))


@dataclass
class Ring:
    """Block rows of one tensor in an operand buffer. `at` is where the next row goes, `origin` where row 0 of the image
    group and columns `key` would be; rows first..end-1 of `size` vectors are there; moved: vectors that came so far."""

    buffer: int
    depth: int
    at: int = 0
    key: object = None
    origin: int = 0
    first: int = 0
    end: int = 0
    size: int = 0
    moved: int = 0

    def need(self, key: object, size: int, first: int, end: int, spare: int = 0) -> Span | None:
        """Makes room for rows first..end-1 of `size` vectors each, and `spare` vectors behind them; (first, end) of
        those to load, None if all are there."""
        if key != self.key or not self.first <= first <= self.end:
            self.key, self.origin, self.first, self.end = key, (self.at - first * size) % self.depth, first, first
        if end <= self.end:
            return None
        missing = self.end, end
        self.size, self.moved = size, self.moved + (end - self.end) * size
        self.end = end
        self.first = max(self.first, end - (self.depth - spare) // size)
        self.at = (self.origin + end * size) % self.depth
        return missing

    def forget(self) -> None:
        """Nothing is there any more."""
        self.key = None

    def begin(self, at: int) -> None:
        """Nothing is there any more; the next row goes to address `at`."""
        self.key, self.at = None, at

    @property
    def room(self) -> int:
        """Vectors beside those that are there."""
        return self.depth - (self.end - self.first) * self.size if self.key else self.depth

    def before(self, count: int) -> int:
        """The address `count` vectors before those that are there."""
        return (self.origin + self.first * self.size - count) % self.depth

    def ranges(self, size: int, first: int, end: int, spare: int = 0) -> tuple[Access, ...]:
        """What rows first..end-1 and `spare` vectors behind them touch."""
        return ranges(self.buffer, self.depth, self.origin + first * size, (end - first) * size + spare)


@dataclass
class Region:
    """Addresses first..end-1, handed out in turn."""

    first: int
    end: int
    at: int = -1

    def take(self, size: int, align: int = 1) -> int:
        """Address of the next `size`."""
        at = -(-max(self.at, self.first) // align) * align
        if at + size > self.end:
            at = -(-self.first // align) * align
        self.at = at + size
        return at
