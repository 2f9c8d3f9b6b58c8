// SPDX-License-Identifier: Apache-2.0
// Brings the instructions of a program from memory to the queues of the units: reads it as one contiguous run, checks
// each instruction, and gives it to the queue of its opcode, in order (gc_dispatch says how a program ends). s_begin
// starts the reads; start, before it or with it, makes gc_dispatch ready. The verdict of the check takes two cycles;
// the third finds the queue with room. In the fourth m_valid, a register, pushes the instruction, and the reader lets
// it go. m_ready was high the cycle before; nobody else pushes. The units need longer than four cycles for what an
// instruction tells them to do.
`default_nettype none

module gc_fetch #(
    parameter GRID      = 8,
    parameter COLS      = 16,
    parameter MEM_W     = 512,
    parameter ADDR_W    = 48,
    parameter BURST     = 32,
    parameter WGT_DEPTH = 8192,
    parameter HAS_VECTOR  = 1,
    parameter HAS_SOFTMAX = 1,
    parameter HAS_FACTOR  = 1,
    parameter UNITS     = 5
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              start,
    input  wire              s_begin,
    input  wire [ADDR_W-1:0] cfg_prog_base,
    input  wire [23:0]       cfg_prog_length,   // instructions
    output wire              m_rreq_valid,
    input  wire              m_rreq_ready,
    output wire [ADDR_W-1:0] m_rreq_addr,
    output wire [7:0]        m_rreq_len,
    input  wire              s_rdat_valid,
    input  wire [MEM_W-1:0]  s_rdat_data,
    input  wire              s_rdat_last,
    output reg  [UNITS-1:0]  m_valid,           // a push, a cycle after m_ready
    input  wire [UNITS-1:0]  m_ready,
    output wire [1023:0]     m_instruction,
    output reg  [23:0]       m_index,           // its number
    output wire              sts_finished,
    output wire              sts_error,
    output wire [7:0]        sts_code,
    output wire [23:0]       sts_index          // number of the instruction that is next
);
    localparam BEATS_LOG = 10 - $clog2(MEM_W);  // log2 of the beats of one instruction

    wire          word_valid;
    wire          word_ready;
    wire [1023:0] word;
    wire [47:0]   addr = {{(48-ADDR_W){1'b0}}, cfg_prog_base};
    wire [2:0]    reader_unused;
    gc_word_reader #(.LANES(64), .DW(16), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST)) u_reader (
        .clk(clk), .rst(rst), .start(s_begin),
        .cfg_addr(addr), .cfg_base({(4*ADDR_W){1'b0}}), .cfg_base_sel(2'd0),
        .cfg_run_beats({8'd0, cfg_prog_length} << BEATS_LOG), .cfg_n_words({8'd0, cfg_prog_length}), .cfg_packed(1'b0),
        .cfg_n1(16'd1), .cfg_stride1(32'd0),
        .cfg_n2(16'd1), .cfg_stride2(32'd0),
        .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready), .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len),
        .s_rdat_valid(s_rdat_valid), .s_rdat_data(s_rdat_data), .s_rdat_last(s_rdat_last),
        .m_valid(word_valid), .m_ready(word_ready), .m_data(word),
        .m_last(reader_unused[0]), .sts_open(reader_unused[1]), .sts_bad(reader_unused[2])
    );

    wire bad;
    reg  seen_q;
    reg  checked_q;
    reg  done_q;        // the word has been taken
    wire taken;
    wire [UNITS-1:0] valid;
    gc_instruction_check #(
        .GRID(GRID), .COLS(COLS), .MEM_W(MEM_W), .WGT_DEPTH(WGT_DEPTH),
        .HAS_VECTOR(HAS_VECTOR), .HAS_SOFTMAX(HAS_SOFTMAX), .HAS_FACTOR(HAS_FACTOR)
    ) u_check (
        .clk(clk), .s_instruction(word), .m_bad(bad)
    );
    assign word_ready = done_q;
    always @(posedge clk) begin
        seen_q    <= word_valid && !done_q;
        checked_q <= seen_q && !done_q && !(checked_q && taken);
        done_q    <= checked_q && taken;
        m_valid   <= valid & m_ready;
        m_index   <= sts_index;
        if (rst) begin
            m_valid   <= {UNITS{1'b0}};
            seen_q    <= 1'b0;
            checked_q <= 1'b0;
            done_q    <= 1'b0;
        end
    end

    gc_dispatch #(.INSTR_W(1024), .ENGINES(UNITS), .SHARED(4)) u_dispatch (
        .clk(clk), .rst(rst), .start(start), .cfg_length(cfg_prog_length),
        .s_valid(checked_q), .s_ready(taken), .s_instruction(word), .s_bad(bad),
        .m_valid(valid), .m_ready(m_ready), .m_instruction(m_instruction),
        .sts_finished(sts_finished), .sts_error(sts_error), .sts_code(sts_code), .sts_index(sts_index)
    );

    wire _unused = &{1'b0, reader_unused};
endmodule

`default_nettype wire
