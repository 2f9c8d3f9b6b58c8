// SPDX-License-Identifier: Apache-2.0
// Sums LANES unsigned squares per cycle in a registered adder tree and adds them to a 64-bit total. One vector per
// cycle, free running; the total holds a vector 1 + log2 LANES cycles after s_valid. Exact; cfg_clear empties the
// total only, not the tree.
`default_nettype none

module gc_loss_sum #(
    parameter LANES = 64,  // a power of two
    parameter SQR_W = 33
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire                   cfg_clear,
    input  wire                   s_valid,
    input  wire [LANES*SQR_W-1:0] s_square,
    output reg  [63:0]            sts_loss
);
    localparam LEVELS = LANES == 64 ? 6 : 4;
    localparam SUM_W  = SQR_W + LEVELS;

    generate
        if (LANES != 16 && LANES != 64) begin : g_illegal_lanes
            gradcore_illegal_parameter_LANES_not_16_or_64 u_stop ();
        end
    endgenerate

    reg  [LEVELS:1] valid_q;
    wire [LEVELS:0] step = {valid_q, s_valid};

    genvar v, n;
    generate
        for (v = 1; v <= LEVELS; v = v + 1) begin : g_level
            localparam IN_W = SQR_W + v - 1;  // a level grows by one bit

            wire [(LANES >> (v-1))*IN_W-1:0]  in;
            wire [(LANES >> v)*(IN_W+1)-1:0]  out;

            if (v == 1) begin : g_first
                assign in = s_square;
            end else begin : g_next
                assign in = g_level[v-1].out;
            end

            for (n = 0; n < (LANES >> v); n = n + 1) begin : g_node
                reg [IN_W:0] sum_q;

                always @(posedge clk)
                    if (step[v-1]) sum_q <= {1'b0, in[2*n*IN_W +: IN_W]} + {1'b0, in[(2*n+1)*IN_W +: IN_W]};

                assign out[n*(IN_W+1) +: IN_W+1] = sum_q;
            end
        end
    endgenerate

    wire [SUM_W-1:0] sum = g_level[LEVELS].out;

    always @(posedge clk) begin
        valid_q <= step[LEVELS-1:0];
        if (rst) valid_q <= {LEVELS{1'b0}};
    end

    always @(posedge clk) begin
        if (step[LEVELS]) sts_loss <= sts_loss + {{(64-SUM_W){1'b0}}, sum};
        if (rst || cfg_clear) sts_loss <= 64'd0;
    end
endmodule

`default_nettype wire
