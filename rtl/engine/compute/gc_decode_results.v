// SPDX-License-Identifier: Apache-2.0
// What becomes of the sums of a COMPUTE: destination, gate, gradient rows, loss and numbers of the images. Names and
// places are those of gradcore.isa (doc/instructions.md). Wires only.
`default_nettype none

module gc_decode_results (
    input  wire [1023:0] s_instruction,
    output wire [2:0]    m_dst_rot_x,
    output wire [2:0]    m_dst_rot_y,
    output wire [2:0]    m_gate_rot_x,
    output wire [2:0]    m_gate_rot_y,
    output wire [15:0]   m_dst_base,
    output wire [15:0]   m_dst_stride_y,
    output wire [15:0]   m_dst_stride_x,
    output wire [15:0]   m_dst_height,
    output wire [15:0]   m_dst_width,
    output wire [15:0]   m_map0,
    output wire [15:0]   m_gate_stride_y,
    output wire [15:0]   m_gate_stride_x,
    output wire [15:0]   m_grad_base,
    output wire [15:0]   m_grad_stride_rg,
    output wire [15:0]   m_grad_stride_ky,
    output wire [15:0]   m_grad_stride_kx,
    output wire [15:0]   m_grad_bias_base,
    output wire [15:0]   m_t_pos,
    output wire [15:0]   m_t_neg,
    output wire [4:0]    m_loss_shift,
    output wire [15:0]   m_n_valid,
    output wire [15:0]   m_rnd_tag,
    output wire [15:0]   m_n_base,
    output wire [15:0]   m_height,
    output wire [15:0]   m_width,
    output wire [19:0]   m_gate_base,
    output wire [4:0]    m_factor_shift,
    output wire [15:0]   m_factor_0,
    output wire [15:0]   m_factor_1,
    output wire [15:0]   m_keep_threshold,
    output wire [15:0]   m_factor_tag,
    output wire [15:0]   m_keep_tag
);
    assign m_dst_rot_x      = s_instruction[16*5 +: 3];
    assign m_dst_rot_y      = s_instruction[16*5+3 +: 3];
    assign m_gate_rot_x     = s_instruction[16*5+6 +: 3];
    assign m_gate_rot_y     = s_instruction[16*5+9 +: 3];
    assign m_dst_base       = s_instruction[16*16 +: 16];
    assign m_dst_stride_y   = s_instruction[16*17 +: 16];
    assign m_dst_stride_x   = s_instruction[16*18 +: 16];
    assign m_dst_height     = s_instruction[16*19 +: 16];
    assign m_dst_width      = s_instruction[16*20 +: 16];
    assign m_map0           = s_instruction[16*21 +: 16];
    assign m_gate_stride_y  = s_instruction[16*22 +: 16];
    assign m_gate_stride_x  = s_instruction[16*23 +: 16];
    assign m_grad_base      = s_instruction[16*40 +: 16];
    assign m_grad_stride_rg = s_instruction[16*41 +: 16];
    assign m_grad_stride_ky = s_instruction[16*42 +: 16];
    assign m_grad_stride_kx = s_instruction[16*43 +: 16];
    assign m_grad_bias_base = s_instruction[16*44 +: 16];
    assign m_t_pos          = s_instruction[16*47 +: 16];
    assign m_t_neg          = s_instruction[16*48 +: 16];
    assign m_loss_shift     = s_instruction[16*39+11 +: 5];
    assign m_n_valid        = s_instruction[16*50 +: 16];
    assign m_rnd_tag        = s_instruction[16*51 +: 16];
    assign m_n_base         = s_instruction[16*52 +: 16];
    assign m_height         = s_instruction[16*53 +: 16];
    assign m_width          = s_instruction[16*54 +: 16];
    assign m_gate_base      = s_instruction[16*55 +: 20];
    assign m_factor_shift   = s_instruction[16*39+6 +: 5];
    assign m_factor_0       = s_instruction[16*59 +: 16];
    assign m_factor_1       = s_instruction[16*60 +: 16];
    assign m_keep_threshold = s_instruction[16*61 +: 16];
    assign m_factor_tag     = s_instruction[16*62 +: 16];
    assign m_keep_tag       = s_instruction[16*63 +: 16];

    wire _unused = &{1'b0, s_instruction};
endmodule

`default_nettype wire
