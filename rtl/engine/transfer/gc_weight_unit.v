// SPDX-License-Identifier: Apache-2.0
// The weight buffer and the unit that executes LOADW: rows of COLS weights from DRAM into consecutive rows, each
// rotated by its inner index modulo COLS (doc/instructions.md). One row per cycle at most; the memory port sets the
// pace. s_instruction is stable from `start` to m_done, the cycle of the last row. m_bad pulses a cycle after it is
// seen that n_words, n_outer x n_inner and the beats do not agree. COMPUTE reads every row READ cycles after it has
// asked, once for every COLS lanes; with s_rd_split (not if DEPTH is below LANES) lanes COLS*g.. get the row of
// address s_rd_addr ^ COLS*g. UPDATE (port b) reads when it gets a turn. s_scrub makes a row zero, while no LOADW
// runs.
`default_nettype none

module gc_weight_unit #(
    parameter COLS     = 16,
    parameter COLS_LOG = 4,
    parameter LANES    = 64,
    parameter DW       = 16,
    parameter DEPTH    = 8192,
    parameter READ     = 8,
    parameter MEM_W    = 512,
    parameter ADDR_W   = 48,
    parameter BURST    = 32,   // beats of a burst, at most
    parameter ULTRA    = 0     // of gc_weight_buffer
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
    // COMPUTE
    input  wire                s_rd_valid,
    input  wire [15:0]         s_rd_addr,
    input  wire [COLS_LOG-1:0] s_rd_rot,
    input  wire                s_rd_ramp,
    input  wire                s_rd_split,
    output wire [LANES*DW-1:0] m_rd_data,
    // UPDATE
    input  wire                s_b_valid,
    output wire                s_b_ready,
    input  wire [15:0]         s_b_addr,
    input  wire [COLS_LOG-1:0] s_b_rot,
    output wire                m_b_valid,
    output wire [COLS*DW-1:0]  m_b_data,
    input  wire                s_scrub,
    input  wire [$clog2(DEPTH)-1:0] s_scrub_addr
);
    localparam ROW_W  = $clog2(DEPTH);
    localparam ALL    = LANES/COLS;
    localparam GROUPS = DEPTH < LANES ? 1 : ALL;

    // Fields of the instruction.
    wire [1:0]  base_sel;
    wire [47:0] addr;
    wire [31:0] run_beats, stride1, stride2, n_words;
    wire [15:0] n1, n2;
    gc_decode_dram u_dram (
        .s_instruction(s_instruction),
        .m_base_sel(base_sel), .m_addr(addr),
        .m_run_beats(run_beats), .m_n_words(n_words),
        .m_n1(n1), .m_stride1(stride1),
        .m_n2(n2), .m_stride2(stride2)
    );
    wire [15:0] n_outer, n_inner, base;
    gc_decode_loadw u_loadw (
        .s_instruction(s_instruction),
        .m_n_outer(n_outer), .m_n_inner(n_inner),
        .m_base(base)
    );

    // Rows from DRAM.
    wire               row_valid;
    wire [COLS*DW-1:0] row;
    wire               last_word;
    wire               reader_bad;
    wire               open_unused;

    gc_word_reader #(.LANES(COLS), .DW(DW), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST)) u_reader (
        .clk(clk), .rst(rst), .start(start),
        .cfg_addr(addr), .cfg_base(cfg_base), .cfg_base_sel(base_sel),
        .cfg_run_beats(run_beats), .cfg_n_words(n_words), .cfg_packed(1'b0),
        .cfg_n1(n1), .cfg_stride1(stride1),
        .cfg_n2(n2), .cfg_stride2(stride2),
        .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready), .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len),
        .s_rdat_valid(s_rdat_valid), .s_rdat_data(s_rdat_data), .s_rdat_last(s_rdat_last),
        .m_valid(row_valid), .m_ready(1'b1), .m_data(row),
        .m_last(last_word), .sts_open(open_unused), .sts_bad(reader_bad)
    );

    // Places of the rows.
    wire        last;
    wire [31:0] index;
    wire [7:0]  loops_unused;
    gc_loop_nest #(.LEVELS(2), .W(16)) u_loops (
        .clk(clk), .cfg_count({n_inner, n_outer}), .s_single(2'd0), .s_two(2'd0),
        .start(start), .step(row_valid),
        .advance(loops_unused[1:0]), .restart(loops_unused[3:2]),
        .at_first(loops_unused[5:4]), .at_last(loops_unused[7:6]),
        .last(last), .index(index)
    );

    reg [15:0] row_q;
    always @(posedge clk) begin
        if (start)          row_q <= base;
        else if (row_valid) row_q <= row_q + 16'd1;
        m_bad <= reader_bad || (row_valid && last != last_word);
        if (rst) m_bad <= 1'b0;
    end

    assign m_done = row_valid && last;

    wire rd_valid_unused;
    wire [GROUPS*COLS*DW-1:0] rd_data;
    assign m_rd_data = {(ALL/GROUPS){rd_data}};
    gc_weight_buffer #(
        .COLS(COLS), .DW(DW), .DEPTH(DEPTH), .LATENCY(READ), .PARTS(ALL > 4 ? 8 : 4), .GROUPS(GROUPS), .ULTRA(ULTRA)
    ) u_buffer (
        .clk(clk), .rst(rst),
        .s_wr_valid(row_valid), .s_wr_addr(row_q[ROW_W-1:0]), .s_wr_rot(index[16 +: COLS_LOG]), .s_wr_data(row),
        .s_scrub(s_scrub), .s_scrub_addr(s_scrub_addr),
        .s_rd_valid(s_rd_valid), .s_rd_addr(s_rd_addr[ROW_W-1:0]), .s_rd_rot(s_rd_rot),
        .s_rd_ramp(s_rd_ramp), .s_rd_split(s_rd_split),
        .m_rd_valid(rd_valid_unused), .m_rd_data(rd_data),
        .s_b_valid(s_b_valid), .s_b_ready(s_b_ready), .s_b_addr(s_b_addr[ROW_W-1:0]), .s_b_rot(s_b_rot),
        .m_b_valid(m_b_valid), .m_b_data(m_b_data)
    );

    wire _unused = &{1'b0, index, row_q, s_rd_addr, s_b_addr, rd_valid_unused, open_unused, loops_unused};
endmodule

`default_nettype wire
