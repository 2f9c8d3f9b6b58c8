// SPDX-License-Identifier: Apache-2.0
// Reads rows cfg_base, cfg_base + 1, .. (cfg_rows of them) of an on-chip buffer for UPDATE. One request per cycle at
// most while credits are left; each reserves the place in the FIFO that catches its row, and leaves through a register
// stage, for the buffer is far away. Rows come back in order after any time. The configuration is stable from `start`
// on; a new start when all rows have been taken. m_inner counts 0..cfg_inner-1 with the requests, modulo COLS.
`default_nettype none

module gc_row_reader #(
    parameter WIDTH = 256,
    parameter COLS  = 16
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    start,
    input  wire [31:0]             cfg_rows,
    input  wire [15:0]             cfg_base,
    input  wire [15:0]             cfg_inner,
    output wire                    m_ask_valid,
    input  wire                    m_ask_ready,
    output wire [15:0]             m_addr,
    output wire [$clog2(COLS)-1:0] m_inner,
    input  wire                    s_valid,
    input  wire [WIDTH-1:0]        s_data,
    output wire                    m_valid,
    input  wire                    m_ready,
    output wire [WIDTH-1:0]        m_data
);
    localparam CREDIT = 16;

    reg         ask_q;
    reg  [31:0] left_q;      // to be asked for
    reg  [15:0] addr_q;
    reg  [15:0] inner_q;
    wire        room;
    wire        ready;
    wire        ask  = ask_q && room && ready;
    wire        used = m_valid && m_ready;

    gc_stream_register #(.WIDTH(16+$clog2(COLS))) u_ask (
        .clk(clk), .rst(rst),
        .s_valid(ask_q && room), .s_ready(ready), .s_data({inner_q[$clog2(COLS)-1:0], addr_q}),
        .m_valid(m_ask_valid), .m_ready(m_ask_ready), .m_data({m_inner, m_addr})
    );

    always @(posedge clk) begin
        if (start) begin
            ask_q   <= 1'b1;
            left_q  <= cfg_rows;
            addr_q  <= cfg_base;
            inner_q <= 16'd0;
        end else if (ask) begin
            ask_q   <= left_q != 32'd1;
            left_q  <= left_q - 32'd1;
            addr_q  <= addr_q + 16'd1;
            inner_q <= inner_q + 16'd1 == cfg_inner ? 16'd0 : inner_q + 16'd1;
        end
        if (rst) ask_q <= 1'b0;
    end

    wire [$clog2(CREDIT):0] free_unused;
    gc_credit_counter #(.CREDITS(CREDIT)) u_credit (
        .clk(clk), .rst(rst),
        .s_take(ask), .s_give(used),
        .m_any(room), .sts_free(free_unused)
    );

    wire       rows_s_ready_unused;
    wire [4:0] rows_sts_level_unused;
    gc_stream_fifo #(.WIDTH(WIDTH), .DEPTH(CREDIT)) u_rows (
        .clk(clk), .rst(rst),
        .s_valid(s_valid), .s_ready(rows_s_ready_unused), .s_data(s_data),
        .m_valid(m_valid), .m_ready(m_ready), .m_data(m_data),
        .sts_level(rows_sts_level_unused)
    );

    wire _unused = &{1'b0, free_unused, rows_s_ready_unused, rows_sts_level_unused};
endmodule

`default_nettype wire
