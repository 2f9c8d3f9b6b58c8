// SPDX-License-Identifier: Apache-2.0
// Sums LANES unsigned squares per cycle in a registered adder tree and adds them to a 64-bit total. One vector per
// cycle, free running; the total holds a vector 2 + log2 LANES cycles after s_valid: its words are added one after the
// other, so that no carry runs through both. Exact; cfg_clear empties the total only, not the tree.
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
    output wire [63:0]            sts_loss
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

    wire [63:0] sum = {{(64-SUM_W){1'b0}}, g_level[LEVELS].out};
    reg  [32:0] low_q;      // the last carry stands above the word
    reg  [31:0] more_q;     // what goes with it into the high word
    reg  [31:0] shown_q;    // the low word, beside the high one
    reg  [31:0] high_q;

    assign sts_loss = {high_q, shown_q};

    always @(posedge clk) begin
        valid_q <= step[LEVELS-1:0];
        if (rst) valid_q <= {LEVELS{1'b0}};
    end

    always @(posedge clk) begin
        if (step[LEVELS]) low_q <= {1'b0, low_q[31:0]} + {1'b0, sum[31:0]};
        else              low_q[32] <= 1'b0;
        more_q <= sum[63:32] & {32{step[LEVELS]}};
        shown_q <= low_q[31:0];
        high_q  <= high_q + more_q + {31'd0, low_q[32]};
        if (rst || cfg_clear) begin
            low_q   <= 33'd0;
            more_q  <= 32'd0;
            shown_q <= 32'd0;
            high_q  <= 32'd0;
        end
    end
endmodule

`default_nettype wire
