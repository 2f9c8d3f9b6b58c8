// SPDX-License-Identifier: Apache-2.0
// One loop's share of an address. It starts at zero, or with BASED at `base`, which is stable; a step adds `stride`
// where it advances the loop, and goes back to the start where it restarts it. The sum of a base and the terms of all
// loops is the address of an affine access; a term that is BASED has added the base already. No multiplier.
`default_nettype none

module gc_loop_term #(
    parameter W     = 16,
    parameter BASED = 0    // 1: starts at `base`
) (
    input  wire         clk,
    input  wire         start,
    input  wire         step,
    input  wire         advance,
    input  wire         restart,
    input  wire [W-1:0] base,      // without BASED not read
    input  wire [W-1:0] stride,
    output reg  [W-1:0] m_term
);
    generate
        if (W < 1) begin : g_illegal_w
            gradcore_illegal_parameter_W_below_1 u_stop ();
        end
        if (BASED != 0 && BASED != 1) begin : g_illegal_based
            gradcore_illegal_parameter_BASED_not_0_or_1 u_stop ();
        end
    endgenerate

    wire [W-1:0] first = BASED != 0 ? base : {W{1'b0}};

    always @(posedge clk)
        if (start || (step && restart)) m_term <= first;
        else if (step && advance)       m_term <= m_term + stride;
endmodule

`default_nettype wire
