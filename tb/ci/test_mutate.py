# SPDX-License-Identifier: Apache-2.0
"""The mutants of ci/mutate: one edit each, in behaviour only, repeatable."""

import difflib

import pytest

from gradcore.files.places import ROOT
from gradcore.sim.sources import core_names
from tb.ci.scripts import script

SOURCE = """// a + b && c
module m #(parameter W = 8 + 1) (input wire clk, input wire [W-1:0] a, output reg [W-1:0] y);
    localparam SIZE = W + 1;
    wire [SIZE-1:0] s = {{(SIZE-W){1'b0}}, a} + {SIZE{1'b1}};
    always @(posedge clk) begin
        if (a < 3) y <= a; else y <= a == 4 ? s[W-1:0] : ~a;
        if (&a) y <= 2'd3;
    end
    wire _unused = &{1'b0, s};
endmodule
"""


def after(source):
    mutate = script("mutate")
    return {kind: source[:p] + new + source[p + n :] for p, n, new, kind in mutate.edits(source)}, mutate.edits(source)


@pytest.mark.parametrize(
    "kind, text",
    [
        ("+ to -", "{{(SIZE-W){1'b0}}, a} - {SIZE{1'b1}};"),
        ("< to <=", "if (a <= 3) y <= a;"),
        ("== to !=", "a != 4 ?"),
        ("swap the choices", "? ~a : s[W-1:0];"),
        ("unary ~ to nothing", ": a;"),
        ("unary & to |", "if (|a)"),
    ],
)
def test_edit(kind, text):
    assert text in after(SOURCE)[0][kind]


def test_branches_assignments_and_constants():
    edits = after(SOURCE)[1]
    mutated = [SOURCE[:p] + new + SOURCE[p + n :] for p, n, new, _ in edits]
    assert any("if (!(a < 3))" in m for m in mutated)
    assert any("if (a < 3) ; else" in m for m in mutated) and any("else ;" in m for m in mutated)
    assert (
        any("if (&a) ;" in m for m in mutated)
        and any("2'd0" in m for m in mutated)
        and any("a == 5" in m for m in mutated)
    )


def test_leaves_ports_sizes_and_comments_alone():
    hidden = [
        line for line in SOURCE.splitlines() if line.startswith(("//", "module", "    localparam", "    wire _unused"))
    ]
    for mutated in after(SOURCE)[0].values():
        assert all(line in mutated for line in hidden)
        assert "(SIZE-W)" in mutated and "[SIZE-1:0]" in mutated


@pytest.mark.parametrize("ip", core_names())
def test_every_ip_has_at_least_five_and_they_are_repeatable(ip):
    mutate = script("mutate")
    first, again, other = (mutate.draw(ip, seed) for seed in (1, 1, 2))
    assert first == again and len(first) >= 5
    assert sorted(m.text for m in first) == sorted(m.text for m in other) and first != other
    for mutant in first[:20]:
        original = (ROOT / mutant.file).read_text()
        assert mutant.text != original
        blocks = [
            b
            for b in difflib.SequenceMatcher(
                None, original.splitlines(), mutant.text.splitlines(), autojunk=False
            ).get_opcodes()
            if b[0] != "equal"
        ]
        assert len(blocks) <= 2, mutant
