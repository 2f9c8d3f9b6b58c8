// SPDX-License-Identifier: Apache-2.0
// Joins the sums of lanes that took different channels: with s_split lane l of the first COLS lanes gets the sum of
// the lanes l, l + COLS, l + 2 COLS.. modulo 2^ACC_W, all others zero; without it every lane keeps its own. Free
// running; log2(LANES/COLS) cycles: each adds the upper half of the lanes that are left to the lower one.
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
    localparam STAGES = $clog2(LANES/COLS);

    wire [STAGES:0]             split;      // of the words that enter stage k; at STAGES of those that leave
    wire [(STAGES+1)*LANES*ACC_W-1:0] acc;
    assign split[0]              = s_split;
    assign acc[LANES*ACC_W-1:0]  = s_acc;
    assign m_acc                 = acc[STAGES*LANES*ACC_W +: LANES*ACC_W];

    genvar k, l;
    generate
        for (k = 0; k < STAGES; k = k + 1) begin : g_stage
            localparam LEFT = LANES >> (k + 1);
            reg split_q;
            assign split[k+1] = split_q;
            always @(posedge clk) split_q <= split[k];
            for (l = 0; l < LANES; l = l + 1) begin : g_lane
                wire [ACC_W-1:0] own = acc[(k*LANES + l)*ACC_W +: ACC_W];
                reg  [ACC_W-1:0] acc_q;
                assign acc[((k+1)*LANES + l)*ACC_W +: ACC_W] = acc_q;
                if (l < LEFT) begin : g_sum
                    wire [ACC_W-1:0] other = acc[(k*LANES + l + LEFT)*ACC_W +: ACC_W] & {ACC_W{split[k]}};
                    always @(posedge clk) acc_q <= own + other;
                end else begin : g_alone
                    always @(posedge clk)
                        if (split[k]) acc_q <= {ACC_W{1'b0}};
                        else          acc_q <= own;
                end
            end
        end
    endgenerate

    wire _unused = &{1'b0, clk, split[STAGES]};
endmodule

`default_nettype wire
