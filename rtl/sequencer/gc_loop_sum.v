// SPDX-License-Identifier: Apache-2.0
// The sum over nested loops of iteration times stride, modulo 2^W, level 0 outermost. It is never added up: each level
// keeps the sum with which its present iteration began, and a step adds one stride to that of the level that advances.
// advance and restart are those of gc_loop_nest, or of some of its levels; a level may advance less often, not restart.
// start sets the sum to zero.
`default_nettype none

module gc_loop_sum #(
    parameter LEVELS = 3,
    parameter W      = 16
) (
    input  wire                clk,
    input  wire                start,
    input  wire                step,
    input  wire [LEVELS-1:0]   advance,
    input  wire [LEVELS-1:0]   restart,
    input  wire [LEVELS*W-1:0] stride,     // of level l at [l*W +: W]
    output wire [W-1:0]        m_sum
);
    generate
        if (LEVELS < 1) begin : g_illegal_levels
            gradcore_illegal_parameter_LEVELS_below_1 u_stop ();
        end
        if (W < 1) begin : g_illegal_w
            gradcore_illegal_parameter_W_below_1 u_stop ();
        end
    endgenerate

    genvar l;
    generate
        for (l = 0; l < LEVELS; l = l + 1) begin : g_level
            reg  [W-1:0] sum_q;     // of the present iteration, the levels inside it in their first
            wire [W-1:0] outer;
            wire [W-1:0] next = restart[l] ? outer : advance[l] ? sum_q + stride[l*W +: W] : sum_q;
            if (l == 0) begin : g_outermost
                assign outer = {W{1'b0}};
            end else begin : g_inner
                assign outer = g_level[l-1].next;
            end
            if (l == LEVELS - 1) begin : g_innermost
                assign m_sum = sum_q;
            end
            always @(posedge clk)
                if (start)     sum_q <= {W{1'b0}};
                else if (step) sum_q <= next;
        end
    endgenerate
endmodule

`default_nettype wire
