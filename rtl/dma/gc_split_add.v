// SPDX-License-Identifier: Apache-2.0
// m_sum = s_a + s_b of the cycle before, modulo 2^W: two halves, and the upper one also for a carry from the lower one,
// so that no carry runs further than half of the word.
`default_nettype none

module gc_split_add #(
    parameter W   = 48,
    parameter LOW = 24   // bits of the lower half, 1..W-1
) (
    input  wire         clk,
    input  wire [W-1:0] s_a,
    input  wire [W-1:0] s_b,
    output wire [W-1:0] m_sum
);
    reg [LOW:0]     low_q;
    reg [W-LOW-1:0] high_q;
    reg [W-LOW-1:0] high_carry_q;

    always @(posedge clk) begin
        low_q        <= {1'b0, s_a[LOW-1:0]} + {1'b0, s_b[LOW-1:0]};
        high_q       <= s_a[W-1:LOW] + s_b[W-1:LOW];
        high_carry_q <= s_a[W-1:LOW] + s_b[W-1:LOW] + {{(W-LOW-1){1'b0}}, 1'b1};
    end
    assign m_sum = {low_q[LOW] ? high_carry_q : high_q, low_q[LOW-1:0]};
endmodule

`default_nettype wire
