// SPDX-License-Identifier: Apache-2.0
// One row's (or column's) share of the random numbers by position: 16 bits of mix32(s_x + SALT), crossed with the
// key of the channel. One result per cycle, 8 cycles latency; s_key is taken 7 cycles after s_x, when the key's own
// hash is done. Stage i only moves when s_step[i] is high. Bit-exact with the terms of t in doc/numerics.md.
`default_nettype none

module gc_position_axis #(
    parameter [31:0] SALT = 32'h9E3779B9
) (
    input  wire        clk,
    input  wire [7:0]  s_step,
    input  wire [31:0] s_x,
    input  wire [15:0] s_key,
    output reg  [15:0] m_y
);
    reg  [31:0] salted_q;
    wire [15:0] mixed;
    reg  [15:0] wait5_q;
    reg  [15:0] wait6_q;
    reg  [15:0] wait7_q;

    gc_mix32 #(.OUT_W(16)) u_mix (.clk(clk), .s_step(s_step[3:1]), .s_x(salted_q), .m_y(mixed));

    always @(posedge clk) if (s_step[0]) salted_q <= s_x + SALT;
    always @(posedge clk) if (s_step[4]) wait5_q <= mixed;
    always @(posedge clk) if (s_step[5]) wait6_q <= wait5_q;
    always @(posedge clk) if (s_step[6]) wait7_q <= wait6_q;
    always @(posedge clk) if (s_step[7]) m_y <= wait7_q ^ s_key;
endmodule

`default_nettype wire
