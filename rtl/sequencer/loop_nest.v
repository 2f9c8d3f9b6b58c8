// SPDX-License-Identifier: Apache-2.0
// Counters of a nest of loops, level 0 outermost. `start` sets all of them to the first iteration and samples nothing
// else; each `step` moves to the next one. `advance` and `restart` say, in the cycle of the step, which level counts up
// and which levels return to zero; `at_last` which are in their last iteration. Combinational from registers, one step per
// cycle. cfg_count is stable from start to the last step; a count of 0 counts as 1.
`default_nettype none

module loop_nest #(
    parameter LEVELS = 6,
    parameter W      = 16   // bits of a counter
) (
    input  wire                clk,
    input  wire [LEVELS*W-1:0] cfg_count,   // iterations of level l at [l*W +: W]
    input  wire                start,
    input  wire                step,
    output wire [LEVELS-1:0]   advance,
    output wire [LEVELS-1:0]   restart,
    output wire [LEVELS-1:0]   at_first,
    output wire [LEVELS-1:0]   at_last,
    output wire                last,        // every level is in its last iteration
    output wire [LEVELS*W-1:0] index
);
    generate
        if (LEVELS < 1) begin : g_illegal_levels
            gradcore_illegal_parameter_LEVELS_below_1 u_stop ();
        end
        if (W < 1) begin : g_illegal_w
            gradcore_illegal_parameter_W_below_1 u_stop ();
        end
    endgenerate

    // A level moves with the step when all levels inside it are in their last iteration.
    wire [LEVELS:0] ended = {1'b1, at_last};
    assign last = &at_last;

    genvar l;
    generate
        for (l = 0; l < LEVELS; l = l + 1) begin : g_level
            wire [W-1:0] count = cfg_count[l*W +: W];
            reg  [W-1:0] index_q;
            wire [W-1:0] next  = index_q + {{(W-1){1'b0}}, 1'b1};

            assign at_first[l] = ~(|index_q);
            assign at_last[l]  = (next == count) || ~(|count);
            assign advance[l]  = step && (&ended[LEVELS:l+1]) && !at_last[l];
            assign restart[l]  = step && (&ended[LEVELS:l]);
            assign index[l*W +: W] = index_q;

            always @(posedge clk)
                if (start || restart[l]) index_q <= {W{1'b0}};
                else if (advance[l])     index_q <= next;
        end
    endgenerate
endmodule

`default_nettype wire
