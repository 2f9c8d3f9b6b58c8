// SPDX-License-Identifier: Apache-2.0
// The loops over the passes of a COMPUTE instruction (doc/instructions.md, "COMPUTE"), level 0 outermost: g by bx - in
// FP and BP, rg ky kx g in WU; their counts, and what gc_loop_nest wants to know of them early. And how blocks of the
// computation lie in those of the destination and the gates. Combinational.
`default_nettype none

module gc_pass_counts (
    input  wire [1023:0] s_instruction,
    output wire          m_wu,
    output wire [63:0]   m_count,     // of level l at [l*16 +: 16]
    output wire [3:0]    m_single,    // it is at most 1
    output wire [3:0]    m_two,
    output wire          m_half,      // two pooled blocks share one of the destination: both have the same fold
    output wire [1:0]    m_dst_a,     // fold of the results
    output wire [1:0]    m_dst_up,    // log2 of the destination's blocks to a block of results
    output wire [1:0]    m_gate_up    // log2 of the gates' blocks to a block of the computation
);
    localparam [1:0] WU = 2'd2;

    wire [1:0]   mode;
    wire [15:0]  n_g, n_rg, n_by, n_bx, n_ky, n_kx;
    wire         pool;
    wire [1:0]   fold, dst_fold, gate_fold;
    wire [113:0] unused;
    gc_decode_compute u_compute (
        .s_instruction(s_instruction),
        .m_mode(mode), .m_n_g(n_g), .m_n_rg(n_rg), .m_n_by(n_by), .m_n_bx(n_bx), .m_n_ky(n_ky), .m_n_kx(n_kx),
        .m_pool(pool), .m_fold(fold), .m_dst_fold(dst_fold), .m_gate_fold(gate_fold),
        .m_row_buf(unused[0]), .m_dst_buf(unused[1]), .m_bias(unused[2]), .m_relu(unused[3]), .m_gate_write(unused[4]),
        .m_scale(unused[5]), .m_loss(unused[7:6]), .m_grad_first(unused[8]), .m_rounding(unused[10:9]),
        .m_split(unused[11]), .m_keep_in(unused[12]), .m_keep_out(unused[13]), .m_factor(unused[15:14]),
        .m_row_fold(unused[17:16]), .m_col_fold(unused[19:18]), .m_shift(unused[25:20]), .m_n_c(unused[41:26]),
        .m_n_last(unused[57:42]), .m_by0(unused[69:58]), .m_bx0(unused[81:70]), .m_in_by0(unused[93:82]),
        .m_in_bx0(unused[105:94]), .m_skip_y(unused[109:106]), .m_skip_x(unused[113:110])
    );
    assign m_wu    = mode == WU;
    assign m_count = m_wu ? {n_g, n_kx, n_ky, n_rg} : {16'd1, n_bx, n_by, n_g};

    assign m_half    = pool && dst_fold == fold;
    assign m_dst_a   = fold - {1'b0, pool};
    assign m_dst_up  = m_half ? 2'd0 : m_dst_a - dst_fold;
    assign m_gate_up = fold - gate_fold;

    genvar l;
    generate
        for (l = 0; l < 4; l = l + 1) begin : g_level
            assign m_single[l] = m_count[l*16 +: 16] <= 16'd1;
            assign m_two[l]    = m_count[l*16 +: 16] == 16'd2;
        end
    endgenerate

    wire _unused = &{1'b0, unused};
endmodule

`default_nettype wire
