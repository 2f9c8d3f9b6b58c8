// SPDX-License-Identifier: Apache-2.0
// Joins the sums of lanes that took different channels: with s_split lane l of the first COLS lanes gets the sum of
// the lanes l, l + COLS, l + 2 COLS.. modulo 2^ACC_W, all others zero; without it every lane keeps its own. Free
// running; 1 cycle, 2 for eight groups of COLS lanes, none if there is one group.
`default_nettype none

module gc_group_sum #(
    parameter LANES = 64,
    parameter COLS  = 16,     // LANES/COLS is 1, 2, 4 or 8
    parameter ACC_W = 48
) (
    input  wire                   clk,
    input  wire                   s_split,
    input  wire [LANES*ACC_W-1:0] s_acc,
    output wire [LANES*ACC_W-1:0] m_acc
);
    localparam GROUPS = LANES/COLS;

    genvar l;
    generate
        if (GROUPS == 1) begin : g_one
            assign m_acc = s_acc;
            wire _unused = &{1'b0, clk, s_split};
        end else begin : g_more
            localparam LEFT = GROUPS == 8 ? 4 : GROUPS;     // groups of `left`
            wire                   split;
            wire [LANES*ACC_W-1:0] left;

            if (GROUPS == 8) begin : g_pairs
                reg                   split_q;
                reg [LANES*ACC_W-1:0] left_q;
                wire [LANES*ACC_W/2-1:0] high = s_acc[LANES*ACC_W-1:LANES*ACC_W/2];
                always @(posedge clk) begin
                    split_q <= s_split;
                    left_q[LANES*ACC_W-1:LANES*ACC_W/2] <= high;
                end
                for (l = 0; l < LANES/2; l = l + 1) begin : g_pair
                    wire [ACC_W-1:0] other = high[l*ACC_W +: ACC_W] & {ACC_W{s_split}};
                    always @(posedge clk) left_q[l*ACC_W +: ACC_W] <= s_acc[l*ACC_W +: ACC_W] + other;
                end
                assign split = split_q;
                assign left  = left_q;
            end else begin : g_direct
                assign split = s_split;
                assign left  = s_acc;
            end

            for (l = 0; l < LANES; l = l + 1) begin : g_lane
                reg  [ACC_W-1:0] acc_q;
                wire [ACC_W-1:0] own = left[l*ACC_W +: ACC_W];
                if (l >= COLS) begin : g_other
                    always @(posedge clk) acc_q <= own & {ACC_W{!split}};
                end else begin : g_first
                    wire [ACC_W-1:0] second = left[(l+COLS)*ACC_W +: ACC_W];
                    wire [ACC_W-1:0] third  = LEFT == 4 ? left[(l+2*COLS)%LANES*ACC_W +: ACC_W] : {ACC_W{1'b0}};
                    wire [ACC_W-1:0] fourth = LEFT == 4 ? left[(l+3*COLS)%LANES*ACC_W +: ACC_W] : {ACC_W{1'b0}};
                    wire [ACC_W-1:0] all    = {ACC_W{split}};
                    always @(posedge clk) acc_q <= (own + (second & all)) + ((third + fourth) & all);
                end
                assign m_acc[l*ACC_W +: ACC_W] = acc_q;
            end
        end
    endgenerate
endmodule

`default_nettype wire
