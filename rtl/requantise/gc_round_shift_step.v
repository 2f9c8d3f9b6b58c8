// SPDX-License-Identifier: Apache-2.0
// Drops the lowest `s_shift` bits of a signed number with one of four roundings and saturates the result. One result
// per cycle, 3 cycles latency, free running; stage i only moves when s_step[i] is high, so the owner of the pipeline's
// valid bits decides how much toggles. Bit-exact with gradcore.numerics.fixed_point.requantize. All inputs belong to
// the same word and may change every cycle; s_shift must be below IN_W. m_over says that the rounded number did not
// fit.
`default_nettype none

module gc_round_shift_step #(
    parameter IN_W    = 48,  // bits of s_x
    parameter OUT_W   = 16,  // bits of m_y, at most IN_W
    parameter SHIFT_W = 6    // bits of s_shift, at least 3
) (
    input  wire               clk,
    input  wire [2:0]         s_step,   // bit i: stage i takes a new word
    input  wire [IN_W-1:0]    s_x,      // signed
    input  wire [SHIFT_W-1:0] s_shift,
    input  wire [1:0]         s_mode,   // 0 truncate, 1 half-up, 2 half-even, 3 stochastic
    input  wire [15:0]        s_rnd,    // random number of mode 3
    output reg  [OUT_W-1:0]   m_y,      // signed
    output reg                m_over    // m_y is saturated
);
    generate
        if (OUT_W > IN_W) begin : g_illegal
            gradcore_illegal_parameter_OUT_W_above_IN_W u_stop ();
        end
        if (SHIFT_W < 3) begin : g_illegal_shift
            gradcore_illegal_parameter_SHIFT_W_below_3 u_stop ();
        end
    endgenerate

    localparam [1:0] HALF_UP    = 2'd1;
    localparam [1:0] HALF_EVEN  = 2'd2;
    localparam [1:0] STOCHASTIC = 2'd3;

    // Shifting first keeps everything narrow: of what is dropped, 16 bits decide the rounding. A number added below
    // them is never needed, except that half-even must know whether any bit further down is set.
    localparam FINE_W   = OUT_W + 16;
    localparam COARSE_W = FINE_W + 3;

    wire [IN_W-1:0] ones   = {IN_W{1'b1}};
    wire [IN_W-1:0] kept   = ones << s_shift;
    wire [IN_W-1:0] above  = kept << OUT_W;        // bits that equal the sign unless far outside the range
    wire [IN_W-1:0] below  = ~kept >> 16;          // bits under the 16 fraction bits
    wire            sign   = s_x[IN_W-1];

    // Stage 1: shift by a multiple of four; look at the bits on both sides of the window.
    wire [IN_W+OUT_W+18:0] wide   = {{(OUT_W+3){sign}}, s_x, 16'b0};
    wire [IN_W+OUT_W+18:0] coarse = wide >> {s_shift[SHIFT_W-1:2], 2'b0};

    reg [COARSE_W-1:0] coarse_q;
    reg [1:0]          fine_q;
    reg [1:0]          mode_q;
    reg [15:0]         rnd_q;
    reg                sign_q;
    reg                far_q;
    reg                sticky_q;

    always @(posedge clk) if (s_step[0]) begin
        coarse_q <= coarse[COARSE_W-1:0];
        fine_q   <= s_shift[1:0];
        mode_q   <= s_mode;
        rnd_q    <= s_rnd;
        sign_q   <= sign;
        far_q    <= |((s_x ^ {IN_W{sign}}) & above);
        sticky_q <= |(s_x & below);
    end

    // Stage 2: shift by the rest and add what lets the fraction carry into the result.
    wire [COARSE_W-1:0] shifted = coarse_q >> fine_q;
    wire                even_up = mode_q == HALF_EVEN && (shifted[16] || sticky_q);
    reg  [15:0]         round;

    always @* begin
        round = 16'h0000;
        case (mode_q)
            HALF_UP:    round = 16'h8000;
            HALF_EVEN:  round = 16'h7FFF;
            STOCHASTIC: round = rnd_q;
            default:    round = 16'h0000;
        endcase
    end

    wire [FINE_W:0] sum = {sign_q, shifted[FINE_W-1:0]} + {{(OUT_W+1){1'b0}}, round}
                        + {{FINE_W{1'b0}}, even_up};

    reg [OUT_W:0] sum_q;
    reg           sum_sign_q;
    reg           sum_far_q;

    always @(posedge clk) if (s_step[1]) begin
        sum_q      <= sum[FINE_W:16];
        sum_sign_q <= sign_q;
        sum_far_q  <= far_q;
    end

    // Stage 3: saturate. The sum has one bit more than the result; rounding up may bring a number back into the range,
    // or out of it.
    wire over = sum_far_q | (sum_q[OUT_W] ^ sum_q[OUT_W-1]);

    always @(posedge clk) if (s_step[2]) begin
        m_over <= over;
        m_y    <= over ? {sum_sign_q, {(OUT_W-1){~sum_sign_q}}} : sum_q[OUT_W-1:0];
    end

    wire _unused = &{1'b0, coarse[IN_W+OUT_W+18:COARSE_W], shifted[COARSE_W-1:FINE_W], sum[15:0]};
endmodule

`default_nettype wire
