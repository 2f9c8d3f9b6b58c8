// SPDX-License-Identifier: Apache-2.0
// What one digit of a shift loses (gc_shift_digit): whether a bit below the result was set, and whether one above it
// differed from the sign: then the number does not fit. Logic alone.
`default_nettype none

module gc_shift_lost (
    input  wire [1:0] s_digit,
    input  wire [2:0] s_low,    // parts with a set bit, from the lowest on
    input  wire [2:0] s_high,   // parts above the result of digit 0 that differ from the sign, from the lowest on
    output wire       m_below,
    output wire       m_above
);
    assign m_below = (s_low[0] && s_digit != 2'd0) || (s_low[1] && s_digit[1]) || (s_low[2] && s_digit == 2'd3);
    assign m_above = (s_high[0] && s_digit == 2'd0) || (s_high[1] && !s_digit[1]) || (s_high[2] && s_digit != 2'd3);
endmodule

`default_nettype wire
