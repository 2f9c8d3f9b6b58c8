// SPDX-License-Identifier: Apache-2.0
// One lane of gc_softmax_divide: shifts the sum left until its first bit is at the top, then divides 2^64 by it, a bit
// of the quotient every two cycles (half of a subtraction each). The owner says what happens in a cycle.
`default_nettype none

module gc_softmax_divide_lane (
    input  wire        clk,
    input  wire        s_load,     // take s_sum
    input  wire        s_align,    // shift left, if needed
    input  wire        s_low,      // subtract the lower half
    input  wire        s_high,     // subtract the upper half: a bit of the quotient
    input  wire [39:0] s_sum,      // at least 2^24
    output wire [9:0]  m_rest,     // the bits behind the first of the sum
    output wire [3:0]  m_length,   // its length in bits, less 25
    output wire [25:0] m_quotient
);
    reg [39:0] divisor_q;
    reg [3:0]  length_q;
    reg [40:0] left_q;        // below twice the divisor
    reg [20:0] difference_q;  // of the lower halves, with its borrow
    reg [25:0] quotient_q;

    wire [21:0] upper = {1'b0, left_q[40:20]} - {2'b0, divisor_q[39:20]} - {21'd0, difference_q[20]};
    wire        fits  = !upper[21];

    assign m_rest     = divisor_q[38:29];
    assign m_length   = length_q;
    assign m_quotient = quotient_q;

    always @(posedge clk) begin
        if (s_load) begin
            divisor_q <= s_sum;
            length_q  <= 4'd15;
            left_q    <= {1'b0, 1'b1, 39'd0};
        end else if (s_align && !divisor_q[39]) begin
            divisor_q <= {divisor_q[38:0], 1'b0};
            length_q  <= length_q - 4'd1;
        end
        if (s_low) difference_q <= {1'b0, left_q[19:0]} - {1'b0, divisor_q[19:0]};
        if (s_high) begin
            quotient_q <= {quotient_q[24:0], fits};
            left_q     <= fits ? {upper[19:0], difference_q[19:0], 1'b0} : {left_q[39:0], 1'b0};
        end
    end

    wire _unused = &{1'b0, upper[20]};
endmodule

`default_nettype wire
