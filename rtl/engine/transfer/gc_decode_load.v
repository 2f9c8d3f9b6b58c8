// SPDX-License-Identifier: Apache-2.0
// The buffer side of a LOAD. Names and places are those of gradcore.isa (doc/instructions.md). Wires only.
`default_nettype none

module gc_decode_load (
    input  wire [1023:0] s_instruction,
    output wire [1:0]    m_buffer,
    output wire          m_upsample,
    output wire          m_scale,
    output wire          m_derive,
    output wire          m_packed,
    output wire [1:0]    m_fold,
    output wire [1:0]    m_pool_bit,
    output wire [15:0]   m_n_b,
    output wire [15:0]   m_n_y,
    output wire [15:0]   m_n_x,
    output wire [15:0]   m_n_c,
    output wire [15:0]   m_base,
    output wire [15:0]   m_stride_b,
    output wire [15:0]   m_stride_y,
    output wire [15:0]   m_stride_x,
    output wire [15:0]   m_stride_qy,
    output wire [15:0]   m_stride_qx,
    output wire [2:0]    m_rot_y,
    output wire [2:0]    m_rot_x,
    output wire [19:0]   m_gate_base,
    output wire          m_softmax,
    output wire [6:0]    m_n_valid,
    output wire [5:0]    m_u_shift,
    output wire [4:0]    m_loss_shift,
    output wire [15:0]   m_classes
);
    assign m_buffer    = s_instruction[16*2 +: 2];
    assign m_upsample  = s_instruction[16*2+2];
    assign m_scale     = s_instruction[16*2+3];
    assign m_derive    = s_instruction[16*2+11];
    assign m_packed    = s_instruction[16*2+12];
    assign m_fold      = s_instruction[16*2+4 +: 2];
    assign m_pool_bit  = s_instruction[16*2+6 +: 2];
    assign m_n_b       = s_instruction[16*14 +: 16];
    assign m_n_y       = s_instruction[16*15 +: 16];
    assign m_n_x       = s_instruction[16*16 +: 16];
    assign m_n_c       = s_instruction[16*17 +: 16];
    assign m_base      = s_instruction[16*18 +: 16];
    assign m_stride_b  = s_instruction[16*19 +: 16];
    assign m_stride_y  = s_instruction[16*20 +: 16];
    assign m_stride_x  = s_instruction[16*21 +: 16];
    assign m_stride_qy = s_instruction[16*22 +: 16];
    assign m_stride_qx = s_instruction[16*23 +: 16];
    assign m_rot_y     = s_instruction[16*29 +: 3];
    assign m_rot_x     = s_instruction[16*29+3 +: 3];
    assign m_gate_base = s_instruction[16*27 +: 20];
    assign m_softmax    = s_instruction[16*2+13];
    assign m_n_valid    = s_instruction[16*24 +: 7];
    assign m_u_shift    = s_instruction[16*30 +: 6];
    assign m_loss_shift = s_instruction[16*30+6 +: 5];
    assign m_classes    = s_instruction[16*31 +: 16];

    wire _unused = &{1'b0, s_instruction};
endmodule

`default_nettype wire
