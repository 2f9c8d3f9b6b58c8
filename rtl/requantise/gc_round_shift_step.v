// SPDX-License-Identifier: Apache-2.0
// Drops the lowest `s_shift` bits of a signed number with one of four roundings and saturates the result. One result
// per cycle, 4 cycles latency, free running; stage i only moves when s_step[i] is high, so the owner of the pipeline's
// valid bits decides how much toggles. Bit-exact with gradcore.numerics.fixed_point.requantize. All inputs belong to
// the same word and may change every cycle; s_shift must be below IN_W. To what is rounded s_base is added before it is
// saturated: the result is that of s_x + (s_base << s_shift). m_over says that it did not fit.
`default_nettype none

module gc_round_shift_step #(
    parameter IN_W    = 48,  // bits of s_x, at most 62
    parameter OUT_W   = 16,  // bits of m_y, at most IN_W
    parameter SHIFT_W = 6,   // bits of s_shift, 3..6
    parameter ROUND_W = 16   // bits that are added below m_y, 1..16; below 16 mode 3 is not used
) (
    input  wire               clk,
    input  wire [3:0]         s_step,   // bit i: stage i takes a new word
    input  wire [IN_W-1:0]    s_x,      // signed
    input  wire [OUT_W-1:0]   s_base,   // signed, in the unit of m_y
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
    // further down is set. The bits above the result are only asked whether they differ from the sign: then no base
    // brings the number back into the range.
    localparam FINE_W   = OUT_W + ROUND_W;
    localparam COARSE_W = FINE_W + 3;
    localparam MIDDLE_W = COARSE_W + 12;
    localparam SIXTEENS = SHIFT_W < 5 || IN_W <= 16 ? 0 : SHIFT_W < 6 || IN_W <= 32 ? 1 : IN_W <= 48 ? 2 : 3;
    localparam [16:0] ONE  = 17'd1 << ROUND_W;      // of the result
    localparam [16:0] HALF = ONE >> 1;
    localparam [16:0] LESS = HALF - 17'd1;

    wire               sign  = s_x[IN_W-1];
    wire [SHIFT_W+2:0] shift = {3'b000, s_shift};    // six bits or more

    // Stage 1: shift by a multiple of sixteen and by one of four; choose what lets the fraction carry into the result.
    wire [MIDDLE_W-1:0] middle;
    wire [COARSE_W-1:0] coarse;
    wire [2:0]          low16, high16, low4, high4, low1, high1;  // parts of which bits may be lost
    gc_shift_digit #(.IN_W(IN_W+ROUND_W), .OUT_W(MIDDLE_W), .STEP(16), .MOST(SIXTEENS)) u_sixteens (
        .s_x({s_x, {ROUND_W{1'b0}}}), .s_sign(sign), .s_digit(shift[5:4]),
        .m_y(middle), .m_low(low16), .m_high(high16)
    );
    gc_shift_digit #(.IN_W(MIDDLE_W), .OUT_W(COARSE_W), .STEP(4)) u_fours (
        .s_x(middle), .s_sign(sign), .s_digit(shift[3:2]),
        .m_y(coarse), .m_low(low4), .m_high(high4)
    );

    reg [COARSE_W-1:0] coarse_q;
    reg [5:0]          shift_q;
    reg                even_q;
    reg [ROUND_W-1:0]  round_q;
    reg [OUT_W-1:0]    base_q;
    reg                sign_q;
    reg [5:0]          low_q;
    reg [5:0]          high_q;

    always @(posedge clk) if (s_step[0]) begin
        coarse_q <= coarse;
        shift_q  <= shift[5:0];
        even_q   <= s_mode == HALF_EVEN;
        base_q   <= s_base;
        sign_q   <= sign;
        low_q    <= {low16, low4};
        high_q   <= {high16, high4};
        case (s_mode)
            HALF_UP:    round_q <= HALF[ROUND_W-1:0];
            HALF_EVEN:  round_q <= LESS[ROUND_W-1:0];
            STOCHASTIC: round_q <= s_rnd[15 -: ROUND_W];
            default:    round_q <= {ROUND_W{1'b0}};
        endcase
    end

    // Stage 2: shift by the rest. A half goes up to the even number, more than a half always.
    wire [FINE_W-1:0] shifted;
    gc_shift_digit #(.IN_W(COARSE_W), .OUT_W(FINE_W), .STEP(1)) u_ones (
        .s_x(coarse_q), .s_sign(sign_q), .s_digit(shift_q[1:0]), .m_y(shifted), .m_low(low1), .m_high(high1)
    );
    wire [2:0] below, above;              // bits lost by the shift of 16, 4, 1
    gc_shift_lost u_lost [2:0] (
        .s_digit(shift_q), .s_low({low_q, low1}), .s_high({high_q, high1}), .m_below(below), .m_above(above)
    );

    reg [FINE_W-1:0] shifted_q;
    reg [FINE_W-1:0] addend_q;
    reg              up_q;
    reg              sign2_q;
    reg              far_q;

    always @(posedge clk) if (s_step[1]) begin
        shifted_q <= shifted;
        addend_q  <= {base_q, round_q};
        up_q      <= even_q && ((shifted[ROUND_W] ^ base_q[0]) || (|below));
        sign2_q   <= sign_q;
        far_q     <= |above;
    end

    // Stage 3: add. The number has one bit more than the result, and the sum one bit more than the number.
    wire [FINE_W+1:0] sum = {{2{sign2_q}}, shifted_q} + {{2{addend_q[FINE_W-1]}}, addend_q}
                          + {{(FINE_W+1){1'b0}}, up_q};

    reg [OUT_W+1:0] sum_q;
    reg             sign3_q;
    reg             far3_q;

    always @(posedge clk) if (s_step[2]) begin
        sum_q   <= sum[FINE_W+1:ROUND_W];
        sign3_q <= sign2_q;
        far3_q  <= far_q;
    end

    // Stage 4: saturate. Rounding up or the base may bring a number back into the range, or out of it.
    wire top  = far3_q ? sign3_q : sum_q[OUT_W+1];
    wire over = far3_q || sum_q[OUT_W+1:OUT_W-1] != {3{top}};

    always @(posedge clk) if (s_step[3]) begin
        m_over <= over;
        m_y    <= over ? {top, {(OUT_W-1){~top}}} : sum_q[OUT_W-1:0];
    end

    wire _unused = &{1'b0, shift, sum[ROUND_W-1:0], s_rnd};
endmodule

`default_nettype wire
