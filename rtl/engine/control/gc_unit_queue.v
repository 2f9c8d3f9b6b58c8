// SPDX-License-Identifier: Apache-2.0
// The queue of one unit: up to four instructions with their numbers, and the gate that starts the first one when its
// tokens are there. m_instruction is stable from m_start to s_done, at least a cycle later. s_room low holds
// the next start back. sts_index is the number of the instruction at work, else of the one that waits, a cycle late.
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
    // The head is read anew in each cycle: no net enables a thousand registers. After a pop the next head comes in the
    // second cycle.
    localparam [2:0] ONE = 3'd1;
    reg  [2:0]    wr_q, rd_q;     // instructions written, taken; modulo 8
    reg           full_q;
    reg           head_valid;
    wire [1047:0] head;
    wire [23:0]   active_index;
    wire          push = s_valid && s_ready;
    wire          pop;
    wire [2:0]    level = wr_q - rd_q;
    assign s_ready = !full_q;
    gc_ram_sdp #(.WIDTH(1048), .DEPTH(4), .OLD_WORD(0)) u_ram (
        .clk(clk),
        .s_wr_en(push), .s_wr_addr(wr_q[1:0]), .s_wr_data({s_index, s_instruction}),
        .s_rd_en(1'b1), .s_rd_addr(rd_q[1:0]), .m_rd_data(head)
    );
    always @(posedge clk) begin
        if (push) wr_q <= wr_q + ONE;
        if (pop)  rd_q <= rd_q + ONE;
        full_q     <= !pop && (level[2] || (push && level == 3'd3));
        head_valid <= !pop && |level;
        if (rst) begin
            wr_q       <= 3'd0;
            rd_q       <= 3'd0;
            full_q     <= 1'b0;
            head_valid <= 1'b0;
        end
    end
    gc_instruction_gate #(.INSTR_W(1048), .PRODUCERS(PRODUCERS)) u_gate (
        .clk(clk), .rst(rst),
        .s_valid(head_valid && s_room), .s_ready(pop), .s_instruction(head),
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

    wire _unused = &{1'b0, common_unused};
endmodule

`default_nettype wire
