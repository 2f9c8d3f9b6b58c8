// SPDX-License-Identifier: Apache-2.0
// The DRAM side of a LOAD, LOADW or STORE. Names and places are those of gradcore.isa (doc/instructions.md). Wires
// only.
`default_nettype none

module gc_decode_dram (
    input  wire [1023:0] s_instruction,
    output wire [1:0]    m_base_sel,
    output wire [47:0]   m_addr,
    output wire [31:0]   m_run_beats,
    output wire [15:0]   m_n1,
    output wire [31:0]   m_stride1,
    output wire [15:0]   m_n2,
    output wire [31:0]   m_stride2,
    output wire [31:0]   m_n_words
);
    assign m_base_sel  = s_instruction[16*2+8 +: 2];
    assign m_addr      = s_instruction[16*3 +: 48];
    assign m_run_beats = s_instruction[16*6 +: 32];
    assign m_n1        = s_instruction[16*8 +: 16];
    assign m_stride1   = s_instruction[16*9 +: 32];
    assign m_n2        = s_instruction[16*11 +: 16];
    assign m_stride2   = s_instruction[16*12 +: 32];
    assign m_n_words   = s_instruction[16*25 +: 32];

    wire _unused = &{1'b0, s_instruction};
endmodule

`default_nettype wire
