// SPDX-License-Identifier: Apache-2.0
// Passes of several lengths through an array of 16 lanes in two groups and 8 columns.
`default_nettype none

module gc_mac_array_tb;
    localparam LANES = 16, COLS = 8, DW = 8, ACC_W = 24;
    localparam IN_W  = 1 + 1 + 4 + 1 + 2*LANES*DW;
    localparam OUT_W = 4 + 1 + LANES*ACC_W;

    wire                   clk, rst, valid, ready, first, last, sum, m_valid, m_last;
    wire [IN_W-1:0]        word;
    wire [3:0]             columns, m_index;
    wire [LANES*DW-1:0]    row, col;
    wire [LANES*ACC_W-1:0] m_acc;

    assign {first, last, columns, sum, row, col} = word;

    gc_tb_player #(.NAME("gc_mac_array_tb"), .IN_W(IN_W), .OUT_W(OUT_W)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(1'b1), .m_data(word),
        .s_valid(m_valid), .s_ready(ready), .s_data({m_index, m_last, m_acc})
    );
    gc_mac_array #(.GRID(4), .COLS(COLS), .DW(DW), .ACC_W(ACC_W), .SUM_COLUMN(1)) u_array (
        .clk(clk), .rst(rst), .s_valid(valid), .s_first(first), .s_last(last), .s_columns(columns), .s_sum(sum),
        .s_row(row), .s_col(col), .m_valid(m_valid), .m_index(m_index), .m_last(m_last), .m_acc(m_acc)
    );

    wire _unused = &{1'b0, ready};
endmodule

`default_nettype wire
