// SPDX-License-Identifier: Apache-2.0
// Adds two wide numbers modulo 2^W in two halves, so that a carry only runs through one of them in a cycle. A sum per
// cycle, 2 cycles latency, free running.
`default_nettype none

module gc_vector_sum #(
    parameter W = 48    // at least 2
) (
    input  wire         clk,
    input  wire [W-1:0] s_a,
    input  wire [W-1:0] s_b,
    output reg  [W-1:0] m_sum
);
    localparam LOW  = (W+1)/2;
    localparam HIGH = W - LOW;

    generate
        if (W < 2) begin : g_illegal_w
            gradcore_illegal_parameter_W_below_2 u_stop ();
        end
    endgenerate

    reg [LOW:0]    low_q;
    reg [HIGH-1:0] a_q;
    reg [HIGH-1:0] b_q;

    always @(posedge clk) begin
        low_q <= {1'b0, s_a[LOW-1:0]} + {1'b0, s_b[LOW-1:0]};
        a_q   <= s_a[W-1:LOW];
        b_q   <= s_b[W-1:LOW];
        m_sum <= {a_q + b_q + {{(HIGH-1){1'b0}}, low_q[LOW]}, low_q[LOW-1:0]};
    end
endmodule

`default_nettype wire
