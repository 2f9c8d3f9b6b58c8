// SPDX-License-Identifier: Apache-2.0
// One loop's share of an address: starts at `first`; a step adds `stride` where it advances the loop, returns to
// `first` where it restarts it. The sum of the terms of all loops is the address of an affine access; one of them
// starts at the base, the others at zero. No multiplier.
`default_nettype none

module gc_loop_term #(
    parameter W = 16
) (
    input  wire         clk,
    input  wire         start,
    input  wire         step,
    input  wire         advance,
    input  wire         restart,
    input  wire [W-1:0] first,
    input  wire [W-1:0] stride,
    output reg  [W-1:0] m_term
);
    generate
        if (W < 1) begin : g_illegal_w
            gradcore_illegal_parameter_W_below_1 u_stop ();
        end
    endgenerate

    always @(posedge clk)
        if (start || (step && restart)) m_term <= first;
        else if (step && advance)       m_term <= m_term + stride;
endmodule

`default_nettype wire
