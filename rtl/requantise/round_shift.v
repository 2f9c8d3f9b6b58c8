// SPDX-License-Identifier: Apache-2.0
// Drops the lowest `s_shift` bits of a signed number with one of four roundings and saturates the result.
// One result per cycle, 3 cycles latency, free running without valid or stall. Bit-exact with
// gradcore.fixed.round_shift followed by gradcore.fixed.saturate. All inputs belong to the same word and may
// change every cycle; s_shift must be below IN_W.
`default_nettype none

module round_shift #(
    parameter IN_W    = 48,  // bits of s_x
    parameter OUT_W   = 16,  // bits of m_y, at most IN_W
    parameter SHIFT_W = 6    // bits of s_shift
) (
    input  wire               clk,
    input  wire [IN_W-1:0]    s_x,      // signed
    input  wire [SHIFT_W-1:0] s_shift,
    input  wire [1:0]         s_mode,   // 0 truncate, 1 half-up, 2 half-even, 3 stochastic
    input  wire [15:0]        s_rnd,    // random number of mode 3
    output reg  [OUT_W-1:0]   m_y       // signed
);
    generate
        if (OUT_W > IN_W) begin : g_illegal
            gradcore_illegal_parameter_OUT_W_above_IN_W u_stop ();
        end
    endgenerate

    localparam [1:0] HALF_UP    = 2'd1;
    localparam [1:0] HALF_EVEN  = 2'd2;
    localparam [1:0] STOCHASTIC = 2'd3;

    // 2^shift / 2, zero for shift 0; the random number has its binary point above bit 15, so it is shifted alike.
    wire [IN_W-1:0]    one      = {{(IN_W-1){1'b0}}, 1'b1};
    wire [IN_W-1:0]    unit     = one << s_shift;
    wire [IN_W-1:0]    half     = {1'b0, unit[IN_W-1:1]};
    wire [IN_W+15:0]   rnd_wide = {{IN_W{1'b0}}, s_rnd} << s_shift;
    wire [IN_W-1:0]    rnd_part = rnd_wide[IN_W+15:16];
    wire [15:0]        rnd_unused = rnd_wide[15:0];
    wire               odd      = |(s_x & unit);
    wire               drops    = |s_shift;

    reg signed [IN_W:0] x_q;
    reg [IN_W-1:0]      add_q;
    reg [SHIFT_W-1:0]   shift_q;
    reg signed [IN_W:0] sum_q;
    reg [SHIFT_W-1:0]   sum_shift_q;

    wire signed [IN_W:0] shifted = sum_q >>> sum_shift_q;
    wire fits = (&shifted[IN_W:OUT_W-1]) | ~(|shifted[IN_W:OUT_W-1]);

    always @(posedge clk) begin
        x_q     <= $signed({s_x[IN_W-1], s_x});
        shift_q <= s_shift;
        case (s_mode)
            HALF_UP:    add_q <= half;
            HALF_EVEN:  add_q <= drops ? half - one + {{(IN_W-1){1'b0}}, odd} : {IN_W{1'b0}};
            STOCHASTIC: add_q <= rnd_part;
            default:    add_q <= {IN_W{1'b0}};
        endcase
    end

    always @(posedge clk) begin
        sum_q       <= x_q + $signed({1'b0, add_q});
        sum_shift_q <= shift_q;
    end

    always @(posedge clk)
        m_y <= fits ? shifted[OUT_W-1:0] : {shifted[IN_W], {(OUT_W-1){~shifted[IN_W]}}};

    wire _unused = &{1'b0, rnd_unused};
endmodule

`default_nettype wire
