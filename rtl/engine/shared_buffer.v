// SPDX-License-Identifier: Apache-2.0
// An operand buffer with two users on each side. On the read side user a always goes first and user b gets the cycles that are
// left (b_rd_ready); b's vectors come back in order on m_b_valid with m_rd_data. On the write side likewise. Reads take the operand
// buffer's fixed latency. Accesses arrive as packed records (doc/architecture.md, "Access records").
`default_nettype none

module shared_buffer #(
    parameter GRID      = 8,
    parameter DW        = 16,
    parameter DEPTH     = 2048,
    parameter COLS      = 16,
    parameter COLS_LOG  = 4,
    parameter ACCESS_W  = 138
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    a_rd_valid,
    input  wire [ACCESS_W-1:0]     a_rd_access,
    input  wire                    a_rd_channel,
    input  wire [COLS_LOG-1:0]     a_rd_step,
    input  wire [15:0]             a_rd_channels,
    input  wire                    b_rd_valid,
    output wire                    b_rd_ready,
    input  wire [ACCESS_W-1:0]     b_rd_access,
    output wire                    m_b_valid,
    output wire [GRID*GRID*DW-1:0] m_rd_data,
    input  wire                    a_wr_valid,
    input  wire [ACCESS_W-1:0]     a_wr_access,
    input  wire [GRID*GRID-1:0]    a_wr_enable,
    input  wire [GRID*GRID*DW-1:0] a_wr_data,
    input  wire                    b_wr_valid,
    output wire                    b_wr_ready,
    input  wire [ACCESS_W-1:0]     b_wr_access,
    input  wire [GRID*GRID*DW-1:0] b_wr_data
);
    localparam AW = $clog2(DEPTH);

    wire [ACCESS_W-1:0] rd = a_rd_valid ? a_rd_access : b_rd_access;
    wire [ACCESS_W-1:0] wr = a_wr_valid ? a_wr_access : b_wr_access;
    wire                rd_valid;
    wire                rd_user;

    assign b_rd_ready = !a_rd_valid;
    assign b_wr_ready = !a_wr_valid;
    assign m_b_valid  = rd_valid && rd_user;

    operand_buffer #(.GRID(GRID), .DW(DW), .DEPTH(DEPTH), .USER_W(1), .CHANNEL_R(COLS/GRID)) u_buffer (
        .clk(clk), .rst(rst),
        .s_wr_valid(a_wr_valid || b_wr_valid),
        .s_wr_addr(wr[0 +: AW]), .s_wr_y0(wr[16 +: 12]), .s_wr_x0(wr[28 +: 12]), .s_wr_dy(wr[40 +: 8]), .s_wr_dx(wr[48 +: 8]),
        .s_wr_chan(wr[56 +: 16]), .s_wr_stride_y(wr[72 +: AW]), .s_wr_stride_x(wr[88 +: AW]), .s_wr_fold_a(wr[104 +: 2]),
        .s_wr_fold_s(wr[106 +: 2]), .s_wr_rot_y(wr[108 +: 3]), .s_wr_rot_x(wr[111 +: 3]), .s_wr_height(wr[114 +: 12]), .s_wr_width(wr[126 +: 12]),
        .s_wr_enable(a_wr_valid ? a_wr_enable : {(GRID*GRID){1'b1}}), .s_wr_data(a_wr_valid ? a_wr_data : b_wr_data),
        .s_rd_valid(a_rd_valid || b_rd_valid),
        .s_rd_addr(rd[0 +: AW]), .s_rd_y0(rd[16 +: 12]), .s_rd_x0(rd[28 +: 12]), .s_rd_dy(rd[40 +: 8]), .s_rd_dx(rd[48 +: 8]),
        .s_rd_chan(rd[56 +: 16]), .s_rd_stride_y(rd[72 +: AW]), .s_rd_stride_x(rd[88 +: AW]), .s_rd_fold_a(rd[104 +: 2]),
        .s_rd_fold_s(rd[106 +: 2]), .s_rd_rot_y(rd[108 +: 3]), .s_rd_rot_x(rd[111 +: 3]), .s_rd_height(rd[114 +: 12]), .s_rd_width(rd[126 +: 12]),
        .s_rd_channel(a_rd_valid && a_rd_channel), .s_rd_step(a_rd_step), .s_rd_channels(a_rd_channels), .s_rd_user(!a_rd_valid),
        .m_rd_valid(rd_valid), .m_rd_user(rd_user), .m_rd_data(m_rd_data)
    );

    wire _unused = &{1'b0, rd, wr};
endmodule

`default_nettype wire
