// SPDX-License-Identifier: Apache-2.0
// One digit, to the base 4, of a right shift: drops the lowest s_digit * STEP bits of a signed number and keeps the
// OUT_W bits above them. Three digits make a shift. What may be lost is told by parts of STEP bits, so that no digit
// needs a mask of the bits that it drops: m_low tells which of the lowest three parts have a set bit, m_high which of
// the highest three a bit that differs from the sign. gc_shift_lost says by the digit which of them count. Logic alone.
`default_nettype none

module gc_shift_digit #(
    parameter IN_W  = 64,  // at most OUT_W + 3*STEP
    parameter OUT_W = 47,
    parameter STEP  = 16,
    parameter MOST  = 3    // 0..3: the greatest s_digit
) (
    input  wire [IN_W-1:0]  s_x,
    input  wire             s_sign,   // of s_x and all that is above it
    input  wire [1:0]       s_digit,
    output wire [OUT_W-1:0] m_y,
    output wire [2:0]       m_low,
    output wire [2:0]       m_high
);
    localparam WIDE  = OUT_W + 3*STEP;

    generate
        if (MOST < 0 || MOST > 3) begin : g_illegal_most
            gradcore_illegal_parameter_MOST_not_0_to_3 u_stop ();
        end
        if (IN_W > WIDE) begin : g_illegal_in_w
            gradcore_illegal_parameter_IN_W_above_OUT_W_plus_3_STEP u_stop ();
        end
    endgenerate

    wire [WIDE:0]     x     = {{(WIDE+1-IN_W){s_sign}}, s_x};
    wire [3*STEP-1:0] over  = x[OUT_W +: 3*STEP] ^ {(3*STEP){s_sign}};
    wire [OUT_W-1:0]  less  = s_digit[0] && MOST > 0 ? x[STEP +: OUT_W] : x[0 +: OUT_W];
    wire [OUT_W-1:0]  more  = s_digit[0] && MOST > 2 ? x[3*STEP +: OUT_W] : x[2*STEP +: OUT_W];

    assign m_y    = s_digit[1] && MOST > 1 ? more : less;
    assign m_low  = {|x[2*STEP +: STEP], |x[STEP +: STEP], |x[0 +: STEP]};
    assign m_high = {|over[2*STEP +: STEP], |over[STEP +: STEP], |over[0 +: STEP]};

    wire _unused = &{1'b0, x[WIDE], more, s_digit};    // the bit for IN_W = WIDE; small digits
endmodule

`default_nettype wire
