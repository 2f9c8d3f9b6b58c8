// SPDX-License-Identifier: Apache-2.0
// Counters of a nest of loops, level 0 outermost. `start` sets all of them to the first iteration and samples nothing
// else; each `step` moves to the next one. `advance` and `restart` say which level the next step counts up and which
// levels it returns to zero, `at_last` which are in their last iteration: all of them from registers alone, so that a
// late `step` is not made later. One step per cycle. cfg_count is stable from start on; with COUNT_LATE it may change
// while all levels are in their first iteration. 0 counts as 1.
`default_nettype none

module gc_loop_nest #(
    parameter LEVELS     = 6,
    parameter W          = 16,   // bits of a counter
    parameter COUNT_LATE = 0
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
        if (COUNT_LATE != 0 && COUNT_LATE != 1) begin : g_illegal_count_late
            gradcore_illegal_parameter_COUNT_LATE_not_0_or_1 u_stop ();
        end
    endgenerate

    localparam [W-1:0] ONE = 1;

    // A level moves with the step when all levels inside it are in their last iteration.
    wire [LEVELS:0] ended = {1'b1, at_last};
    assign last = &at_last;

    genvar l;
    generate
        for (l = 0; l < LEVELS; l = l + 1) begin : g_level
            wire [W-1:0] count = cfg_count[l*W +: W];
            wire         single = count <= ONE;
            reg  [W-1:0] index_q;
            reg          first_q;
            reg          last_q;
            wire [W-1:0] next   = index_q + ONE;

            assign at_first[l] = first_q;
            assign at_last[l]  = (COUNT_LATE != 0 && first_q) ? single : last_q;
            assign advance[l]  = (&ended[LEVELS:l+1]) && !at_last[l];
            assign restart[l]  = &ended[LEVELS:l];
            assign index[l*W +: W] = index_q;

            always @(posedge clk)
                if (start || (step && restart[l])) begin
                    index_q <= {W{1'b0}};
                    first_q <= 1'b1;
                    last_q  <= single;
                end else if (step && advance[l]) begin
                    index_q <= next;
                    first_q <= 1'b0;
                    last_q  <= next + ONE == count;
                end
        end
    endgenerate
endmodule

`default_nettype wire
