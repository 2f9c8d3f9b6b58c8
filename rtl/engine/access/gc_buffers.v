// SPDX-License-Identifier: Apache-2.0
// The two operand buffers and the gate buffer, each between its users. Operand buffers: read by compute, which goes
// first, and store; written by compute, which goes first, and load. Of a COMPUTE's operands the rows come from one
// buffer; the columns, if s_cmp_channel, from the other. Gate buffer: likewise with compute's gates, load's writes,
// and the gates by which load scales. Reads come back after the buffers' fixed latency.
`default_nettype none

module gc_buffers #(
    parameter GRID       = 8,
    parameter COLS       = 16,
    parameter COLS_LOG   = 4,
    parameter DW         = 16,
    parameter ACT_DEPTH  = 2048,
    parameter GATE_DEPTH = 16384,
    parameter SCRUB_W    = 14,    // log2 of the deepest memory
    parameter ACCESS_W   = 1      // bits of an access record: gc_engine says how many
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    s_scrub,
    input  wire [SCRUB_W-1:0]      s_scrub_addr,
    // compute: operands and results
    input  wire                    s_cmp_valid,
    input  wire                    s_cmp_channel,
    input  wire                    s_cmp_split,
    input  wire [COLS_LOG-1:0]     s_cmp_step,
    input  wire                    s_cmp_row_buf,
    input  wire [ACCESS_W-1:0]     s_cmp_row,
    input  wire [15:0]             s_cmp_row_channels,
    input  wire [ACCESS_W-1:0]     s_cmp_col,
    input  wire [15:0]             s_cmp_col_channels,
    output wire [GRID*GRID*DW-1:0] m_data0,
    output wire [GRID*GRID*DW-1:0] m_data1,
    input  wire                    s_dst_valid,
    input  wire                    s_dst_buf,
    input  wire [ACCESS_W-1:0]     s_dst_access,
    input  wire [GRID*GRID-1:0]    s_dst_enable,
    input  wire [GRID*GRID*DW-1:0] s_dst_data,
    // store
    input  wire                    s_str_valid,
    output wire                    s_str_ready,
    input  wire                    s_str_buffer,
    input  wire [ACCESS_W-1:0]     s_str_access,
    input  wire                    s_str_mark,
    output wire                    m_str_valid,
    output wire                    m_str_mark,
    output wire [GRID*GRID*DW-1:0] m_str_data,
    // load: 0, 1 operand buffer, 2 gate buffer
    input  wire                    s_load_valid,
    output wire                    s_load_ready,
    input  wire [1:0]              s_load_buffer,
    input  wire [ACCESS_W-1:0]     s_load_access,
    input  wire [GRID*GRID*DW-1:0] s_load_data,
    input  wire [GRID*GRID-1:0]    s_load_bits,
    // gates
    input  wire                    s_gate_rd_valid,
    input  wire [ACCESS_W-1:0]     s_gate_rd_access,
    output wire [GRID*GRID-1:0]    m_gate_data,
    input  wire                    s_gate_wr_valid,
    input  wire [ACCESS_W-1:0]     s_gate_wr_access,
    input  wire [GRID*GRID-1:0]    s_gate_wr_data,
    input  wire                    s_scale_valid,
    output wire                    s_scale_ready,
    input  wire [ACCESS_W-1:0]     s_scale_access,
    output wire                    m_scale_valid
);
    localparam LANES = GRID*GRID;

    wire [3:0]          load_select = {3'b000, s_load_valid} << s_load_buffer;
    wire [2:0]          load_ready;
    wire [1:0]          str_ready, str_back, str_mark;
    wire [LANES*DW-1:0] data [0:1];

    assign s_load_ready = |({1'b0, load_ready} & (4'b0001 << s_load_buffer));
    assign s_str_ready  = s_str_buffer ? str_ready[1] : str_ready[0];
    assign m_str_valid  = |str_back;
    assign m_str_mark   = str_back[1] ? str_mark[1] : str_mark[0];
    assign m_str_data   = str_back[1] ? data[1] : data[0];
    assign m_data0      = data[0];
    assign m_data1      = data[1];

    genvar i;
    generate
        for (i = 0; i < 2; i = i + 1) begin : g_buffer
            wire is_row = s_cmp_row_buf == i;
            gc_shared_buffer #(
                .GRID(GRID), .DW(DW), .DEPTH(ACT_DEPTH), .COLS(COLS), .COLS_LOG(COLS_LOG), .ACCESS_W(ACCESS_W)
            ) u_shared (
                .clk(clk), .rst(rst),
                .a_rd_valid(s_cmp_valid && (is_row || s_cmp_channel)), .a_rd_access(is_row ? s_cmp_row : s_cmp_col),
                .a_rd_channel(s_cmp_channel), .a_rd_split(s_cmp_split), .a_rd_step(s_cmp_step),
                .a_rd_channels(is_row ? s_cmp_row_channels : s_cmp_col_channels),
                .b_rd_valid(s_str_valid && s_str_buffer == i), .b_rd_ready(str_ready[i]),
                .b_rd_access(s_str_access), .b_rd_mark(s_str_mark),
                .m_b_valid(str_back[i]), .m_b_mark(str_mark[i]), .m_rd_data(data[i]),
                .a_wr_valid(s_dst_valid && s_dst_buf == i), .a_wr_access(s_dst_access),
                .a_wr_enable(s_dst_enable), .a_wr_data(s_dst_data),
                .b_wr_valid(load_select[i]), .b_wr_ready(load_ready[i]),
                .b_wr_access(s_load_access), .b_wr_data(s_load_data),
                .s_scrub(s_scrub), .s_scrub_addr(s_scrub_addr[$clog2(ACT_DEPTH)-1:0])
            );
        end
    endgenerate

    wire mark_unused;
    gc_shared_buffer #(
        .GRID(GRID), .DW(1), .DEPTH(GATE_DEPTH), .ADDR_W(20), .COLS(COLS), .COLS_LOG(COLS_LOG), .ACCESS_W(ACCESS_W)
    ) u_gates (
        .clk(clk), .rst(rst),
        .a_rd_valid(s_gate_rd_valid), .a_rd_access(s_gate_rd_access),
        .a_rd_channel(1'b0), .a_rd_split(1'b0), .a_rd_step({COLS_LOG{1'b0}}), .a_rd_channels(16'd0),
        .b_rd_valid(s_scale_valid), .b_rd_ready(s_scale_ready), .b_rd_access(s_scale_access), .b_rd_mark(1'b0),
        .m_b_valid(m_scale_valid), .m_b_mark(mark_unused), .m_rd_data(m_gate_data),
        .a_wr_valid(s_gate_wr_valid), .a_wr_access(s_gate_wr_access),
        .a_wr_enable({LANES{1'b1}}), .a_wr_data(s_gate_wr_data),
        .b_wr_valid(load_select[2]), .b_wr_ready(load_ready[2]),
        .b_wr_access(s_load_access), .b_wr_data(s_load_bits),
        .s_scrub(s_scrub), .s_scrub_addr(s_scrub_addr[$clog2(GATE_DEPTH)-1:0])
    );

    wire _unused = &{1'b0, load_select[3], s_scrub_addr, mark_unused};
endmodule

`default_nettype wire
