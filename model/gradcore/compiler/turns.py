# SPDX-License-Identifier: Apache-2.0
"""Image groups that take turns in the operand buffers. A fully connected layer reads whole maps: where those of all
image groups fit, in both buffers in turns, they stay while one tile of weights comes after the other."""

from dataclasses import dataclass, replace

from gradcore.compiler.body import Body
from gradcore.compiler.rings import Region, Ring
from gradcore.compiler.stream import Result, Source
from gradcore.compiler.strips import Strips, largest_need
from gradcore.compiler.tuples import Span
from gradcore.isa.fold import ceil_div

PLACES = 2  # for results


@dataclass(frozen=True)
class Turns:
    """What a pass of a layer reads and gives of `images` images at once; `each`: of all the same, or of each turn."""

    images: int
    each: tuple[tuple[Source, dict[str, Result]], ...]

    @property
    def stay(self) -> bool:
        """Do the operands of all images stay?"""
        return len(self.each) > 1

    @property
    def text(self) -> str:
        """For the listing."""
        return ", operands in both operand buffers" * self.stay

    def of(self, image: int) -> tuple[Source, dict[str, Result]]:
        """What reads and gives the images from `image` on."""
        return self.each[image // self.images % len(self.each)]

    def forget(self) -> None:
        """Others have used the operand buffers."""
        for source, _ in self.each:
            source.ring.forget()


def take_turns(
    body: Body, index: int, source: Source, results: dict[str, Result], maps: Span, tiles: list[Span], plan: Strips
) -> Turns:
    """The turns of a pass of layer `index` that reads `maps` of `source`, for tiles of weights of the maps `tiles` in
    strips as `plan` says. Operands stay where `Choices.held` wants it and they fit, with `PLACES` for results."""
    setting, depth, dest = body.setting, body.setting.config.act_depth, results["dest"]
    images = max(source.images, *(one.images for one in results.values()))
    groups, p, layout = ceil_div(setting.images, images), setting.layers[index], source.tensor.layout
    once = Turns(images, ((source, results),))
    if index not in setting.choices.held or groups < 2 or p.conv_shape[1:] != (1, 1) or source.tensor.upsample:
        return once
    first, end = source.channels(maps)
    size = layout.rows * layout.columns * (end - first) * ceil_div(images, layout.group_images)
    taken = [ceil_div(groups - buffer, 2) * size for buffer in (0, 1)]
    room = PLACES * max(largest_need(plan, demand, False) for tile in tiles for demand in dest.demands(tile))
    if max(taken) + room > depth:
        return once
    own = [results | {"dest": replace(dest, buffer=1 - b, region=Region(taken[1 - b], depth))} for b in (0, 1)]
    each = ((replace(source, ring=Ring(k % 2, depth), home=k // 2 * size), own[k % 2]) for k in range(groups))
    return Turns(images, tuple(each))
