// SPDX-License-Identifier: Apache-2.0
// The multiples of a number by 0 to 7 and by -1, modulo 2^W, in the cycle after s_valid and until the next one. Three
// sums and a negation; the other multiples are shifts of them.
`default_nettype none

module gc_multiples #(
    parameter W = 16
) (
    input  wire           clk,
    input  wire           s_valid,
    input  wire [W-1:0]   s_value,
    output wire [8*W-1:0] m_times,    // s_value times k at [k*W +: W]
    output reg  [W-1:0]   m_minus
);
    reg [W-1:0] one_q;
    reg [W-1:0] three_q;
    reg [W-1:0] five_q;
    reg [W-1:0] seven_q;

    always @(posedge clk) if (s_valid) begin
        one_q   <= s_value;
        three_q <= s_value + (s_value << 1);
        five_q  <= s_value + (s_value << 2);
        seven_q <= (s_value << 3) - s_value;
        m_minus <= {W{1'b0}} - s_value;
    end

    wire [W-1:0] two  = one_q << 1;
    wire [W-1:0] four = one_q << 2;
    wire [W-1:0] six  = three_q << 1;
    assign m_times = {seven_q, six, five_q, four, three_q, two, one_q, {W{1'b0}}};
endmodule

`default_nettype wire
