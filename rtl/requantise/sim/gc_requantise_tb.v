// SPDX-License-Identifier: Apache-2.0
// Vectors rounded in every mode, one at a time, with the random numbers of their coordinates: gc_fold_coordinates,
// gc_position_random, gc_requantise.
`default_nettype none

module gc_requantise_tb;
    localparam LANES = 16, ACC_W = 32, DW = 12;
    localparam IN_W  = 6 + 2 + LANES*ACC_W + 32 + 16 + 32 + 12 + 12 + 2 + 16;

    wire                   clk, rst, valid, s_ready, place_valid, rnd_valid, m_valid;
    wire [IN_W-1:0]        word;
    wire [5:0]             shift;
    wire [1:0]             mode, fold;
    wire [LANES*ACC_W-1:0] acc;
    wire [31:0]            seed, k;
    wire [15:0]            tag, image;
    wire [11:0]            y0, x0;
    wire [4*32-1:0]        i, j;
    wire [LANES*16-1:0]    rnd;
    wire [LANES*DW-1:0]    m_data;

    assign {shift, mode, acc, seed, tag, k, y0, x0, fold, image} = word;

    gc_tb_player #(.NAME("gc_requantise_tb"), .IN_W(IN_W), .OUT_W(LANES*DW)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(1'b1), .m_data(word), .s_valid(m_valid), .s_ready(s_ready),
        .s_data(m_data)
    );
    gc_fold_coordinates #(.GRID(4)) u_coordinates (
        .clk(clk), .rst(rst), .s_valid(valid), .s_y0(y0), .s_x0(x0), .s_fold(fold), .s_image(image),
        .m_valid(place_valid), .m_i(i), .m_j(j)
    );
    gc_position_random #(.GRID(4)) u_random (
        .clk(clk), .rst(rst), .s_valid(place_valid), .s_seed(seed), .s_tag(tag), .s_k(k), .s_i(i), .s_j(j),
        .m_valid(rnd_valid), .m_rnd(rnd)
    );
    wire [15:0] over;
    gc_requantise #(.GRID(4), .ACC_W(ACC_W), .DW(DW)) u_requantise (
        .clk(clk), .rst(rst),
        .s_valid(rnd_valid),
        .s_shift(shift),
        .s_mode(mode),
        .s_acc(acc),
        .s_rnd(rnd),
        .m_valid(m_valid), .m_data(m_data),
        .m_over(over)
    );

    wire _unused = &{1'b0, s_ready, over};
endmodule

`default_nettype wire
