// SPDX-License-Identifier: Apache-2.0
// One digit, to the base 4, of a right shift: drops the lowest s_digit * STEP bits of a signed number and keeps the
// OUT_W bits above them. Tells whether a bit below was set, and whether a bit above differed from the sign: then the
// number does not fit. Three digits make a shift; no digit needs a mask of the bits that it drops. Logic alone.
`default_nettype none

module gc_shift_digit #(
    parameter IN_W  = 64,  // at most OUT_W + 3*STEP
    parameter OUT_W = 47,
    parameter STEP  = 16,
    parameter USED  = 3    // 0..3: bits of s_digit that may be set
) (
    input  wire [IN_W-1:0]  s_x,
    input  wire             s_sign,   // of s_x and all that is above it
    input  wire [1:0]       s_digit,
    output wire [OUT_W-1:0] m_y,
    output wire             m_below,
    output wire             m_above
);
    localparam WIDE  = OUT_W + 3*STEP;
    localparam ONCE  = OUT_W + 2*STEP;

    generate
        if (USED < 0 || USED > 3) begin : g_illegal_used
            gradcore_illegal_parameter_USED_not_0_to_3 u_stop ();
        end
        if (IN_W > WIDE) begin : g_illegal_in_w
            gradcore_illegal_parameter_IN_W_above_OUT_W_plus_3_STEP u_stop ();
        end
    endgenerate

    localparam [1:0] BITS = USED[1:0];
    wire [1:0]        digit = s_digit & BITS;
    wire [WIDE:0]     x     = {{(WIDE+1-IN_W){s_sign}}, s_x};
    wire [3*STEP-1:0] over  = x[OUT_W +: 3*STEP] ^ {(3*STEP){s_sign}};
    wire [ONCE-1:0]   once  = digit[0] ? x[STEP +: ONCE] : x[0 +: ONCE];
    wire [2:0]        low   = {|x[2*STEP +: STEP], |x[STEP +: STEP], |x[0 +: STEP]};
    wire [2:0]        high  = {|over[2*STEP +: STEP], |over[STEP +: STEP], |over[0 +: STEP]};

    assign m_y     = digit[1] ? once[2*STEP +: OUT_W] : once[0 +: OUT_W];
    assign m_below = (low[0] && digit != 2'd0) || (low[1] && digit[1]) || (low[2] && digit == 2'd3);
    assign m_above = (high[0] && digit == 2'd0) || (high[1] && !digit[1]) || (high[2] && digit != 2'd3);

    wire _unused = &{1'b0, x[WIDE], once};    // the bit for IN_W = WIDE; below 2*STEP bits some are passed over
endmodule

`default_nettype wire
