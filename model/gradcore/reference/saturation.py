# SPDX-License-Identifier: Apache-2.0
"""Saturated words counted by layer and kind of tensor, as table rows and warnings."""

WARN_ABOVE = 0.01  # of the words of a kind of tensor in the last epoch
# act: sums of a layer; delta: local gradient at its output; grad: the scaled gradient g of 24 bits; input belongs to
# "layer" input.
KINDS = ("input", "act", "delta", "grad", "momentum", "weight", "bias_grad", "bias_momentum", "bias")


class Saturations:
    """counts: by "layer:kind", kind one of KINDS, a list of clipped words and words in all; as JSON has it."""

    def __init__(self, counts: dict | None = None) -> None:
        self.counts = {place: list(numbers) for place, numbers in (counts or {}).items()}

    def add(self, layer: str, kind: str, clipped: int, words: int) -> None:
        """Count a tensor of `words` words of which `clipped` were saturated."""
        found = self.counts.setdefault(f"{layer}:{kind}", [0, 0])
        found[0] += clipped
        found[1] += words

    def take(self) -> "Saturations":
        """What has been counted since the last `take`; the count starts anew."""
        taken, self.counts = Saturations(self.counts), {}
        return taken

    def plus(self, other: "Saturations") -> "Saturations":
        """The sums of both."""
        result = Saturations(self.counts)
        for place, numbers in other.counts.items():
            result.add(*place.rsplit(":", 1), *numbers)
        return result

    def rows(self) -> list:
        """One dict of layer, kind, clipped, words per kind of tensor; layers in the order in which they were counted
        first."""
        places = [place.rsplit(":", 1) for place in self.counts]
        layers = list(dict.fromkeys(layer for layer, _ in places))
        places.sort(key=lambda place: (layers.index(place[0]), KINDS.index(place[1])))
        return [
            {"layer": layer, "kind": kind, **dict(zip(("clipped", "words"), self.counts[f"{layer}:{kind}"]))}
            for layer, kind in places
        ]


def warnings(rows: list) -> list:
    """A line for every row of `Saturations.rows` with more than WARN_ABOVE of its words clipped."""
    return [
        f"{row['layer']}: {100 * row['clipped'] / row['words']:.1f} % of the words of kind {row['kind']} "
        "were saturated in the last epoch"
        for row in rows
        if row["clipped"] > WARN_ABOVE * row["words"]
    ]
