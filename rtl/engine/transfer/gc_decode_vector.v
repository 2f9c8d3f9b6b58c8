// SPDX-License-Identifier: Apache-2.0
// A VECTOR. Names and places are those of gradcore.isa (doc/instructions.md). Wires only.
`default_nettype none

module gc_decode_vector (
    input  wire [1023:0] s_instruction,
    output wire [2:0]    m_operation,
    output wire          m_transpose,
    output wire          m_relu,
    output wire [1:0]    m_rounding,
    output wire          m_gradient,
    output wire [1:0]    m_base_sel,
    output wire [1:0]    m_base_sel_b,
    output wire [1:0]    m_base_sel_out,
    output wire [47:0]   m_addr,
    output wire [47:0]   m_addr_b,
    output wire [47:0]   m_addr_out,
    output wire [31:0]   m_stride_y,
    output wire [31:0]   m_stride_x,
    output wire [31:0]   m_advance_y,
    output wire [31:0]   m_advance_x,
    output wire [15:0]   m_n_beats,
    output wire [15:0]   m_n_y,
    output wire [15:0]   m_n_x,
    output wire [7:0]    m_n_ky,
    output wire [7:0]    m_n_kx,
    output wire [7:0]    m_step_y,
    output wire [7:0]    m_step_x,
    output wire [15:0]   m_first_y,
    output wire [15:0]   m_first_x,
    output wire [7:0]    m_phase_y,
    output wire [7:0]    m_phase_x,
    output wire [15:0]   m_height,
    output wire [15:0]   m_width,
    output wire [15:0]   m_multiplier,
    output wire [5:0]    m_shift,
    output wire [4:0]    m_shift_a,
    output wire [4:0]    m_shift_b,
    output wire [31:0]   m_index_behind,
    output wire [15:0]   m_rnd_tag,
    output wire [15:0]   m_n_base,
    output wire [1:0]    m_fold,
    output wire [15:0]   m_keep_threshold,
    output wire [15:0]   m_keep_tag
);
    assign m_operation    = s_instruction[16*2 +: 3];
    assign m_transpose    = s_instruction[16*2+3];
    assign m_relu         = s_instruction[16*2+4];
    assign m_rounding     = s_instruction[16*2+5 +: 2];
    assign m_gradient     = s_instruction[16*2+7];
    assign m_base_sel     = s_instruction[16*2+8 +: 2];
    assign m_base_sel_b   = s_instruction[16*2+10 +: 2];
    assign m_base_sel_out = s_instruction[16*2+12 +: 2];
    assign m_addr         = s_instruction[16*3 +: 48];
    assign m_addr_b       = s_instruction[16*6 +: 48];
    assign m_addr_out     = s_instruction[16*9 +: 48];
    assign m_stride_y     = s_instruction[16*12 +: 32];
    assign m_stride_x     = s_instruction[16*14 +: 32];
    assign m_advance_y    = s_instruction[16*16 +: 32];
    assign m_advance_x    = s_instruction[16*18 +: 32];
    assign m_n_beats      = s_instruction[16*20 +: 16];
    assign m_n_y          = s_instruction[16*21 +: 16];
    assign m_n_x          = s_instruction[16*22 +: 16];
    assign m_n_ky         = s_instruction[16*23 +: 8];
    assign m_n_kx         = s_instruction[16*23+8 +: 8];
    assign m_step_y       = s_instruction[16*24 +: 8];
    assign m_step_x       = s_instruction[16*24+8 +: 8];
    assign m_first_y      = s_instruction[16*25 +: 16];
    assign m_first_x      = s_instruction[16*26 +: 16];
    assign m_phase_y      = s_instruction[16*27 +: 8];
    assign m_phase_x      = s_instruction[16*27+8 +: 8];
    assign m_height       = s_instruction[16*28 +: 16];
    assign m_width        = s_instruction[16*29 +: 16];
    assign m_multiplier   = s_instruction[16*30 +: 16];
    assign m_shift        = s_instruction[16*31 +: 6];
    assign m_shift_a      = s_instruction[16*31+6 +: 5];
    assign m_shift_b      = s_instruction[16*31+11 +: 5];
    assign m_index_behind = s_instruction[16*32 +: 32];
    assign m_rnd_tag      = s_instruction[16*36 +: 16];
    assign m_n_base       = s_instruction[16*37 +: 16];
    assign m_fold         = s_instruction[16*38 +: 2];
    assign m_keep_threshold = s_instruction[16*39 +: 16];
    assign m_keep_tag       = s_instruction[16*40 +: 16];

    wire _unused = &{1'b0, s_instruction};
endmodule

`default_nettype wire
