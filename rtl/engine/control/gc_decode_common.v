// SPDX-License-Identifier: Apache-2.0
// What stands in the first two half-words of an instruction, for every opcode; m_signal_read of COMPUTE only. Names and
// places are those of gradcore.isa (doc/instructions.md). Wires only.
`default_nettype none

module gc_decode_common (
    input  wire [1023:0] s_instruction,
    output wire [3:0]    m_opcode,
    output wire [5:0]    m_wait,
    output wire [4:0]    m_signal,
    output wire [4:0]    m_signal_read,
    output wire [10:0]   m_tag
);
    assign m_opcode      = s_instruction[16*0 +: 4];
    assign m_wait        = s_instruction[16*0+4 +: 6];
    assign m_signal      = s_instruction[16*0+10 +: 5];
    assign m_signal_read = s_instruction[16*1 +: 5];
    assign m_tag         = s_instruction[16*1+5 +: 11];

    wire _unused = &{1'b0, s_instruction};
endmodule

`default_nettype wire
