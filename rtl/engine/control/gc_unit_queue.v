// SPDX-License-Identifier: Apache-2.0
// The queue of one unit: up to four instructions with their numbers, and the gate that starts the first one when its
// tokens are there. An instruction comes in beats of the memory, lowest first; s_valid then pushes it with its number.
// Beats that no push follows are forgotten. The first instruction goes from the memory of the queue into a register,
// beat by beat, but for the last, which the memory goes on to give: it can start BEATS + 1 cycles after its push, and
// after the start of the one before. m_instruction is stable from m_start to s_done, at least a cycle later. s_room low
// holds the next start back. sts_index is the number of the instruction at work, else of the one that waits, a cycle
// late.
`default_nettype none

module gc_unit_queue #(
    parameter MEM_W     = 512,    // bits of a beat: 64..512, a power of two
    parameter PRODUCERS = 6,
    parameter BEATS     = 1024/MEM_W    // of an instruction
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire                 s_write,
    input  wire [$clog2(BEATS)-1:0] s_place,   // of the beat in its instruction
    input  wire [MEM_W-1:0]     s_beat,
    input  wire                 s_valid,       // a beat that comes with it is of the next instruction
    output wire                 s_ready,
    input  wire [23:0]          s_index,
    input  wire                 s_room,
    input  wire [PRODUCERS-1:0] s_available,   // tokens
    output wire [PRODUCERS-1:0] m_take,
    output wire                 m_start,
    output wire [1023:0]        m_instruction,
    output wire [4:0]           m_signal,      // its fields
    output wire [10:0]          m_tag,
    input  wire                 s_done,
    output wire                 sts_active,
    output wire                 sts_busy,
    output wire [PRODUCERS-1:0] sts_waits,
    output wire                 sts_idle,      // neither at work nor waiting for a token
    output wire                 sts_empty,     // and no instruction is left
    output reg  [23:0]          sts_index
);
    // There is a place for the instruction whose beats come, beside four that wait.
    localparam       LOG  = $clog2(BEATS);
    reg  [2:0]       wr_q, rd_q;     // instructions pushed, taken; modulo 8
    reg              full_q;
    reg  [LOG:0]     read_q;         // beats of the first instruction that have been read
    reg  [BEATS-2:0] load_q;         // which of them comes from the memory now
    reg              head_valid;
    reg  [1023-MEM_W:0] head;
    wire [23:0]      head_index;
    wire [23:0]      active_index;
    wire [MEM_W-1:0] beat;
    wire             push  = s_valid && s_ready;
    wire             pop;                                    // comes late: no arithmetic follows it
    wire [2:0]       level = wr_q - rd_q;
    wire [2:0]       fill  = wr_q + {2'b00, push};           // where beats go
    wire [2:0]       next  = pop ? rd_q + 3'd1 : rd_q;       // the first instruction from now on
    wire [LOG:0]     place = pop ? {(LOG+1){1'b0}} : read_q;
    wire             read  = (push || level != 3'd0) && !read_q[LOG];   // the next beat of the first instruction
    wire             more  = push || level != 3'd1;          // at pop: the first beat of the next one
    assign s_ready   = !full_q;
    assign sts_empty = wr_q == rd_q && !sts_active;
    gc_ram_sdp #(.WIDTH(MEM_W), .DEPTH(8*BEATS), .OLD_WORD(0)) u_beats (
        .clk(clk),
        .s_wr_en(s_write), .s_wr_addr({fill, s_place}), .s_wr_data(s_beat),
        .s_rd_en(1'b1), .s_rd_addr({next, place[LOG-1:0] | {LOG{place[LOG]}}}), .m_rd_data(beat)
    );
    gc_ram_sdp #(.WIDTH(24), .DEPTH(8), .OLD_WORD(0)) u_indices (
        .clk(clk),
        .s_wr_en(push), .s_wr_addr(wr_q), .s_wr_data(s_index),
        .s_rd_en(1'b1), .s_rd_addr(next), .m_rd_data(head_index)
    );
    genvar i;
    generate
        for (i = 0; i < BEATS - 1; i = i + 1) begin : g_beat
            localparam [LOG:0] PLACE = i;
            always @(posedge clk) begin
                load_q[i] <= pop ? more && i == 0 : read && read_q == PLACE;
                if (load_q[i]) head[i*MEM_W +: MEM_W] <= beat;
            end
        end
    endgenerate
    always @(posedge clk) begin
        wr_q       <= fill;
        rd_q       <= next;
        read_q     <= pop ? {{LOG{1'b0}}, more} : read_q + {{LOG{1'b0}}, read};
        full_q     <= !pop && (level[2] || (push && level == 3'd3));
        head_valid <= !pop && (head_valid || (read && &read_q[LOG-1:0]));
        if (rst) begin
            wr_q       <= 3'd0;
            rd_q       <= 3'd0;
            read_q     <= {(LOG+1){1'b0}};
            full_q     <= 1'b0;
            head_valid <= 1'b0;
        end
    end
    gc_instruction_gate #(.INSTR_W(1048), .PRODUCERS(PRODUCERS)) u_gate (
        .clk(clk), .rst(rst),
        .s_valid(head_valid && s_room), .s_ready(pop), .s_instruction({head_index, beat, head}),
        .s_available(s_available), .m_take(m_take),
        .m_start(m_start), .m_instruction({active_index, m_instruction}), .s_done(s_done),
        .sts_active(sts_active), .sts_busy(sts_busy), .sts_waits(sts_waits), .sts_idle(sts_idle)
    );
    always @(posedge clk) sts_index <= sts_active ? active_index : head_index;

    wire [14:0] common_unused;
    gc_decode_common u_common (
        .s_instruction(m_instruction), .m_signal(m_signal), .m_tag(m_tag),
        .m_opcode(common_unused[3:0]), .m_wait(common_unused[9:4]), .m_signal_read(common_unused[14:10])
    );

    wire _unused = &{1'b0, common_unused};
endmodule

`default_nettype wire
