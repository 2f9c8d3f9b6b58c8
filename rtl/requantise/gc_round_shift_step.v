// SPDX-License-Identifier: Apache-2.0
// Drops the lowest `s_shift` bits of a signed number with one of four roundings and saturates the result. One result
// per cycle, 3 cycles latency, free running; stage i only moves when s_step[i] is high, so the owner of the pipeline's
// valid bits decides how much toggles. Bit-exact with gradcore.numerics.fixed_point.requantize. All inputs belong to
// the same word and may change every cycle; s_shift must be below IN_W. m_over says that the rounded number did not
// fit.
`default_nettype none

module gc_round_shift_step #(
    parameter IN_W    = 48,  // bits of s_x, at most 62
    parameter OUT_W   = 16,  // bits of m_y, at most IN_W
    parameter SHIFT_W = 6,   // bits of s_shift, 3..6
    parameter ROUND_W = 16   // bits that are added below m_y, 1..16; below 16 mode 3 is not used
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
        if (IN_W > 62) begin : g_illegal_in_w
            gradcore_illegal_parameter_IN_W_above_62 u_stop ();
        end
        if (OUT_W > IN_W) begin : g_illegal
            gradcore_illegal_parameter_OUT_W_above_IN_W u_stop ();
        end
        if (SHIFT_W < 3 || SHIFT_W > 6) begin : g_illegal_shift
            gradcore_illegal_parameter_SHIFT_W_not_3_to_6 u_stop ();
        end
        if (ROUND_W < 1 || ROUND_W > 16) begin : g_illegal_round
            gradcore_illegal_parameter_ROUND_W_not_1_to_16 u_stop ();
        end
    endgenerate

    localparam [1:0] HALF_UP    = 2'd1;
    localparam [1:0] HALF_EVEN  = 2'd2;
    localparam [1:0] STOCHASTIC = 2'd3;

    // Shifting first keeps everything narrow: of what is dropped, ROUND_W bits decide the rounding, for a random number
    // 16, for a half one. A number added below them is never needed, except that half-even must know whether any bit
    // further down is set. The bits above the result are only asked whether they differ from the sign.
    localparam FINE_W   = OUT_W + ROUND_W;
    localparam COARSE_W = FINE_W + 3;
    localparam MIDDLE_W = COARSE_W + 12;
    localparam SIXTEENS = (IN_W > 32 && SHIFT_W > 5) ? 3 : (IN_W > 16 && SHIFT_W > 4) ? 1 : 0;
    localparam [16:0] ONE  = 17'd1 << ROUND_W;      // of the result
    localparam [16:0] HALF = ONE >> 1;
    localparam [16:0] LESS = HALF - 17'd1;

    wire               sign  = s_x[IN_W-1];
    wire [SHIFT_W+2:0] shift = {3'b000, s_shift};    // six bits or more

    // Stage 1: shift by a multiple of sixteen and by one of four.
    wire [MIDDLE_W-1:0] middle;
    wire [COARSE_W-1:0] coarse;
    wire [2:0]          below, above;     // bits dropped: by the shift of 16, 4, 1
    gc_shift_digit #(.IN_W(IN_W+ROUND_W), .OUT_W(MIDDLE_W), .STEP(16), .USED(SIXTEENS)) u_sixteens (
        .s_x({s_x, {ROUND_W{1'b0}}}), .s_sign(sign), .s_digit(shift[5:4]),
        .m_y(middle), .m_below(below[2]), .m_above(above[2])
    );
    gc_shift_digit #(.IN_W(MIDDLE_W), .OUT_W(COARSE_W), .STEP(4)) u_fours (
        .s_x(middle), .s_sign(sign), .s_digit(shift[3:2]),
        .m_y(coarse), .m_below(below[1]), .m_above(above[1])
    );

    reg [COARSE_W-1:0] coarse_q;
    reg [1:0]          fine_q;
    reg [1:0]          mode_q;
    reg [ROUND_W-1:0]  rnd_q;
    reg                sign_q;
    reg [1:0]          above_q;
    reg [1:0]          below_q;

    always @(posedge clk) if (s_step[0]) begin
        coarse_q <= coarse;
        fine_q   <= s_shift[1:0];
        mode_q   <= s_mode;
        rnd_q    <= s_rnd[15 -: ROUND_W];
        sign_q   <= sign;
        above_q  <= above[2:1];
        below_q  <= below[2:1];
    end

    // Stage 2: shift by the rest and add what lets the fraction carry into the result.
    wire [FINE_W-1:0] shifted;
    gc_shift_digit #(.IN_W(COARSE_W), .OUT_W(FINE_W), .STEP(1)) u_ones (
        .s_x(coarse_q), .s_sign(sign_q), .s_digit(fine_q), .m_y(shifted), .m_below(below[0]), .m_above(above[0])
    );
    wire              even_up = mode_q == HALF_EVEN && (shifted[ROUND_W] || (|below_q) || below[0]);
    reg  [ROUND_W-1:0] round;

    always @* begin
        case (mode_q)
            HALF_UP:    round = HALF[ROUND_W-1:0];
            HALF_EVEN:  round = LESS[ROUND_W-1:0];
            STOCHASTIC: round = rnd_q;
            default:    round = {ROUND_W{1'b0}};
        endcase
    end

    wire [FINE_W:0] sum = {sign_q, shifted} + {{(OUT_W+1){1'b0}}, round}
                        + {{FINE_W{1'b0}}, even_up};

    reg [OUT_W:0] sum_q;
    reg           sum_sign_q;
    reg           sum_far_q;

    always @(posedge clk) if (s_step[1]) begin
        sum_q      <= sum[FINE_W:ROUND_W];
        sum_sign_q <= sign_q;
        sum_far_q  <= (|above_q) || above[0];
    end

    // Stage 3: saturate. The sum has one bit more than the result; rounding up may bring a number back into the range,
    // or out of it.
    wire over = sum_far_q | (sum_q[OUT_W] ^ sum_q[OUT_W-1]);

    always @(posedge clk) if (s_step[2]) begin
        m_over <= over;
        m_y    <= over ? {sum_sign_q, {(OUT_W-1){~sum_sign_q}}} : sum_q[OUT_W-1:0];
    end

    wire _unused = &{1'b0, shift, sum[ROUND_W-1:0], s_rnd};
endmodule

`default_nettype wire
