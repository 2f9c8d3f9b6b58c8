// SPDX-License-Identifier: Apache-2.0
// Correlation of two 16-channel signals: over a frame of samples, word i of column j is the sum of a[i] * b[j], signed
// and exact. One sample per cycle, the result after s_last column by column (j = m_index), 5 cycles later the first.
// Between the last samples of two frames lie at least 16 cycles. The arithmetic is all in mac_array.
`default_nettype none

module gc_outer_product #(
    parameter DW    = 12,  // bits of a channel, 8..16
    parameter SUM_W = 32   // bits of a sum, 2*DW+4..48
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                s_valid,
    input  wire                s_first,
    input  wire                s_last,
    input  wire [16*DW-1:0]    s_a,
    input  wire [16*DW-1:0]    s_b,
    output wire                m_valid,
    output wire                m_last,
    output wire [3:0]          m_index,
    output wire [16*SUM_W-1:0] m_sums
);
    localparam [4:0] CHANNELS = 5'd16;

    wire [4:0] index;

    // GRID 4 makes 16 lanes; with 16 columns all lanes are one group, so b goes to the columns as it is.
    gc_mac_array #(
        .GRID      (4),
        .COLS      (16),
        .DW        (DW),
        .ACC_W     (SUM_W),
        .SUM_COLUMN(0)
    ) u_array (
        .clk      (clk),
        .rst      (rst),
        .s_valid  (s_valid),
        .s_first  (s_first),
        .s_last   (s_last),
        .s_columns(CHANNELS),
        .s_sum    (1'b0),
        .s_row    (s_a),
        .s_col    (s_b),
        .m_valid  (m_valid),
        .m_index  (index),
        .m_last   (m_last),
        .m_acc    (m_sums)
    );

    assign m_index = index[3:0];
    wire _unused = &{1'b0, index[4]};
endmodule

`default_nettype wire
