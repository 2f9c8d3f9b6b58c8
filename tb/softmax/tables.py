# SPDX-License-Identifier: Apache-2.0
"""The tables of the core as Verilog: gradcore.ops.softmax's own, so that no user needs a data file."""

import numpy as np

from gradcore.ops.softmax import COARSE, FINE, LOG2

HEAD = """// SPDX-License-Identifier: Apache-2.0
// Written by ci/vectors. {what}
`default_nettype none

"""


def words(name: str, values: np.ndarray, width: int) -> str:
    """A parameter with word 0 in the lowest bits."""
    digits = -(-width // 4)
    texts = [f"{width}'h{value:0{digits}x}" for value in values[::-1].tolist()]
    each = 110 // (len(texts[0]) + 2)
    lines = [", ".join(texts[k : k + each]) for k in range(0, len(texts), each)]
    return (
        f"    localparam [{width * len(values) - 1}:0] {name} = {{\n        " + ",\n        ".join(lines) + "\n    };\n"
    )


def powers() -> str:
    """gc_softmax_powers.v."""
    return (
        HEAD.format(
            what="2^-x of 17 fraction bits, x in steps of 2^-8 and of 2^-16 below 2^-8, a cycle later:\n"
            "// gradcore.ops.softmax.COARSE and FINE."
        )
        + """module gc_softmax_powers (
    input  wire        clk,
    input  wire [7:0]  s_coarse,
    input  wire [7:0]  s_fine,
    output wire [17:0] m_coarse,
    output wire [17:0] m_fine
);
"""
        + words("COARSE", COARSE, 18)
        + words("FINE", FINE, 18)
        + """
    gc_rom #(.WIDTH(18), .DEPTH(256), .WORDS(COARSE)) u_coarse (.clk(clk), .s_addr(s_coarse), .m_data(m_coarse));
    gc_rom #(.WIDTH(18), .DEPTH(256), .WORDS(FINE)) u_fine (.clk(clk), .s_addr(s_fine), .m_data(m_fine));
endmodule

`default_nettype wire
"""
    )


def log() -> str:
    """gc_softmax_log.v."""
    return (
        HEAD.format(
            what="log2 of 1 to 2 by the 10 bits behind the point, 16 fraction bits, a cycle later:\n"
            "// gradcore.ops.softmax.LOG2."
        )
        + """module gc_softmax_log (
    input  wire        clk,
    input  wire [9:0]  s_rest,
    output wire [15:0] m_log
);
"""
        + words("LOG2", LOG2, 16)
        + """
    gc_rom #(.WIDTH(16), .DEPTH(1024), .WORDS(LOG2)) u_log (.clk(clk), .s_addr(s_rest), .m_data(m_log));
endmodule

`default_nettype wire
"""
    )
