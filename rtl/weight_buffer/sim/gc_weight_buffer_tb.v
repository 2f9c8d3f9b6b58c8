// SPDX-License-Identifier: Apache-2.0
// Blocks of weights read by row, by column and through port b.
`default_nettype none

module gc_weight_buffer_tb;
    localparam IN_W = 1 + 4 + 2 + 32 + 1 + 4 + 2 + 1 + 1 + 4 + 2;

    wire            clk, rst, valid, s_ready, wr, rd, ramp, b, b_ready, rd_valid, b_valid;
    wire [IN_W-1:0] word;
    wire [3:0]      wr_addr, rd_addr, b_addr;
    wire [1:0]      wr_rot, rd_rot, b_rot;
    wire [31:0]     wr_data, rd_data, b_data;

    assign {wr, wr_addr, wr_rot, wr_data, rd, rd_addr, rd_rot, ramp, b, b_addr, b_rot} = word;

    gc_tb_player #(.NAME("gc_weight_buffer_tb"), .IN_W(IN_W), .OUT_W(32)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(!b || b_ready), .m_data(word),
        .s_valid(rd_valid || b_valid), .s_ready(s_ready), .s_data(rd_valid ? rd_data : b_data)
    );
    gc_weight_buffer #(.COLS(4), .DW(8), .DEPTH(16), .LATENCY(5), .PARTS(4), .GROUPS(1)) u_buffer (
        .clk(clk), .rst(rst),
        .s_wr_valid(valid && wr), .s_wr_addr(wr_addr), .s_wr_rot(wr_rot), .s_wr_data(wr_data),
        .s_scrub(1'b0), .s_scrub_addr(4'd0),
        .s_rd_valid(valid && rd), .s_rd_addr(rd_addr), .s_rd_rot(rd_rot), .s_rd_ramp(ramp), .s_rd_split(1'b0),
        .m_rd_valid(rd_valid), .m_rd_data(rd_data),
        .s_b_valid(valid && b), .s_b_ready(b_ready), .s_b_addr(b_addr), .s_b_rot(b_rot),
        .m_b_valid(b_valid), .m_b_data(b_data)
    );

    wire _unused = &{1'b0, s_ready};
endmodule

`default_nettype wire
