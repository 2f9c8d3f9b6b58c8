// SPDX-License-Identifier: Apache-2.0
// An operand buffer with two users on each side. On the read side user a always goes first and user b gets the cycles
// that are left (b_rd_ready); b's vectors come back in order on m_b_valid with m_rd_data and b_rd_mark. On the write
// side likewise. The access of the user that goes stands in a register: reads and writes take a cycle more than those
// of the operand buffer. Accesses arrive as packed records (doc/architecture.md, "Access records"). s_scrub, while
// nobody writes, makes the words of all banks at an address zero, 7 cycles later.
`default_nettype none

module gc_shared_buffer #(
    parameter GRID      = 8,
    parameter DW        = 16,
    parameter DEPTH     = 2048,
    parameter ADDR_W    = 16,   // bits of addr that the users fill, 16 or 20
    parameter COLS      = 16,
    parameter COLS_LOG  = 4,
    parameter MARK_W    = 1,
    parameter ULTRA     = 0,    // of gc_operand_buffer
    parameter ACCESS_W  = 1     // bits of an access record: gc_engine says how many
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    a_rd_valid,
    input  wire                    a_rd_row,     // it reads a_rd_access; if not, and a_rd_channel: a_rd_other
    input  wire [ACCESS_W-1:0]     a_rd_access,
    input  wire [ACCESS_W-1:0]     a_rd_other,
    input  wire                    a_rd_channel,
    input  wire                    a_rd_split,
    input  wire [COLS_LOG-1:0]     a_rd_step,
    input  wire [15:0]             a_rd_channels,
    input  wire                    b_rd_valid,
    output wire                    b_rd_ready,
    input  wire [ACCESS_W-1:0]     b_rd_access,
    input  wire [MARK_W-1:0]       b_rd_mark,    // travels with the vector
    output wire                    m_b_valid,
    output wire [MARK_W-1:0]       m_b_mark,
    output wire [GRID*GRID*DW-1:0] m_rd_data,
    input  wire                    a_wr_valid,
    input  wire [ACCESS_W-1:0]     a_wr_access,
    input  wire [GRID*GRID-1:0]    a_wr_enable,
    input  wire [GRID*GRID*DW-1:0] a_wr_data,
    input  wire                    b_wr_valid,
    output wire                    b_wr_ready,
    input  wire [ACCESS_W-1:0]     b_wr_access,
    input  wire [GRID*GRID*DW-1:0] b_wr_data,
    input  wire                    s_scrub,
    input  wire [$clog2(DEPTH)-1:0] s_scrub_addr
);
    localparam AW = $clog2(DEPTH);

    generate
        if (DEPTH > (1 << ADDR_W)) begin : g_illegal_depth
            gradcore_illegal_parameter_DEPTH_beyond_the_addresses u_stop ();
        end
    endgenerate

    // A vector without strides has a word in every bank, all of them at its address.
    reg           scrub_q;
    reg  [AW-1:0] scrub_addr_q;
    wire [ACCESS_W-1:0] scrub;
    gc_natural_access #(.ACCESS_W(ACCESS_W)) u_scrub (
        .s_addr({{(20-AW){1'b0}}, scrub_addr_q}), .s_y0(12'd0), .s_x0(12'd0), .s_chan(16'd0),
        .s_fold(2'd0), .s_rot_y(3'd0), .s_rot_x(3'd0), .s_height(12'hfff), .s_width(12'hfff),
        .m_access(scrub)
    );
    always @(posedge clk) begin
        scrub_q      <= s_scrub;
        scrub_addr_q <= s_scrub_addr;
        if (rst) scrub_q <= 1'b0;
    end

    wire                    a_reads = a_rd_valid && (a_rd_row || a_rd_channel);
    reg                     rd_valid_q, rd_user_q, channel_q, split_q, wr_valid_q;
    reg  [ACCESS_W-1:0]     rd_q, wr_q;
    reg  [COLS_LOG-1:0]     step_q;
    reg  [15:0]             channels_q;
    reg  [MARK_W-1:0]       mark_q;
    reg  [GRID*GRID-1:0]    enable_q;
    reg  [GRID*GRID*DW-1:0] data_q;
    always @(posedge clk) begin
        rd_valid_q <= a_reads || b_rd_valid;
        rd_user_q  <= !a_reads;
        rd_q       <= !a_reads ? b_rd_access : a_rd_row ? a_rd_access : a_rd_other;
        mark_q     <= b_rd_mark;
        channel_q  <= a_rd_valid && a_rd_channel;
        split_q    <= a_reads && a_rd_split;
        step_q     <= a_rd_step;
        channels_q <= a_rd_channels;
        wr_valid_q <= a_wr_valid || b_wr_valid || scrub_q;
        wr_q       <= scrub_q ? scrub : a_wr_valid ? a_wr_access : b_wr_access;
        enable_q   <= a_wr_valid ? a_wr_enable : {(GRID*GRID){1'b1}};
        data_q     <= {(GRID*GRID*DW){!scrub_q}} & (a_wr_valid ? a_wr_data : b_wr_data);
        if (rst) begin
            rd_valid_q <= 1'b0;
            wr_valid_q <= 1'b0;
        end
    end
    wire [19:0] rd_addr;
    wire [11:0] rd_y0, rd_x0, rd_height, rd_width;
    wire [7:0]  rd_dy, rd_dx;
    wire [15:0] rd_chan, rd_stride_y, rd_stride_x;
    wire [1:0]  rd_fold_a, rd_fold_s;
    wire [2:0]  rd_rot_y, rd_rot_x;
    gc_access_unpack #(.ACCESS_W(ACCESS_W)) u_rd (
        .s_access(rd_q),
        .m_addr(rd_addr), .m_chan(rd_chan),
        .m_y0(rd_y0), .m_x0(rd_x0),
        .m_dy(rd_dy), .m_dx(rd_dx),
        .m_stride_y(rd_stride_y), .m_stride_x(rd_stride_x),
        .m_fold_a(rd_fold_a), .m_fold_s(rd_fold_s),
        .m_rot_y(rd_rot_y), .m_rot_x(rd_rot_x),
        .m_height(rd_height), .m_width(rd_width)
    );
    wire [19:0] rd_wide_y = {4'd0, rd_stride_y};
    wire [19:0] rd_wide_x = {4'd0, rd_stride_x};
    wire [19:0] wr_addr;
    wire [11:0] wr_y0, wr_x0, wr_height, wr_width;
    wire [7:0]  wr_dy, wr_dx;
    wire [15:0] wr_chan, wr_stride_y, wr_stride_x;
    wire [1:0]  wr_fold_a, wr_fold_s;
    wire [2:0]  wr_rot_y, wr_rot_x;
    gc_access_unpack #(.ACCESS_W(ACCESS_W)) u_wr (
        .s_access(wr_q),
        .m_addr(wr_addr), .m_chan(wr_chan),
        .m_y0(wr_y0), .m_x0(wr_x0),
        .m_dy(wr_dy), .m_dx(wr_dx),
        .m_stride_y(wr_stride_y), .m_stride_x(wr_stride_x),
        .m_fold_a(wr_fold_a), .m_fold_s(wr_fold_s),
        .m_rot_y(wr_rot_y), .m_rot_x(wr_rot_x),
        .m_height(wr_height), .m_width(wr_width)
    );
    wire [19:0] wr_wide_y = {4'd0, wr_stride_y};
    wire [19:0] wr_wide_x = {4'd0, wr_stride_x};

    wire rd_valid, rd_user;
    wire [MARK_W-1:0] rd_mark;

    assign b_rd_ready = !a_reads;
    assign b_wr_ready = !a_wr_valid;
    assign m_b_valid  = rd_valid && rd_user;
    assign m_b_mark   = rd_mark;

    gc_operand_buffer #(
        .GRID(GRID), .DW(DW), .DEPTH(DEPTH), .USER_W(MARK_W+1), .CHANNEL_R(COLS/GRID), .ULTRA(ULTRA)
    ) u_buffer (
        .clk(clk), .rst(rst),
        .s_wr_valid(wr_valid_q),
        .s_wr_addr(wr_addr[AW-1:0]), .s_wr_chan(wr_chan),
        .s_wr_y0(wr_y0), .s_wr_x0(wr_x0),
        .s_wr_dy(wr_dy), .s_wr_dx(wr_dx),
        .s_wr_stride_y(wr_wide_y[AW-1:0]), .s_wr_stride_x(wr_wide_x[AW-1:0]),
        .s_wr_fold_a(wr_fold_a), .s_wr_fold_s(wr_fold_s),
        .s_wr_rot_y(wr_rot_y), .s_wr_rot_x(wr_rot_x),
        .s_wr_height(wr_height), .s_wr_width(wr_width),
        .s_wr_enable(enable_q), .s_wr_data(data_q),
        .s_rd_valid(rd_valid_q),
        .s_rd_addr(rd_addr[AW-1:0]), .s_rd_chan(rd_chan),
        .s_rd_y0(rd_y0), .s_rd_x0(rd_x0),
        .s_rd_dy(rd_dy), .s_rd_dx(rd_dx),
        .s_rd_stride_y(rd_wide_y[AW-1:0]), .s_rd_stride_x(rd_wide_x[AW-1:0]),
        .s_rd_fold_a(rd_fold_a), .s_rd_fold_s(rd_fold_s),
        .s_rd_rot_y(rd_rot_y), .s_rd_rot_x(rd_rot_x),
        .s_rd_height(rd_height), .s_rd_width(rd_width),
        .s_rd_channel(channel_q), .s_rd_split(split_q),
        .s_rd_step(step_q), .s_rd_channels(channels_q),
        .s_rd_user({mark_q, rd_user_q}), .m_rd_user({rd_mark, rd_user}),
        .m_rd_valid(rd_valid), .m_rd_data(m_rd_data)
    );

    wire _unused = &{1'b0, rd_addr, wr_addr, rd_wide_y, rd_wide_x, wr_wide_y, wr_wide_x};
endmodule

`default_nettype wire
