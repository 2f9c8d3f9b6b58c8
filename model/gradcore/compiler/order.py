# SPDX-License-Identifier: Apache-2.0
"""The operations of a program in order: the forward pass, then the backward pass, then by expected start.

Nothing here is about safety: any order whose program text is right in itself gets its tokens from
gradcore.compiler.tokens.
"""

from gradcore.compiler.backward import backward_chain
from gradcore.compiler.body import Body
from gradcore.compiler.chains import backward_chains, forward_chains
from gradcore.compiler.estimate import timeline
from gradcore.compiler.forward import forward_chain
from gradcore.compiler.operation import Op
from gradcore.compiler.rows import place_rows
from gradcore.compiler.setting import Setting
from gradcore.compiler.slots import resident_slots
from gradcore.compiler.stream_backward import backward_strips
from gradcore.compiler.stream_forward import forward_strips
from gradcore.compiler.tokens import dependencies
from gradcore.compiler.vectors import late_indices


def operations(setting: Setting, train: bool, most: int) -> tuple[list[Op], list[str]]:
    """(operations in an order of their own, notes for the listing) of one program. `train`: the whole iteration, else
    the forward pass alone. Raises CompileError, also where there are `most` or more."""
    config = setting.config
    body = Body(
        setting,
        train,
        place_rows(setting, "weight", config.wgt_depth),
        place_rows(setting, "gradient", config.grad_depth) if train else [],
        resident_slots(setting) if train and setting.choices.resident and not setting.choices.strips else {},
        most,
    )
    strips = setting.choices.strips
    for chain in forward_chains(setting, body.weight_rows, train):
        if strips & {*chain}:
            forward_strips(body, chain)
            body.forget()
        else:
            forward_chain(body, chain)
        body.check_number()
    late_indices(body)
    if train:
        start = body.newest[0].buffer if body.newest else 0
        chains, beside = backward_chains(setting, body.weight_rows, body.grad_rows, start)
        for chain in chains:
            if strips & {*chain}:
                joint = setting.choices.beside and chains[-2:] == [chain, [setting.first]] and setting.first in strips
                done = backward_strips(body, chain[0], setting.first if joint else None)
                body.forget()
                if done:
                    break
            else:
                backward_chain(body, chain, beside if chain is chains[-1] else [], start)
            body.check_number()
        while body.deferred.steps:
            body.deferred.next(body.ops)
    return body.ops, body.notes


def in_order_of_start(ops: list[Op]) -> tuple[list[Op], list[dict[int, int]], list[tuple[int, int]]]:
    """The operations by expected start, with their `dependencies` and their `timeline`: an instruction is fetched about
    when its engine has use for it. Each engine's order stays, but a STORE goes before VECTORs that it need not wait
    for: the array soon needs the room of what it stores."""
    spans = timeline(ops, dependencies(ops, apart=True), apart=True)
    order = sorted(range(len(ops)), key=lambda k: (spans[k][0], k))
    # Operations that need each other keep their order.
    moved = [ops[k] for k in order]
    return moved, dependencies(moved), [spans[k] for k in order]
