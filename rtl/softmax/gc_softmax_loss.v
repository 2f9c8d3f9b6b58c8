// SPDX-License-Identifier: Apache-2.0
// Adds to LOSS what the labelled lanes of a slice give: u + log2 of the sum, 16 fraction bits. A slice per cycle, free
// running; the total is whole 7 cycles after the slice. Exact: limbs of 20 bits keep the carries short, so while slices
// come the total's limbs are of different slices.
`default_nettype none

module gc_softmax_loss #(
    parameter SLICE = 4  // lanes: 1, 2, 4
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                s_clear,
    input  wire [SLICE-1:0]    s_label,   // the lane counts
    input  wire [SLICE*41-1:0] s_u,
    input  wire [SLICE*20-1:0] s_log,
    output wire [63:0]         sts_loss
);
    wire [4*21-1:0] low, high;

    genvar l;
    generate
        for (l = 0; l < 4; l = l + 1) begin : g_lane
            if (l < SLICE) begin : g_here
                reg  [20:0] low_q, high_q;
                wire [20:0] sum = {1'b0, s_u[l*41 +: 20]} + {1'b0, s_log[l*20 +: 20]};
                always @(posedge clk) begin
                    low_q  <= sum & {21{s_label[l]}};
                    high_q <= s_u[l*41+20 +: 21] & {21{s_label[l]}};
                end
                assign low[l*21 +: 21]  = low_q;
                assign high[l*21 +: 21] = high_q;
            end else begin : g_none
                assign low[l*21 +: 21]  = 21'd0;
                assign high[l*21 +: 21] = 21'd0;
            end
        end
    endgenerate

    reg [21:0] low01_q, low23_q, high01_q, high23_q;
    reg [22:0] low_sum_q, high_sum_q, high_late_q;
    reg [23:0] middle_q;
    reg [19:0] total0_q, total1_q;
    reg [23:0] total2_q;
    reg [3:0]  carry0_q;
    reg [4:0]  carry1_q;

    always @(posedge clk) begin
        low_sum_q   <= {1'b0, low01_q} + {1'b0, low23_q};
        high_sum_q  <= {1'b0, high01_q} + {1'b0, high23_q};
        {carry0_q, total0_q} <= {4'd0, total0_q} + {1'b0, low_sum_q};
        high_late_q <= high_sum_q;
        middle_q    <= {1'b0, high_late_q} + {20'd0, carry0_q};
        {carry1_q, total1_q} <= {5'd0, total1_q} + {1'b0, middle_q};
        total2_q    <= total2_q + {19'd0, carry1_q};
        if (rst || s_clear) begin
            {low_sum_q, high_sum_q, high_late_q, middle_q} <= 93'd0;
            {total0_q, total1_q, total2_q, carry0_q, carry1_q} <= 73'd0;
        end
    end
    // A reset leaves no addition on its way.
    always @(posedge clk) begin
        low01_q  <= {1'b0, low[0 +: 21]} + {1'b0, low[21 +: 21]};
        low23_q  <= {1'b0, low[42 +: 21]} + {1'b0, low[63 +: 21]};
        high01_q <= {1'b0, high[0 +: 21]} + {1'b0, high[21 +: 21]};
        high23_q <= {1'b0, high[42 +: 21]} + {1'b0, high[63 +: 21]};
        if (rst) {low01_q, low23_q, high01_q, high23_q} <= 88'd0;
    end
    assign sts_loss = {total2_q, total1_q, total0_q};
endmodule

`default_nettype wire
