# SPDX-License-Identifier: Apache-2.0
"""Saturated words counted by layer and kind of tensor, as table rows and warnings."""

WARN_ABOVE = 0.01     # of the words of a kind of tensor in the last epoch
# act: sums of a layer; delta: local gradient at its output; grad: the scaled gradient g of 24 bits; input belongs to layer "input".
KINDS = ("input", "act", "delta", "grad", "momentum", "weight", "bias_grad", "bias_momentum", "bias")


class Saturations:
    """Clipped words and words in all by (layer's name, kind of KINDS)."""

    def __init__(self):
        self.counts = {}

    def add(self, layer: str, kind: str, clipped: int, words: int) -> None:
        """Count a tensor of `words` words of which `clipped` were saturated."""
        found = self.counts.setdefault((layer, kind), [0, 0])
        found[0] += clipped
        found[1] += words

    def take(self) -> "Saturations":
        """What has been counted since the last `take`; the count starts anew."""
        taken = Saturations()
        taken.counts, self.counts = self.counts, {}
        return taken

    def merge(self, other: "Saturations") -> None:
        """Add the counts of `other`."""
        for (layer, kind), (clipped, words) in other.counts.items():
            self.add(layer, kind, clipped, words)

    def rows(self) -> list:
        """One dict of layer, kind, clipped, words per tensor kind, layers in the order in which they were counted first."""
        layers = list(dict.fromkeys(layer for layer, _ in self.counts))
        order = sorted(self.counts, key=lambda key: (layers.index(key[0]), KINDS.index(key[1])))
        return [{"layer": layer, "kind": kind, "clipped": self.counts[layer, kind][0], "words": self.counts[layer, kind][1]} for layer, kind in order]


def warnings(rows: list) -> list:
    """A line for every row of `Saturations.rows` with more than WARN_ABOVE of its words clipped."""
    return [f"{row['layer']}: {100 * row['clipped'] / row['words']:.1f} % of the {row['kind']} words of the last epoch were saturated"
            for row in rows if row["clipped"] > WARN_ABOVE * row["words"]]
