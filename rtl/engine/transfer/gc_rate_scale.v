// SPDX-License-Identifier: Apache-2.0
// A multiplier of the weight update at the learning rate of the step: unsigned, times cfg_rate / 32768, rounded half up
// (doc/numerics.md, "Schedules"). cfg_rate 32768 and more leave it as it is. 3 cycles latency, free running. Bit-exact
// with gradcore.ops.optimiser.UpdateParameters.at_rate.
`default_nettype none

module gc_rate_scale (
    input  wire        clk,
    input  wire [15:0] cfg_rate,
    input  wire [14:0] s_multiplier,
    output reg  [14:0] m_multiplier
);
    reg [14:0] whole_q;
    reg [14:0] rate_q;
    reg        one_q;
    reg [29:0] product_q;
    reg [14:0] still_q;
    reg        same_q;

    always @(posedge clk) begin
        whole_q      <= s_multiplier;
        rate_q       <= cfg_rate[14:0];
        one_q        <= cfg_rate[15];
        product_q    <= whole_q * rate_q;
        still_q      <= whole_q;
        same_q       <= one_q;
        m_multiplier <= same_q ? still_q : product_q[29:15] + {14'd0, product_q[14]};
    end

    wire _unused = &{1'b0, product_q[13:0]};
endmodule

`default_nettype wire
