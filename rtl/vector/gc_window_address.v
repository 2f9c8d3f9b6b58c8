// SPDX-License-Identifier: Apache-2.0
// The place of a tap relative to the first source's address, in beats: five nested places (tap, row of taps, pixel,
// part of the pixels, row of the result), of which a move changes one and brings all inside it there. s_clear makes
// them zero; s_move with s_level moves in three cycles. m_at counts modulo 2^W. Steps are unsigned, those of the taps
// downwards with cfg_down.
`default_nettype none

module gc_window_address #(
    parameter W = 42
) (
    input  wire           clk,
    input  wire           cfg_down,
    input  wire [5*W-1:0] cfg_steps,   // of level 0 (tap) at the low end
    input  wire           s_clear,
    input  wire           s_move,
    input  wire [2:0]     s_level,     // 0..4
    input  wire           s_stay,      // the step is zero
    output wire [W-1:0]   m_at
);
    localparam LOW  = (W+1)/2;
    localparam HIGH = W - LOW;

    reg [1:0]      phase_q;    // 1: low half, 2: high half
    reg [2:0]      level_q;
    reg            stay_q;
    reg [LOW:0]    low_q;
    reg [5*W-1:0]  at_q;

    wire [7*W-1:0] places = {{(2*W){1'b0}}, at_q};
    wire [7*W-1:0] steps  = {{(2*W){1'b0}}, cfg_steps};
    wire [4:0]     reach  = ~(5'b11110 << level_q);      // places that come along
    wire           minus  = cfg_down && level_q < 3'd2;
    wire [W-1:0]   place  = places[level_q*W +: W];
    wire [W-1:0]   step   = (steps[level_q*W +: W] & {W{!stay_q}}) ^ {W{minus}};
    wire [LOW:0]   low    = {1'b0, place[LOW-1:0]} + {1'b0, step[LOW-1:0]} + {{LOW{1'b0}}, minus};
    wire [HIGH-1:0] high  = place[W-1:LOW] + step[W-1:LOW] + {{(HIGH-1){1'b0}}, low_q[LOW]};

    assign m_at = at_q[W-1:0];

    always @(posedge clk) begin
        phase_q <= {phase_q[0], s_move};
        if (s_move) begin
            level_q <= s_level;
            stay_q  <= s_stay;
        end
        if (phase_q[0]) low_q <= low;
    end

    genvar i;
    generate
        for (i = 0; i < 5; i = i + 1) begin : g_level
            always @(posedge clk) begin
                if (s_clear)                            at_q[i*W +: W] <= {W{1'b0}};
                else if (phase_q[1] && reach[i]) at_q[i*W +: W] <= {high, low_q[LOW-1:0]};
            end
        end
    endgenerate
endmodule

`default_nettype wire
