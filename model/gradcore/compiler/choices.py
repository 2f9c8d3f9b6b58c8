# SPDX-License-Identifier: Apache-2.0
"""What the compiler is free to choose. gradcore.compiler.search tries values, the estimate decides, the listing prints
them."""

from dataclasses import dataclass, fields

Choice = int | frozenset[int] | tuple[tuple[int, int], ...] | None


@dataclass(frozen=True)
class Choices:
    """One way to compute a network.

    unfolded: rows of the first layer's kernel whose taps are input maps of WU together; 0: none.
    finer: folds by array steps instead of passes: mostly finer ones, whose tiles are larger.
    apart: names of layers whose 2x2 maximum pooling is a stage: VECTOR does it, and BP may be in fold 0.
    flat: the coarsest fold of what poolings by windows stand between, whose tensors have fold 0; None for no limit.
    floors: (stage, fold) pairs, the finest fold allowed; stage 2*l is layer l's sums, 2*l+1 its output.
    strips: layers that are computed in strips of block rows, from DRAM to DRAM.
    low: strips have at most 1/low of a map's block rows: the first one is there sooner.
    spilled: layers whose gates go to DRAM from FP to BP.
    scattered: layers with gates in DRAM where those of each COLS maps of a block begin at a beat.
    resident: every tensor stays in the operand buffers, where that is possible.
    beside: the first layer's WU runs beside the chain before it, or between the strips of WU of the layer before it,
        where that is possible.
    between: layers in strips whose BP comes between the tiles of their WU, which may keep UPDATE from the gradients.
    held: layers in strips that keep operands in both operand buffers: FP in parts those of a block for all output maps,
        fully connected ones in FP and BP those of all images for all tiles of weights.
    halves: layers in strips whose WU takes parts of the weights of which the gradients of two fit.
    early: layers whose WU comes before their BP, so that their UPDATE begins earlier.
    turned: layers in strips whose FP takes image groups in turns with the layer before, if all weights are on chip.
    urgent: layers in strips whose last STORE of BP takes steps from WU, which reads its buffer: VECTORs of the stages
        before come behind it.
    deferred: layers in strips whose WU and UPDATE come, tile by tile, between the strips of BP of the layers before.
    last_row: the last row of the second layer's kernel comes after the first layer in WU and UPDATE.
    """

    unfolded: int = 0
    apart: frozenset[str] = frozenset()
    finer: bool = False
    flat: int | None = None
    floors: tuple[tuple[int, int], ...] = ()
    strips: frozenset[int] = frozenset()
    low: int = 1
    spilled: frozenset[int] = frozenset()
    scattered: frozenset[int] = frozenset()
    resident: bool = True
    beside: bool = True
    between: frozenset[int] = frozenset()
    held: frozenset[int] = frozenset()
    halves: frozenset[int] = frozenset()
    early: frozenset[int] = frozenset()
    turned: frozenset[int] = frozenset()
    urgent: frozenset[int] = frozenset()
    deferred: frozenset[int] = frozenset()
    last_row: bool = False

    def with_floor(self, stage: int, fold: int) -> "Choices":
        """The same with another floor of a stage."""
        floors = dict(self.floors) | {stage: fold}
        return self.but(floors=tuple(sorted(floors.items())))

    def but(self, **changed: Choice) -> "Choices":
        """The same with some values changed."""
        return Choices(**{item.name: getattr(self, item.name) for item in fields(self)} | changed)

    def __str__(self) -> str:
        def text(value: object) -> str:
            return " ".join(map(str, sorted(value))) or "none" if isinstance(value, (tuple, frozenset)) else str(value)

        return ", ".join(f"{item.name} {text(getattr(self, item.name))}" for item in fields(self))
