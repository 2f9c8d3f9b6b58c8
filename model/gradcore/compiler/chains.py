# SPDX-License-Identifier: Apache-2.0
"""Chains: layers that run group by group of images, one behind the other. What a layer of a chain leaves in an operand
buffer is read there by the next."""

from collections.abc import Callable, Iterable

from gradcore.compiler.operation import Rows
from gradcore.compiler.rows import apart
from gradcore.compiler.setting import Setting
from gradcore.compiler.slots import Wanted, fits

Chain = list[int]  # numbers of layers


def forward_chains(setting: Setting, weight_rows: list[Rows], train: bool) -> list[Chain]:
    """The layers of the forward pass in chains. A layer can wait for several groups of the layer before it, which never
    has more images in a group. Of layers in strips those that take turns are a chain, if all have rows of weights."""
    chains: list[Chain] = []
    for chain in _chains(
        setting,
        range(len(setting.layers)),
        lambda before, index: True,
        lambda chain: forward_tiles(setting, chain, train),
        [weight_rows],
    ):
        longer = [*chains[-1], *chain] if chains else []
        alike = setting.choices.strips.issuperset(longer) and all(weight_rows[k] for k in longer)
        if longer and alike and chain[0] in setting.choices.turned:
            chains[-1] = longer
        else:
            chains.append(chain)
    return chains


def backward_chains(
    setting: Setting, weight_rows: list[Rows], grad_rows: list[Rows], start: int
) -> tuple[list[Chain], Chain]:
    """(chains, the chain that runs beside the last of them or []). `start`: operand buffer of the last layer's
    input."""

    def tiles(chain: Chain) -> list[Wanted]:
        return backward_tiles(setting, chain, start)

    def follows(before: int, index: int) -> bool:
        # Up-sampling is done by LOAD, so a pooled layer starts a chain.
        one, other = setting.folds(before), setting.folds(index)
        return not setting.layers[index].pool and one.fp == one.bp == other.fp

    first = setting.first
    # Beside trained ones there can be layers that need no local gradient; what stands behind them may.
    order = [k for k in range(setting.last, first - 1, -1) if setting.memory.delta[k] or setting.memory.stages[k]]
    chains = _chains(setting, order, follows, tiles, [weight_rows, grad_rows])
    # The first trained layer has no BP and would wait for its operands alone.
    alone = setting.choices.beside and len(chains) > 1 and chains[-1] == [first]
    alone = alone and not setting.choices.strips & {first, *chains[-2]}
    # UPDATE comes behind WU of both.
    alone = alone and apart([grad_rows[k] for k in (*chains[-2], first)])
    # Once is enough for its tiles: a whole chain's group runs while the next ones come.
    once = [(buffer, size, 1) for buffer, size, _ in tiles([first])] if alone else []
    if alone and fits(setting.config.act_depth, tiles(chains[-2]) + once):
        return chains[:-1], chains[-1]
    return chains, []


def _chains(
    setting: Setting,
    order: Iterable[int],
    follows: Callable[[int, int], bool],
    tiles: Callable[[Chain], list[Wanted]],
    places: list[list[Rows]],
) -> list[Chain]:
    """The layers of `order` in chains: as long as `follows` allows, the tiles of all fit at once and no two layers'
    rows, in any of `places`, overlap."""
    chains: list[Chain] = []
    for index in order:
        longer = [*chains[-1], index] if chains else []
        if (
            longer
            and not setting.choices.strips & {*longer}
            and follows(longer[-2], index)
            and fits(setting.config.act_depth, tiles(longer))
            and all(apart([rows[k] for k in longer]) for rows in places)
        ):
            chains[-1] = longer
        else:
            chains.append([index])
    return chains


def forward_tiles(setting: Setting, chain: Chain, train: bool) -> list[Wanted]:
    """(buffer, vectors, groups) of the tiles of a forward chain: its input, then every layer's output, in turns."""
    tensors = [setting.input(chain[0]), *(setting.output(index, train) for index in chain)]
    return [(k % 2, tensor.tile.size, tensor.layout.groups) for k, tensor in enumerate(tensors)]


def backward_tiles(setting: Setting, chain: Chain, start: int) -> list[Wanted]:
    """(buffer, vectors, groups) of the tiles of a backward chain: the delta, then every layer's input and its error, in
    turns. The first input is in buffer `start`. Without WU no input is read, without BP there is no error."""
    memory = setting.memory
    delta = setting.delta(chain[0])
    wanted = [(1 - start, delta.tile.size, delta.layout.groups)]
    for k, index in enumerate(chain, start):
        # The error's tile has the shape of the stored tensor; up-sampling comes later.
        act = memory.act[index] if setting.layers[index].trainable else None
        error = setting.error(index).layout if setting.has_errors(index) else None
        wanted += [
            (k % 2, act.tile.size, act.layout.groups) if act else (k % 2, 0, 1),
            (k % 2, error.group_vectors, error.groups) if error else (k % 2, 0, 1),
        ]
    return wanted
