// SPDX-License-Identifier: Apache-2.0
// Random numbers of a word's factor: m_draw decides what dropout keeps, m_rnd rounds the product. They belong to the
// place of the result, which pooling has halved: lane by lane the coordinates of the pooled vector are those of a fold
// and an origin of half the size, since pooling puts a zero bit in the lane of its results just above their pixel
// bits. m_draw comes BEFORE cycles after its word, m_rnd 3 cycles later. Free running without back-pressure. Bit-exact
// with gradcore.numerics.random_numbers.position_random.
`default_nettype none

module gc_factor_random #(
    parameter GRID   = 8,  // 4 or 8
    parameter BEFORE = 25  // at least 13
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire [31:0]             cfg_seed,
    input  wire                    s_valid,
    input  wire [1:0]              s_factor,
    input  wire                    s_stochastic,
    input  wire                    s_pool,
    input  wire [1:0]              s_fold,      // of the computation
    input  wire [11:0]             s_y0,        // block origin before pooling
    input  wire [11:0]             s_x0,
    input  wire [15:0]             s_image,
    input  wire [15:0]             s_chan,
    input  wire [15:0]             s_map0,
    input  wire [15:0]             s_keep_tag,
    input  wire [15:0]             s_tag,       // of the rounding
    output wire [GRID*GRID*16-1:0] m_draw,
    output wire [GRID*GRID*16-1:0] m_rnd
);
    localparam [1:0] KEEP    = 2'd2;
    localparam       LATENCY = 12;              // of the coordinates and the numbers
    localparam       ROUND   = 3;               // from m_draw to m_rnd
    localparam       PLACE_W = 2 + 12 + 12 + 16 + 17;

    generate
        if (BEFORE < LATENCY + 1) begin : g_illegal
            gradcore_illegal_parameter_BEFORE_below_13 u_stop ();
        end
    endgenerate

    reg                 draws_q;
    reg                 rounds_q;
    reg  [PLACE_W-1:0]  place_q;
    reg  [15:0]         keep_tag_q;
    reg  [15:0]         tag_q;

    always @(posedge clk) begin
        place_q    <= {s_fold - {1'b0, s_pool}, s_y0 >> s_pool, s_x0 >> s_pool, s_image,
                       {1'b0, s_map0} + {1'b0, s_chan}};
        keep_tag_q <= s_keep_tag;
        tag_q      <= s_tag;
        draws_q    <= s_valid && s_factor == KEEP;
        rounds_q   <= s_valid && |s_factor && s_stochastic;
        if (rst) begin
            draws_q  <= 1'b0;
            rounds_q <= 1'b0;
        end
    end

    wire draws, rounds;
    wire [PLACE_W+15:0] draw_place, round_place;
    gc_delay_line #(.W(1), .CYCLES(BEFORE-LATENCY-1)) u_draws (
        .clk(clk), .clear(rst), .s_data(draws_q), .m_data(draws)
    );
    gc_delay_line #(.W(PLACE_W+16), .CYCLES(BEFORE-LATENCY-1), .CLEAR(0)) u_draw_place (
        .clk(clk), .clear(1'b0), .s_data({keep_tag_q, place_q}), .m_data(draw_place)
    );
    gc_delay_line #(.W(1), .CYCLES(BEFORE-LATENCY-1+ROUND)) u_rounds (
        .clk(clk), .clear(rst), .s_data(rounds_q), .m_data(rounds)
    );
    gc_delay_line #(.W(PLACE_W+16), .CYCLES(BEFORE-LATENCY-1+ROUND), .CLEAR(0)) u_round_place (
        .clk(clk), .clear(1'b0), .s_data({tag_q, place_q}), .m_data(round_place)
    );

    gc_place_random #(.GRID(GRID)) u_draw (
        .clk(clk), .rst(rst), .cfg_seed(cfg_seed), .s_valid(draws),
        .s_tag(draw_place[PLACE_W +: 16]), .s_fold(draw_place[57 +: 2]),
        .s_y0(draw_place[45 +: 12]), .s_x0(draw_place[33 +: 12]), .s_image(draw_place[17 +: 16]),
        .s_map(draw_place[16:0]), .m_rnd(m_draw)
    );
    gc_place_random #(.GRID(GRID)) u_round (
        .clk(clk), .rst(rst), .cfg_seed(cfg_seed), .s_valid(rounds),
        .s_tag(round_place[PLACE_W +: 16]), .s_fold(round_place[57 +: 2]),
        .s_y0(round_place[45 +: 12]), .s_x0(round_place[33 +: 12]), .s_image(round_place[17 +: 16]),
        .s_map(round_place[16:0]), .m_rnd(m_rnd)
    );
endmodule

`default_nettype wire
