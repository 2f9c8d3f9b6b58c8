// SPDX-License-Identifier: Apache-2.0
// Brings the instructions of a program from memory to the queues of the units: reads it as one contiguous run, checks
// each instruction, and gives it to the queue of its opcode, in order (gc_dispatch says how a program ends). s_begin
// starts the reads; start, before it or with it, makes gc_dispatch ready. The beats of an instruction go to all queues
// as they come (m_write); a register gathers them for the check. Its verdict takes two cycles; the third finds the
// queue with room. In the fourth m_valid, a register, tells that queue to keep the instruction; a beat of the following
// one may come with it. m_ready was high the cycle before; nobody else pushes.
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
    parameter UNITS     = 5,
    parameter BEATS     = 1024/MEM_W    // of an instruction
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
    output wire              m_write,
    output reg  [$clog2(BEATS)-1:0] m_place,    // of the beat in its instruction
    output wire [MEM_W-1:0]  m_beat,
    output reg  [UNITS-1:0]  m_valid,           // a push, a cycle after m_ready
    input  wire [UNITS-1:0]  m_ready,
    output reg  [23:0]       m_index,           // number of the instruction
    output wire              sts_finished,
    output wire              sts_error,
    output wire [7:0]        sts_code,
    output wire [23:0]       sts_index          // number of the instruction that is next
);
    localparam           LOG = $clog2(BEATS);
    localparam [LOG-1:0] ONE = 1;

    wire          beat_valid;
    wire          open;
    reg           full_q;       // all beats of an instruction are in word
    reg  [1023:0] word;
    wire [47:0]   addr = {{(48-ADDR_W){1'b0}}, cfg_prog_base};
    wire [31:0]   beats = {8'd0, cfg_prog_length} << LOG;
    wire [2:0]    reader_unused;
    gc_word_reader #(.LANES(MEM_W/16), .DW(16), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST)) u_reader (
        .clk(clk), .rst(rst), .start(s_begin),
        .cfg_addr(addr), .cfg_base({(4*ADDR_W){1'b0}}), .cfg_base_sel(2'd0),
        .cfg_run_beats(beats), .cfg_n_words(beats), .cfg_packed(1'b0),
        .cfg_n1(16'd1), .cfg_stride1(32'd0),
        .cfg_n2(16'd1), .cfg_stride2(32'd0),
        .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready), .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len),
        .s_rdat_valid(s_rdat_valid), .s_rdat_data(s_rdat_data), .s_rdat_last(s_rdat_last),
        .m_valid(beat_valid), .m_ready(open), .m_data(m_beat),
        .m_last(reader_unused[0]), .sts_open(reader_unused[1]), .sts_bad(reader_unused[2])
    );

    assign m_write = beat_valid && open;
    genvar i;
    generate
        for (i = 0; i < BEATS; i = i + 1) begin : g_beat
            localparam [LOG-1:0] PLACE = i;
            always @(posedge clk) if (m_write && m_place == PLACE) word[i*MEM_W +: MEM_W] <= m_beat;
        end
    endgenerate

    wire bad;
    reg  seen_q;
    reg  checked_q;
    reg  done_q;        // the word has been taken
    wire taken;
    assign open = !full_q || done_q;
    wire [UNITS-1:0] valid;
    gc_instruction_check #(
        .GRID(GRID), .COLS(COLS), .MEM_W(MEM_W), .WGT_DEPTH(WGT_DEPTH),
        .HAS_VECTOR(HAS_VECTOR), .HAS_SOFTMAX(HAS_SOFTMAX), .HAS_FACTOR(HAS_FACTOR)
    ) u_check (
        .clk(clk), .s_instruction(word), .m_bad(bad)
    );
    always @(posedge clk) begin
        if (m_write) m_place <= m_place + ONE;
        full_q    <= !open || (m_write && &m_place);
        seen_q    <= full_q && !done_q;
        checked_q <= seen_q && !done_q && !(checked_q && taken);
        done_q    <= checked_q && taken;
        m_valid   <= valid & m_ready;
        m_index   <= sts_index;
        if (rst) begin
            m_valid   <= {UNITS{1'b0}};
            m_place   <= {LOG{1'b0}};
            full_q    <= 1'b0;
            seen_q    <= 1'b0;
            checked_q <= 1'b0;
            done_q    <= 1'b0;
        end
    end

    wire [3:0] opcode_unused;
    gc_dispatch #(.INSTR_W(4), .ENGINES(UNITS), .SHARED(4)) u_dispatch (
        .clk(clk), .rst(rst), .start(start), .cfg_length(cfg_prog_length),
        .s_valid(checked_q), .s_ready(taken), .s_instruction(word[3:0]), .s_bad(bad),
        .m_valid(valid), .m_ready(m_ready), .m_instruction(opcode_unused),
        .sts_finished(sts_finished), .sts_error(sts_error), .sts_code(sts_code), .sts_index(sts_index)
    );

    wire _unused = &{1'b0, reader_unused, opcode_unused};
endmodule

`default_nettype wire
