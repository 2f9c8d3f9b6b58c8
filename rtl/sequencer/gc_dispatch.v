// SPDX-License-Identifier: Apache-2.0
// Gives each instruction of a program to the queue of its unit, in program order, at most one per cycle; waits while
// that queue is full. END ends the program; an unknown opcode, an instruction with s_bad, or a program of cfg_length
// instructions without END, ends it with an error. What stands behind the end is thrown away, so that nothing of one
// program reaches the next: sts_finished rises when all cfg_length instructions have passed. sts_index is the number
// of the instruction that is next, on an error of the offending one, 0 first.
`default_nettype none

module gc_dispatch #(
    parameter INSTR_W = 1024,
    parameter ENGINES = 5,    // opcodes 1..ENGINES
    parameter SHARED  = 0     // the opcode, 1..ENGINES, whose queue takes opcode ENGINES + 1, too; 0: none does
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [23:0]        cfg_length,    // sampled with start
    input  wire               start,
    input  wire               s_valid,
    output wire               s_ready,
    input  wire [INSTR_W-1:0] s_instruction,
    input  wire               s_bad,         // no unit may get it
    output wire [ENGINES-1:0] m_valid,
    input  wire [ENGINES-1:0] m_ready,
    output wire [INSTR_W-1:0] m_instruction,
    output wire               sts_finished,
    output reg                sts_error,
    output reg  [7:0]         sts_code,      // doc/registers.md, ERROR
    output reg  [23:0]        sts_index
);
    generate
        if (ENGINES < 1 || ENGINES > 15) begin : g_illegal_engines
            gradcore_illegal_parameter_ENGINES_must_be_1_to_15 u_stop ();
        end
        if (SHARED < 0 || SHARED > ENGINES) begin : g_illegal_shared
            gradcore_illegal_parameter_SHARED_must_be_0_to_ENGINES u_stop ();
        end
        if (INSTR_W < 4) begin : g_illegal_instr
            gradcore_illegal_parameter_INSTR_W_below_4 u_stop ();
        end
    endgenerate

    localparam [7:0] UNKNOWN_OPCODE = 8'd1;
    localparam [7:0] NO_END         = 8'd2;
    localparam [7:0] MALFORMED      = 8'd3;

    reg                running_q;
    reg  [23:0]        left_q;      // instructions still to come
    reg                none_q;      // it is zero
    wire [3:0]         opcode  = s_instruction[3:0];
    wire [ENGINES+1:0] known   = {{(ENGINES+1){1'b0}}, 1'b1} << opcode;   // bit 0: END
    wire [ENGINES:0]   also    = {{ENGINES{1'b0}}, SHARED != 0 && known[ENGINES+1]} << SHARED;
    wire [ENGINES:0]   select  = known[ENGINES:0] | also;
    wire               refused = ~(|select) || s_bad;
    wire               take    = s_valid && s_ready;
    wire               missing = running_q && none_q;

    assign m_instruction = s_instruction;
    assign m_valid       = (s_valid && running_q && !refused) ? select[ENGINES:1] : {ENGINES{1'b0}};
    assign s_ready       = !running_q || (|(select[ENGINES:1] & m_ready)) || select[0] || refused;
    assign sts_finished  = !running_q && none_q;

    always @(posedge clk) begin
        if (start) begin
            left_q <= cfg_length;
            none_q <= ~(|cfg_length);
        end else if (take) begin
            left_q <= left_q - 24'd1;
            none_q <= left_q == 24'd1;
        end
        if (start) begin
            running_q <= 1'b1;
            sts_error <= 1'b0;
            sts_code  <= 8'd0;
            sts_index <= 24'd0;
        end else if (missing || (take && running_q && refused)) begin
            running_q <= 1'b0;
            sts_error <= 1'b1;
            sts_code  <= missing ? NO_END : |select ? MALFORMED : UNKNOWN_OPCODE;
        end else if (take && running_q) begin
            if (select[0]) running_q <= 1'b0;
            else           sts_index <= sts_index + 24'd1;
        end
        if (rst) begin
            running_q <= 1'b0;
            left_q    <= 24'd0;
            none_q    <= 1'b1;
            sts_error <= 1'b0;
            sts_code  <= 8'd0;
        end
    end
endmodule

`default_nettype wire
