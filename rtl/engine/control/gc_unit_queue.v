// SPDX-License-Identifier: Apache-2.0
// The queue of one unit: up to four instructions with their numbers, and the gate that starts the first one when its
// tokens are there. m_instruction is stable from m_start to s_done. s_room low holds the next start back. sts_index is
// the number of the instruction at work, else of the one that waits, a cycle late.
`default_nettype none

module gc_unit_queue #(
    parameter PRODUCERS = 6
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire                 s_valid,
    output wire                 s_ready,
    input  wire [1023:0]        s_instruction,
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
    output wire                 sts_idle,
    output reg  [23:0]          sts_index
);
    wire          head_valid;
    wire          head_ready;
    wire [1047:0] head;
    wire [23:0]   active_index;
    wire [2:0]    level_unused;
    gc_stream_fifo #(.WIDTH(1048), .DEPTH(4)) u_queue (
        .clk(clk), .rst(rst),
        .s_valid(s_valid), .s_ready(s_ready), .s_data({s_index, s_instruction}),
        .m_valid(head_valid), .m_ready(head_ready), .m_data(head),
        .sts_level(level_unused)
    );
    gc_instruction_gate #(.INSTR_W(1048), .PRODUCERS(PRODUCERS)) u_gate (
        .clk(clk), .rst(rst),
        .s_valid(head_valid && s_room), .s_ready(head_ready), .s_instruction(head),
        .s_available(s_available), .m_take(m_take),
        .m_start(m_start), .m_instruction({active_index, m_instruction}), .s_done(s_done),
        .sts_active(sts_active), .sts_busy(sts_busy), .sts_waits(sts_waits), .sts_idle(sts_idle)
    );
    always @(posedge clk) sts_index <= sts_active ? active_index : head[1047:1024];

    wire [14:0] common_unused;
    gc_decode_common u_common (
        .s_instruction(m_instruction), .m_signal(m_signal), .m_tag(m_tag),
        .m_opcode(common_unused[3:0]), .m_wait(common_unused[9:4]), .m_signal_read(common_unused[14:10])
    );

    wire _unused = &{1'b0, level_unused, common_unused};
endmodule

`default_nettype wire
