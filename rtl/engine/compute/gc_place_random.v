// SPDX-License-Identifier: Apache-2.0
// Random numbers of the lanes of one vector, from its place: block origin, fold, first image and map. One vector per
// cycle, 12 cycles latency, free running without back-pressure; all inputs belong to the word they come with.
// Bit-exact with gradcore.numerics.random_numbers.position_random.
`default_nettype none

module gc_place_random #(
    parameter GRID = 8  // 4 or 8
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire [31:0]             cfg_seed,
    input  wire                    s_valid,
    input  wire [15:0]             s_tag,
    input  wire [1:0]              s_fold,
    input  wire [11:0]             s_y0,
    input  wire [11:0]             s_x0,
    input  wire [15:0]             s_image,
    input  wire [16:0]             s_map,
    output wire [GRID*GRID*16-1:0] m_rnd
);
    wire               coord_valid;
    wire [GRID*32-1:0] coord_i;
    wire [GRID*32-1:0] coord_j;
    reg  [15:0]        tag_q;
    reg  [16:0]        map_q;
    wire               m_valid_unused;

    always @(posedge clk) begin
        tag_q <= s_tag;
        map_q <= s_map;
    end

    gc_fold_coordinates #(.GRID(GRID)) u_coordinates (
        .clk(clk), .rst(rst),
        .s_valid(s_valid), .s_y0(s_y0), .s_x0(s_x0), .s_fold(s_fold), .s_image(s_image),
        .m_valid(coord_valid), .m_i(coord_i), .m_j(coord_j)
    );
    gc_position_random #(.GRID(GRID)) u_random (
        .clk(clk), .rst(rst),
        .s_valid(coord_valid), .s_seed(cfg_seed), .s_tag(tag_q), .s_k({15'd0, map_q}), .s_i(coord_i), .s_j(coord_j),
        .m_valid(m_valid_unused), .m_rnd(m_rnd)
    );

    wire _unused = m_valid_unused;
endmodule

`default_nettype wire
