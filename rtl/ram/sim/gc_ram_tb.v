// SPDX-License-Identifier: Apache-2.0
// Writes and reads of gc_ram_sdp at the same time.
`default_nettype none

module gc_ram_tb;
    localparam IN_W = 1 + 4 + 12 + 1 + 4;

    wire            clk, rst, valid, ready, wr, rd;
    wire [IN_W-1:0] word;
    wire [3:0]      wr_addr, rd_addr;
    wire [11:0]     wr_data, rd_data;
    reg  [1:0]      reading_q;

    assign {wr, wr_addr, wr_data, rd, rd_addr} = word;

    gc_tb_player #(.NAME("gc_ram_tb"), .IN_W(IN_W), .OUT_W(12)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(1'b1), .m_data(word), .s_valid(reading_q[1]), .s_ready(ready),
        .s_data(rd_data)
    );
    gc_ram_sdp #(.WIDTH(12), .DEPTH(16), .OUT_REG(1)) u_ram (
        .clk(clk), .s_wr_en(valid && wr), .s_wr_addr(wr_addr), .s_wr_data(wr_data),
        .s_rd_en(valid && rd), .s_rd_addr(rd_addr), .m_rd_data(rd_data)
    );

    always @(posedge clk) reading_q <= rst ? 2'b00 : {reading_q[0], valid && rd};

    wire _unused = &{1'b0, ready};
endmodule

`default_nettype wire
