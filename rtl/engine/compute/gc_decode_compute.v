// SPDX-License-Identifier: Apache-2.0
// What a COMPUTE does: its choices, folds and loop counts. Its operands: gc_decode_operands. What becomes of the sums:
// gc_decode_results. Names and places are those of gradcore.isa (doc/instructions.md). Wires only.
`default_nettype none

module gc_decode_compute (
    input  wire [1023:0] s_instruction,
    output wire [1:0]    m_mode,
    output wire          m_row_buf,
    output wire          m_dst_buf,
    output wire          m_bias,
    output wire          m_relu,
    output wire          m_pool,
    output wire          m_gate_write,
    output wire          m_scale,
    output wire [1:0]    m_loss,
    output wire          m_grad_first,
    output wire [1:0]    m_rounding,
    output wire          m_split,
    output wire          m_keep_in,
    output wire          m_keep_out,
    output wire [1:0]    m_factor,
    output wire [1:0]    m_fold,
    output wire [1:0]    m_row_fold,
    output wire [1:0]    m_col_fold,
    output wire [1:0]    m_dst_fold,
    output wire [1:0]    m_gate_fold,
    output wire [5:0]    m_shift,
    output wire [15:0]   m_n_g,
    output wire [15:0]   m_n_rg,
    output wire [15:0]   m_n_by,
    output wire [15:0]   m_n_bx,
    output wire [15:0]   m_n_ky,
    output wire [15:0]   m_n_kx,
    output wire [15:0]   m_n_c,
    output wire [15:0]   m_n_last,
    output wire [11:0]   m_by0,
    output wire [11:0]   m_bx0,
    output wire [11:0]   m_in_by0,
    output wire [11:0]   m_in_bx0,
    output wire [3:0]    m_skip_y,
    output wire [3:0]    m_skip_x
);
    assign m_mode       = s_instruction[16*2 +: 2];
    assign m_row_buf    = s_instruction[16*2+2];
    assign m_dst_buf    = s_instruction[16*2+3];
    assign m_bias       = s_instruction[16*2+4];
    assign m_relu       = s_instruction[16*2+5];
    assign m_pool       = s_instruction[16*2+6];
    assign m_gate_write = s_instruction[16*2+7];
    assign m_scale      = s_instruction[16*2+8];
    assign m_loss       = s_instruction[16*2+9 +: 2];
    assign m_grad_first = s_instruction[16*2+11];
    assign m_rounding   = s_instruction[16*2+12 +: 2];
    assign m_split      = s_instruction[16*2+14];
    assign m_keep_in    = s_instruction[16*4+12];
    assign m_keep_out   = s_instruction[16*4+13];
    assign m_factor     = s_instruction[16*39+4 +: 2];
    assign m_fold       = s_instruction[16*3 +: 2];
    assign m_row_fold   = s_instruction[16*3+2 +: 2];
    assign m_col_fold   = s_instruction[16*3+4 +: 2];
    assign m_dst_fold   = s_instruction[16*3+6 +: 2];
    assign m_gate_fold  = s_instruction[16*3+8 +: 2];
    assign m_shift      = s_instruction[16*3+10 +: 6];
    assign m_n_g        = s_instruction[16*24 +: 16];
    assign m_n_rg       = s_instruction[16*25 +: 16];
    assign m_n_by       = s_instruction[16*26 +: 16];
    assign m_n_bx       = s_instruction[16*27 +: 16];
    assign m_n_ky       = s_instruction[16*28 +: 16];
    assign m_n_kx       = s_instruction[16*29 +: 16];
    assign m_n_c        = s_instruction[16*30 +: 16];
    assign m_n_last     = s_instruction[16*31 +: 16];
    assign m_by0        = s_instruction[16*57 +: 12];
    assign m_bx0        = s_instruction[16*58 +: 12];
    assign m_in_by0     = s_instruction[16*56+4 +: 12];
    assign m_in_bx0     = s_instruction[16*49 +: 12];
    assign m_skip_y     = s_instruction[16*57+12 +: 4];
    assign m_skip_x     = s_instruction[16*58+12 +: 4];

    wire _unused = &{1'b0, s_instruction};
endmodule

`default_nettype wire
