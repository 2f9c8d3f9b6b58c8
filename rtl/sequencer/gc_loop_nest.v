// SPDX-License-Identifier: Apache-2.0
// Counters of a nest of loops, level 0 outermost. `start` sets all of them to the first iteration and samples nothing
// else; each `step` moves to the next one. `advance` and `restart` say which level the next step counts up and which
// levels it returns to zero, `at_last` which are in their last iteration: all of them are found a step ahead and come
// from registers, so that a late `step` is not made later. One step per cycle. cfg_count is stable from start on. With
// COUNT_LATE it may change while all levels are in their first iteration, and s_single and s_two with it: which of the
// counts are at most 1, and which are 2. 0 counts as 1.
`default_nettype none

module gc_loop_nest #(
    parameter LEVELS     = 6,
    parameter W          = 16,   // bits of a counter
    parameter COUNT_LATE = 0
) (
    input  wire                clk,
    input  wire [LEVELS*W-1:0] cfg_count,   // iterations of level l at [l*W +: W]
    input  wire [LEVELS-1:0]   s_single,    // with COUNT_LATE
    input  wire [LEVELS-1:0]   s_two,       // likewise
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

    localparam [W:0] ONE = 1, TWO = 2, THREE = 3;

    reg               begun_q;      // all levels are in their first iteration: what they are at follows from the counts
    reg  [LEVELS-1:0] last_q;
    reg  [LEVELS-1:0] advance_q;
    reg  [LEVELS-1:0] restart_q;
    wire [LEVELS-1:0] single;
    wire [LEVELS-1:0] two;
    wire [LEVELS-1:0] next_last;    // what the step brings
    wire [LEVELS-1:0] begin_ends;   // all levels inside are
    wire [LEVELS-1:0] next_ends;

    assign at_last = begun_q ? single : last_q;
    assign last    = restart[0];

    always @(posedge clk) begin
        if (start)     begun_q <= 1'b1;
        else if (step) begun_q <= last;
        if (step)      last_q  <= next_last;
    end

    genvar l;
    generate
        if (COUNT_LATE != 0) begin : g_late
            assign single = s_single;
            assign two    = s_two;
        end else begin : g_early
            reg [LEVELS-1:0] single_q;
            reg [LEVELS-1:0] two_q;
            assign single = single_q;
            assign two    = two_q;
            for (l = 0; l < LEVELS; l = l + 1) begin : g_flag
                wire [W:0] count = {1'b0, cfg_count[l*W +: W]};
                always @(posedge clk) if (start) begin
                    single_q[l] <= count <= ONE;
                    two_q[l]    <= count == TWO;
                end
            end
            wire _unused = &{1'b0, s_single, s_two};
        end
        for (l = 0; l < LEVELS; l = l + 1) begin : g_level
            // A level moves with the step when all levels inside it are in their last iteration.
            wire [LEVELS-1:0] outside = ~({LEVELS{1'b1}} << l) | ({{(LEVELS-1){1'b0}}, 1'b1} << l);
            assign begin_ends[l] = &(single | outside);
            assign next_ends[l]  = &(next_last | outside);
            wire [W-1:0] count      = cfg_count[l*W +: W];
            reg  [W-1:0] index_q;
            reg  [W-1:0] left_q;       // iterations from this one on; not before the first step
            reg          near_q;       // two of them
            reg          first_q;
            wire [W-1:0] left       = begun_q ? count : left_q;
            wire         near       = begun_q ? two[l] : near_q;

            assign at_first[l]  = first_q;
            assign advance[l]   = begun_q ? begin_ends[l] && !single[l] : advance_q[l];
            assign restart[l]   = begun_q ? begin_ends[l] && single[l] : restart_q[l];
            assign next_last[l] = restart[l] ? single[l] : advance[l] ? near : at_last[l];
            assign index[l*W +: W] = index_q;

            always @(posedge clk) begin
                if (step) begin
                    advance_q[l] <= next_ends[l] && !next_last[l];
                    restart_q[l] <= next_ends[l] && next_last[l];
                    left_q       <= restart[l] ? count : advance[l] ? left - ONE[W-1:0] : left;
                    near_q       <= restart[l] ? two[l] : advance[l] ? {1'b0, left} == THREE : near;
                end
                if (start || (step && restart[l])) begin
                    index_q <= {W{1'b0}};
                    first_q <= 1'b1;
                end else if (step && advance[l]) begin
                    index_q <= index_q + ONE[W-1:0];
                    first_q <= 1'b0;
                end
            end
        end
    endgenerate
endmodule

`default_nettype wire
