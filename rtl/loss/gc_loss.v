// SPDX-License-Identifier: Apache-2.0
// Loss of one vector of LANES = GRID * GRID last-layer outputs per cycle: their local gradients, and the running
// sum of the squared differences. Free running without back-pressure; m_delta 5 cycles after s_valid, sts_loss
// 5 + log2 LANES cycles after it; all s_ inputs belong to the word they come with. s_kind 0 passes the data
// unchanged and counts nothing. Bit-exact with gradcore.ops.loss.difference, loss_delta and loss_sum.
`default_nettype none

module gc_loss #(
    parameter GRID = 8,  // 4 or 8
    parameter DW   = 16  // bits of an element, 8..16
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    cfg_clear,  // sts_loss returns to zero; no loss word may be on its way
    input  wire                    s_valid,
    input  wire [1:0]              s_kind,     // 0 none, 1 euclidean, 2 square hinge
    input  wire [DW-1:0]           s_t_pos,    // signed
    input  wire [DW-1:0]           s_t_neg,    // signed, euclidean only
    input  wire [4:0]              s_shift,
    input  wire [GRID*GRID-1:0]    s_target,   // 1 for the labelled class
    input  wire [GRID*GRID-1:0]    s_enable,   // 0 for lanes outside the map and images that only pad
    input  wire [GRID*GRID*DW-1:0] s_data,     // signed
    output wire                    m_valid,
    output wire [GRID*GRID*DW-1:0] m_delta,    // signed
    output wire [GRID*GRID-1:0]    m_over,     // lane is saturated; none that is not enabled
    output wire [63:0]             sts_loss
);
    localparam LANES = GRID * GRID;
    localparam SQR_W = 2 * DW;  // |d| < 2^DW

    generate
        if (GRID != 4 && GRID != 8) begin : g_illegal_grid
            gradcore_illegal_parameter_GRID_not_4_or_8 u_stop ();
        end
        if (DW < 8 || DW > 16) begin : g_illegal_dw
            gradcore_illegal_parameter_DW_outside_8_to_16 u_stop ();
        end
    endgenerate

    localparam [4:0] KEEP = 5'd16;  // undoes the shift by 16 of the difference

    wire          none  = s_kind == 2'd0;
    wire          hinge = s_kind[1];
    wire [DW-1:0] t_pos = none ? {DW{1'b0}} : s_t_pos;
    wire [DW-1:0] t_neg = none ? {DW{1'b0}} : s_t_neg;

    reg [4:0] valid_q;
    reg [2:0] count_q;  // bit i: the word in stage i+1 belongs to a loss
    reg [4:0] shift_q;

    always @(posedge clk) if (s_valid) shift_q <= none ? KEEP : s_shift;

    wire [LANES*SQR_W-1:0] square;

    genvar l;
    generate
        for (l = 0; l < LANES; l = l + 1) begin : g_lane
            gc_loss_lane #(.DW(DW)) u_lane (
                .clk      (clk),
                .s_step   ({valid_q[3:0], s_valid}),
                .s1_count (count_q[1:0]),
                .s_hinge  (hinge),
                .s_t_pos  (t_pos),
                .s_t_neg  (t_neg),
                .s_target (s_target[l]),
                .s_enable (s_enable[l] | none),
                .s_data   (s_data[l*DW +: DW]),
                .s1_shift (shift_q),
                .m_delta  (m_delta[l*DW +: DW]),
                .m_over   (m_over[l]),
                .m_square (square[l*SQR_W +: SQR_W])
            );
        end
    endgenerate

    gc_loss_sum #(.LANES(LANES), .SQR_W(SQR_W)) u_sum (
        .clk       (clk),
        .rst       (rst),
        .cfg_clear (cfg_clear),
        .s_valid   (count_q[2]),
        .s_square  (square),
        .sts_loss  (sts_loss)
    );

    assign m_valid = valid_q[4];

    always @(posedge clk) begin
        valid_q <= {valid_q[3:0], s_valid};
        count_q <= {count_q[1:0], s_valid & ~none};
        if (rst) begin
            valid_q <= 5'b0;
            count_q <= 3'b0;
        end
    end
endmodule

`default_nettype wire
