// SPDX-License-Identifier: Apache-2.0
// The buffer side of a LOADW. Names and places are those of gradcore.isa (doc/instructions.md). Wires only.
`default_nettype none

module gc_decode_loadw (
    input  wire [1023:0] s_instruction,
    output wire [15:0]   m_n_outer,
    output wire [15:0]   m_n_inner,
    output wire [15:0]   m_base
);
    assign m_n_outer = s_instruction[16*14 +: 16];
    assign m_n_inner = s_instruction[16*15 +: 16];
    assign m_base    = s_instruction[16*18 +: 16];

    wire _unused = &{1'b0, s_instruction};
endmodule

`default_nettype wire
