// SPDX-License-Identifier: Apache-2.0
// The loops over the passes of a COMPUTE instruction (doc/instructions.md, "COMPUTE"), level 0 outermost: g by bx - in
// FP and BP, rg ky kx g in WU; their counts, and what gc_loop_nest wants to know of them early. Combinational.
`default_nettype none

module gc_pass_counts (
    input  wire [1023:0] s_instruction,
    output wire          m_wu,
    output wire [63:0]   m_count,     // of level l at [l*16 +: 16]
    output wire [3:0]    m_single,    // it is at most 1
    output wire [3:0]    m_two
);
    localparam [1:0] WU = 2'd2;

    wire [1:0]   mode;
    wire [15:0]  n_g, n_rg, n_by, n_bx, n_ky, n_kx;
    wire [120:0] unused;
    gc_decode_compute u_compute (
        .s_instruction(s_instruction),
        .m_mode(mode), .m_n_g(n_g), .m_n_rg(n_rg), .m_n_by(n_by), .m_n_bx(n_bx), .m_n_ky(n_ky), .m_n_kx(n_kx),
        .m_row_buf(unused[0]), .m_dst_buf(unused[1]), .m_bias(unused[2]), .m_relu(unused[3]), .m_pool(unused[4]),
        .m_gate_write(unused[5]), .m_scale(unused[6]), .m_loss(unused[8:7]), .m_grad_first(unused[9]),
        .m_rounding(unused[11:10]), .m_split(unused[12]), .m_keep_in(unused[13]), .m_keep_out(unused[14]),
        .m_factor(unused[16:15]), .m_fold(unused[18:17]), .m_row_fold(unused[20:19]), .m_col_fold(unused[22:21]),
        .m_dst_fold(unused[24:23]), .m_gate_fold(unused[26:25]), .m_shift(unused[32:27]), .m_n_c(unused[48:33]),
        .m_n_last(unused[64:49]), .m_by0(unused[76:65]), .m_bx0(unused[88:77]), .m_in_by0(unused[100:89]),
        .m_in_bx0(unused[112:101]), .m_skip_y(unused[116:113]), .m_skip_x(unused[120:117])
    );
    assign m_wu    = mode == WU;
    assign m_count = m_wu ? {n_g, n_kx, n_ky, n_rg} : {16'd1, n_bx, n_by, n_g};

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
