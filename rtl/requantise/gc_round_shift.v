// SPDX-License-Identifier: Apache-2.0
// Drops the lowest `s_shift` bits of a signed number with one of four roundings and saturates the result. One result
// per cycle, 4 cycles latency, free running without valid or stall. Bit-exact with
// gradcore.numerics.fixed_point.requantize. All inputs belong to the same word and may change every cycle; s_shift must
// be below IN_W. gc_round_shift_step is the same with an enable for each stage.
`default_nettype none

module gc_round_shift #(
    parameter IN_W    = 48,  // bits of s_x, at most 62
    parameter OUT_W   = 16,  // bits of m_y, at most IN_W
    parameter SHIFT_W = 6,   // bits of s_shift, 3..6
    parameter ROUND_W = 16   // bits that are added below m_y, 1..16; below 16 mode 3 is not used
) (
    input  wire               clk,
    input  wire [IN_W-1:0]    s_x,      // signed
    input  wire [SHIFT_W-1:0] s_shift,
    input  wire [1:0]         s_mode,   // 0 truncate, 1 half-up, 2 half-even, 3 stochastic
    input  wire [15:0]        s_rnd,    // random number of mode 3
    output wire [OUT_W-1:0]   m_y,      // signed
    output wire               m_over    // m_y is saturated
);
    gc_round_shift_step #(
        .IN_W    (IN_W),
        .OUT_W   (OUT_W),
        .SHIFT_W (SHIFT_W),
        .ROUND_W (ROUND_W)
    ) u_round (
        .clk     (clk),
        .s_step  (4'b1111),
        .s_x     (s_x),
        .s_base  ({OUT_W{1'b0}}),
        .s_shift (s_shift),
        .s_mode  (s_mode),
        .s_rnd   (s_rnd),
        .m_y     (m_y),
        .m_over  (m_over)
    );
endmodule

`default_nettype wire
