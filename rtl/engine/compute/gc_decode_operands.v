// SPDX-License-Identifier: Apache-2.0
// The operands of a COMPUTE: rows, columns, taps and weights. Names and places are those of gradcore.isa
// (doc/instructions.md). Wires only.
`default_nettype none

module gc_decode_operands (
    input  wire [1023:0] s_instruction,
    output wire [2:0]    m_row_rot_x,
    output wire [2:0]    m_row_rot_y,
    output wire [2:0]    m_col_rot_x,
    output wire [2:0]    m_col_rot_y,
    output wire [15:0]   m_row_base,
    output wire [15:0]   m_row_stride_y,
    output wire [15:0]   m_row_stride_x,
    output wire [15:0]   m_row_height,
    output wire [15:0]   m_row_width,
    output wire [15:0]   m_col_base,
    output wire [15:0]   m_col_stride_y,
    output wire [15:0]   m_col_stride_x,
    output wire [15:0]   m_col_height,
    output wire [15:0]   m_col_width,
    output wire [7:0]    m_disp_y0,
    output wire [7:0]    m_disp_x0,
    output wire [15:0]   m_wgt_base,
    output wire [15:0]   m_wgt_stride_g,
    output wire [15:0]   m_wgt_stride_ky,
    output wire [15:0]   m_wgt_stride_kx,
    output wire [15:0]   m_wgt_stride_cg,
    output wire [15:0]   m_bias_base,
    output wire [3:0]    m_bias_exp,
    output wire [15:0]   m_row_channels,
    output wire [15:0]   m_col_channels
);
    assign m_row_rot_x     = s_instruction[16*4 +: 3];
    assign m_row_rot_y     = s_instruction[16*4+3 +: 3];
    assign m_col_rot_x     = s_instruction[16*4+6 +: 3];
    assign m_col_rot_y     = s_instruction[16*4+9 +: 3];
    assign m_row_base      = s_instruction[16*6 +: 16];
    assign m_row_stride_y  = s_instruction[16*7 +: 16];
    assign m_row_stride_x  = s_instruction[16*8 +: 16];
    assign m_row_height    = s_instruction[16*9 +: 16];
    assign m_row_width     = s_instruction[16*10 +: 16];
    assign m_col_base      = s_instruction[16*11 +: 16];
    assign m_col_stride_y  = s_instruction[16*12 +: 16];
    assign m_col_stride_x  = s_instruction[16*13 +: 16];
    assign m_col_height    = s_instruction[16*14 +: 16];
    assign m_col_width     = s_instruction[16*15 +: 16];
    assign m_disp_y0       = s_instruction[16*32 +: 8];
    assign m_disp_x0       = s_instruction[16*32+8 +: 8];
    assign m_wgt_base      = s_instruction[16*33 +: 16];
    assign m_wgt_stride_g  = s_instruction[16*34 +: 16];
    assign m_wgt_stride_ky = s_instruction[16*35 +: 16];
    assign m_wgt_stride_kx = s_instruction[16*36 +: 16];
    assign m_wgt_stride_cg = s_instruction[16*37 +: 16];
    assign m_bias_base     = s_instruction[16*38 +: 16];
    assign m_bias_exp      = s_instruction[16*39 +: 4];
    assign m_row_channels  = s_instruction[16*45 +: 16];
    assign m_col_channels  = s_instruction[16*46 +: 16];

    wire _unused = &{1'b0, s_instruction};
endmodule

`default_nettype wire
