// SPDX-License-Identifier: Apache-2.0
// The two operand buffers and the gate buffer, each between its users. Operand buffers: read by compute, which goes
// first, and store; written by compute, which goes first, and load. Of a COMPUTE's operands the rows come from one
// buffer; the columns, if s_cmp_channel, from the other. Gate buffer: read by compute, by load for gates that scale,
// and by store, in this order; written as the operand buffers. Load may write a gate beside a vector: it shows a write
// when all its buffers are ready. Gates for store come in bit 0 of each lane. Reads come back after the buffers' fixed
// latency, gates for load and store at least a cycle later. Store reads another buffer when everything is back; m_hold
// tells of an urgent one in the cycle after it had to wait.
`default_nettype none

module gc_buffers #(
    parameter GRID       = 8,
    parameter COLS       = 16,
    parameter COLS_LOG   = 4,
    parameter DW         = 16,
    parameter ACT_DEPTH  = 2048,
    parameter GATE_DEPTH = 16384,
    parameter SCRUB_W    = 14,    // log2 of the deepest memory
    parameter ULTRA      = 0,     // of gc_engine: bits 0 and 1 are the operand buffers'
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
    input  wire [2:0]              s_wr_valid,      // into operand buffers 0, 1, the gate buffer
    input  wire [ACCESS_W-1:0]     s_dst_access,
    input  wire [GRID*GRID-1:0]    s_dst_enable,
    input  wire [GRID*GRID*DW-1:0] s_dst_data,
    // store
    input  wire                    s_str_valid,
    output wire                    s_str_ready,
    input  wire [1:0]              s_str_buffer,    // 0, 1 operand buffer, 2 gate buffer
    input  wire [ACCESS_W-1:0]     s_str_access,
    input  wire                    s_str_mark,
    input  wire                    s_str_urgent,
    output reg                     m_hold,          // compute is to leave the read port to an urgent store
    output wire                    m_str_valid,
    output wire                    m_str_mark,
    output wire [GRID*GRID*DW-1:0] m_str_data,
    // load: operand buffers 0, 1 and gate buffer
    input  wire [2:0]              s_load_valid,
    output wire [2:0]              s_load_ready,
    input  wire [ACCESS_W-1:0]     s_load_access,
    input  wire [GRID*GRID*DW-1:0] s_load_data,
    input  wire [ACCESS_W-1:0]     s_load_gate_access,
    input  wire [GRID*GRID-1:0]    s_load_gate,
    // gates
    input  wire                    s_gate_rd_valid,
    input  wire [ACCESS_W-1:0]     s_gate_rd_access,
    output wire [GRID*GRID-1:0]    m_gate_data,
    input  wire [ACCESS_W-1:0]     s_gate_wr_access,
    input  wire [GRID*GRID-1:0]    s_gate_wr_data,
    input  wire                    s_scale_valid,
    output wire                    s_scale_ready,
    input  wire [ACCESS_W-1:0]     s_scale_access,
    output wire                    m_scale_valid
);
    localparam LANES = GRID*GRID;

    generate
        if (ULTRA < 0 || ULTRA > 15) begin : g_illegal_ultra
            gradcore_illegal_parameter_ULTRA_not_0_to_15 u_stop ();
        end
    endgenerate

    wire [1:0]          str_free, str_back, back_mark;
    wire [LANES*DW-1:0] data [0:1];

    // What store asks for stands in registers: that compute reads now shows late.
    wire                str_valid, str_ready, str_mark;
    wire [1:0]          str_buffer;
    wire [ACCESS_W-1:0] str_access;
    gc_stream_register #(.WIDTH(3+ACCESS_W)) u_store (
        .clk(clk), .rst(rst),
        .s_valid(s_str_valid), .s_ready(s_str_ready), .s_data({s_str_buffer, s_str_mark, s_str_access}),
        .m_valid(str_valid), .m_ready(str_ready), .m_data({str_buffer, str_mark, str_access})
    );

    // Gates for store go behind those for load. Whose turn it is was decided a cycle before. When compute leaves the
    // read port shows late: the reads wait in registers.
    wire gate_ready, gate_back, gate_back_scale, gate_mark;
    wire str_gate = str_valid && str_buffer[1];
    wire gates    = gate_back && !gate_back_scale;
    reg                 str_turn_q;
    wire                asked, asked_ready;
    wire [1:0]          asked_mark;
    wire [ACCESS_W-1:0] asked_access;
    gc_stream_register #(.WIDTH(2+ACCESS_W)) u_asked (
        .clk(clk), .rst(rst),
        .s_valid(str_turn_q ? str_gate : s_scale_valid), .s_ready(asked_ready),
        .s_data({!str_turn_q, str_mark, str_turn_q ? str_access : s_scale_access}),
        .m_valid(asked), .m_ready(gate_ready), .m_data({asked_mark, asked_access})
    );
    assign m_scale_valid = gate_back && gate_back_scale;
    assign s_scale_ready = asked_ready && !str_turn_q;
    always @(posedge clk) begin
        str_turn_q <= str_gate && !s_scale_valid;
        m_hold     <= str_valid && s_str_urgent && !str_buffer[1] && !str_free[str_buffer[0]];
        if (rst) str_turn_q <= 1'b0;
    end

    assign str_ready   = str_buffer[1] ? asked_ready && str_turn_q : str_free[str_buffer[0]];
    assign m_str_valid = |str_back || gates;
    assign m_str_mark  = gates ? gate_mark : str_back[1] ? back_mark[1] : back_mark[0];
    assign m_data0     = data[0];
    assign m_data1     = data[1];

    genvar i;
    generate
        for (i = 0; i < 2; i = i + 1) begin : g_buffer
            localparam [1:0] NUMBER = i;
            wire is_row = s_cmp_row_buf == i;
            gc_shared_buffer #(
                .GRID(GRID), .DW(DW), .DEPTH(ACT_DEPTH), .COLS(COLS), .COLS_LOG(COLS_LOG), .ACCESS_W(ACCESS_W),
                .ULTRA(ULTRA >> i & 1)
            ) u_shared (
                .clk(clk), .rst(rst),
                .a_rd_valid(s_cmp_valid), .a_rd_row(is_row), .a_rd_access(s_cmp_row), .a_rd_other(s_cmp_col),
                .a_rd_channel(s_cmp_channel), .a_rd_split(s_cmp_split), .a_rd_step(s_cmp_step),
                .a_rd_channels(is_row ? s_cmp_row_channels : s_cmp_col_channels),
                .b_rd_valid(str_valid && str_buffer == NUMBER), .b_rd_ready(str_free[i]),
                .b_rd_access(str_access), .b_rd_mark(str_mark),
                .m_b_valid(str_back[i]), .m_b_mark(back_mark[i]), .m_rd_data(data[i]),
                .a_wr_valid(s_wr_valid[i]), .a_wr_access(s_dst_access),
                .a_wr_enable(s_dst_enable), .a_wr_data(s_dst_data),
                .b_wr_valid(s_load_valid[i]), .b_wr_ready(s_load_ready[i]),
                .b_wr_access(s_load_access), .b_wr_data(s_load_data),
                .s_scrub(s_scrub), .s_scrub_addr(s_scrub_addr[$clog2(ACT_DEPTH)-1:0])
            );
        end
        for (i = 0; i < LANES; i = i + 1) begin : g_lane
            wire [DW-1:0] word = str_back[1] ? data[1][i*DW +: DW] : data[0][i*DW +: DW];
            assign m_str_data[i*DW +: DW] = {word[DW-1:1], gates ? m_gate_data[i] : word[0]};
        end
    endgenerate

    gc_shared_buffer #(
        .GRID(GRID), .DW(1), .DEPTH(GATE_DEPTH), .ADDR_W(20), .COLS(COLS), .COLS_LOG(COLS_LOG), .MARK_W(2),
        .ACCESS_W(ACCESS_W)
    ) u_gates (
        .clk(clk), .rst(rst),
        .a_rd_valid(s_gate_rd_valid), .a_rd_row(1'b1),
        .a_rd_access(s_gate_rd_access), .a_rd_other({ACCESS_W{1'b0}}),
        .a_rd_channel(1'b0), .a_rd_split(1'b0), .a_rd_step({COLS_LOG{1'b0}}), .a_rd_channels(16'd0),
        .b_rd_valid(asked), .b_rd_ready(gate_ready), .b_rd_access(asked_access), .b_rd_mark(asked_mark),
        .m_b_valid(gate_back), .m_b_mark({gate_back_scale, gate_mark}), .m_rd_data(m_gate_data),
        .a_wr_valid(s_wr_valid[2]), .a_wr_access(s_gate_wr_access),
        .a_wr_enable({LANES{1'b1}}), .a_wr_data(s_gate_wr_data),
        .b_wr_valid(s_load_valid[2]), .b_wr_ready(s_load_ready[2]),
        .b_wr_access(s_load_gate_access), .b_wr_data(s_load_gate),
        .s_scrub(s_scrub), .s_scrub_addr(s_scrub_addr[$clog2(GATE_DEPTH)-1:0])
    );

    wire _unused = &{1'b0, s_scrub_addr};
endmodule

`default_nettype wire
