// SPDX-License-Identifier: Apache-2.0
// Executes LOADW: rows of COLS weights from DRAM into consecutive rows of the weight buffer, each rotated by its inner index
// modulo COLS (doc/instructions.md). One row per cycle at most; the memory port sets the pace. s_instruction is stable from `start` to
// m_done, the cycle of the last row. m_bad pulses a cycle after it is seen that n_words, n_outer x n_inner and the beats do not agree.
`default_nettype none

module wload_engine #(
    parameter COLS     = 16,
    parameter COLS_LOG = 4,
    parameter DW       = 16,
    parameter MEM_W    = 512,
    parameter ADDR_W   = 48
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                start,
    input  wire [1023:0]       s_instruction,
    input  wire [4*ADDR_W-1:0] cfg_base,
    output wire                m_done,
    output reg                 m_bad,
    output wire                m_rreq_valid,
    input  wire                m_rreq_ready,
    output wire [ADDR_W-1:0]   m_rreq_addr,
    output wire [7:0]          m_rreq_len,
    input  wire                s_rdat_valid,
    input  wire [MEM_W-1:0]    s_rdat_data,
    input  wire                s_rdat_last,
    output wire                m_wr_valid,
    output wire [15:0]         m_wr_addr,
    output wire [COLS_LOG-1:0] m_wr_rot,
    output wire [COLS*DW-1:0]  m_wr_data
);
    wire        last;
    wire [31:0] index;
    reg  [15:0] row_q;
    wire        last_word;
    wire        reader_bad;
    wire        reader_sts_open_unused;

    word_reader #(.LANES(COLS), .DW(DW), .MEM_W(MEM_W), .ADDR_W(ADDR_W)) u_reader (
        .clk(clk), .rst(rst), .start(start), .s_instruction(s_instruction),
        .cfg_addr(s_instruction[3*16 +: 48]), .cfg_base(cfg_base),
        .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready), .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len),
        .s_rdat_valid(s_rdat_valid), .s_rdat_data(s_rdat_data), .s_rdat_last(s_rdat_last),
        .m_valid(m_wr_valid), .m_ready(1'b1), .m_data(m_wr_data),
        .m_last(last_word), .sts_open(reader_sts_open_unused), .sts_bad(reader_bad)
    );

    wire [1:0] loops_advance_unused;
    wire [1:0] loops_restart_unused;
    wire [1:0] loops_at_first_unused;
    wire [1:0] loops_at_last_unused;
    loop_nest #(.LEVELS(2), .W(16)) u_loops (
        .clk(clk), .cfg_count({s_instruction[15*16 +: 16], s_instruction[14*16 +: 16]}),
        .start(start), .step(m_wr_valid), .advance(loops_advance_unused), .restart(loops_restart_unused), .at_first(loops_at_first_unused), .at_last(loops_at_last_unused), .last(last), .index(index)
    );

    always @(posedge clk) begin
        if (start)           row_q <= s_instruction[18*16 +: 16];
        else if (m_wr_valid) row_q <= row_q + 16'd1;
        m_bad <= reader_bad || (m_wr_valid && last != last_word);
        if (rst) m_bad <= 1'b0;
    end

    assign m_wr_addr = row_q;
    assign m_wr_rot  = index[16 +: COLS_LOG];
    assign m_done    = m_wr_valid && last;

    wire _unused = &{1'b0, index, reader_sts_open_unused, loops_advance_unused, loops_restart_unused, loops_at_first_unused, loops_at_last_unused};
endmodule

`default_nettype wire
