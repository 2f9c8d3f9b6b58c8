// SPDX-License-Identifier: Apache-2.0
// Two tensors written in blocks, then read in every way while others are written.
`default_nettype none

module gc_operand_buffer_tb;
    localparam LANES = 16, DW = 8, ADDR_W = 7;
    localparam ACCESS_W = ADDR_W + 12 + 12 + 8 + 8 + 16 + 2*ADDR_W + 2 + 2 + 3 + 3 + 12 + 12;
    localparam IN_W     = 1 + ACCESS_W + LANES + LANES*DW + 1 + ACCESS_W + 1 + 1 + 3 + 16 + 3;

    wire                clk, rst, valid, s_ready, wr, rd, channel, split, m_valid;
    wire [IN_W-1:0]     word;
    wire [ADDR_W-1:0]   wr_addr, wr_stride_y, wr_stride_x, rd_addr, rd_stride_y, rd_stride_x;
    wire [11:0]         wr_y0, wr_x0, wr_height, wr_width, rd_y0, rd_x0, rd_height, rd_width;
    wire [7:0]          wr_dy, wr_dx, rd_dy, rd_dx;
    wire [15:0]         wr_chan, rd_chan, channels;
    wire [1:0]          wr_fold_a, wr_fold_s, rd_fold_a, rd_fold_s;
    wire [2:0]          wr_rot_y, wr_rot_x, rd_rot_y, rd_rot_x, step, user, m_user;
    wire [LANES-1:0]    enable;
    wire [LANES*DW-1:0] data, m_data;

    assign {wr, wr_addr, wr_y0, wr_x0, wr_dy, wr_dx, wr_chan, wr_stride_y, wr_stride_x, wr_fold_a, wr_fold_s,
            wr_rot_y, wr_rot_x, wr_height, wr_width, enable, data, rd, rd_addr, rd_y0, rd_x0, rd_dy, rd_dx, rd_chan,
            rd_stride_y, rd_stride_x, rd_fold_a, rd_fold_s, rd_rot_y, rd_rot_x, rd_height, rd_width, channel, split,
            step, channels, user} = word;

    gc_tb_player #(.NAME("gc_operand_buffer_tb"), .IN_W(IN_W), .OUT_W(3 + LANES*DW)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(1'b1), .m_data(word), .s_valid(m_valid), .s_ready(s_ready),
        .s_data({m_user, m_data})
    );
    gc_operand_buffer #(.GRID(4), .DW(DW), .DEPTH(1 << ADDR_W), .USER_W(3), .CHANNEL_R(2)) u_buffer (
        .clk(clk), .rst(rst), .s_wr_valid(valid && wr), .s_wr_addr(wr_addr), .s_wr_y0(wr_y0), .s_wr_x0(wr_x0),
        .s_wr_dy(wr_dy), .s_wr_dx(wr_dx), .s_wr_chan(wr_chan), .s_wr_stride_y(wr_stride_y), .s_wr_stride_x(wr_stride_x),
        .s_wr_fold_a(wr_fold_a), .s_wr_fold_s(wr_fold_s), .s_wr_rot_y(wr_rot_y), .s_wr_rot_x(wr_rot_x),
        .s_wr_height(wr_height), .s_wr_width(wr_width), .s_wr_enable(enable), .s_wr_data(data),
        .s_rd_valid(valid && rd), .s_rd_addr(rd_addr), .s_rd_y0(rd_y0), .s_rd_x0(rd_x0), .s_rd_dy(rd_dy),
        .s_rd_dx(rd_dx), .s_rd_chan(rd_chan), .s_rd_stride_y(rd_stride_y), .s_rd_stride_x(rd_stride_x),
        .s_rd_fold_a(rd_fold_a), .s_rd_fold_s(rd_fold_s), .s_rd_rot_y(rd_rot_y), .s_rd_rot_x(rd_rot_x),
        .s_rd_height(rd_height), .s_rd_width(rd_width), .s_rd_channel(channel), .s_rd_split(split), .s_rd_step(step),
        .s_rd_channels(channels), .s_rd_user(user), .m_rd_valid(m_valid), .m_rd_user(m_user), .m_rd_data(m_data)
    );

    wire _unused = &{1'b0, s_ready};
endmodule

`default_nettype wire
