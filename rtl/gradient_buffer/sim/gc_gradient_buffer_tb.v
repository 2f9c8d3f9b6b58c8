// SPDX-License-Identifier: Apache-2.0
// Rows of 8 columns that grow by the sums of two groups of lanes, wrap around and begin anew.
`default_nettype none

module gc_gradient_buffer_tb;
    localparam LANES = 16, COLS = 8, ACC_W = 24;
    localparam IN_W = 1 + 4 + 1 + LANES*ACC_W + 1 + 4;

    wire                   clk, rst, valid, s_ready, row, first, rd, rd_ready, rd_valid, overflow, idle;
    wire [IN_W-1:0]        word;
    wire [3:0]             addr, rd_addr;
    wire [LANES*ACC_W-1:0] acc;
    wire [COLS*ACC_W-1:0]  rd_data;

    assign {row, addr, first, acc, rd, rd_addr} = word;

    gc_tb_player #(.NAME("gc_gradient_buffer_tb"), .IN_W(IN_W), .OUT_W(1 + COLS*ACC_W)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(!rd || rd_ready), .m_data(word),
        .s_valid(rd_valid), .s_ready(s_ready), .s_data({overflow, rd_data})
    );
    gc_gradient_buffer #(.GRID(4), .COLS(COLS), .ACC_W(ACC_W), .DEPTH(16)) u_buffer (
        .clk(clk), .rst(rst),
        .s_valid(valid && row), .s_addr(addr), .s_first(first),
        .s_acc(acc),
        .s_rd_valid(valid && rd), .s_rd_ready(rd_ready), .s_rd_addr(rd_addr),
        .m_rd_valid(rd_valid), .m_rd_data(rd_data),
        .s_scrub(1'b0), .s_scrub_addr(4'd0),
        .s_clear(1'b0),
        .sts_overflow(overflow), .sts_idle(idle)
    );

    wire _unused = &{1'b0, s_ready, idle};
endmodule

`default_nettype wire
