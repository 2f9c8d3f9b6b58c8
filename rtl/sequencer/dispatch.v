// SPDX-License-Identifier: Apache-2.0
// Gives each instruction of a program to the queue of its engine, in program order, at most one per cycle; waits while that queue
// is full. END ends the program: nothing is taken until the next `start`. An unknown opcode stops it likewise and sets
// sts_error; sts_index then is the number of the offending instruction, 0 first.
`default_nettype none

module dispatch #(
    parameter INSTR_W = 1024,
    parameter ENGINES = 5     // opcodes 1..ENGINES
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               start,
    input  wire               s_valid,
    output wire               s_ready,
    input  wire [INSTR_W-1:0] s_instruction,
    output wire [ENGINES-1:0] m_valid,
    input  wire [ENGINES-1:0] m_ready,
    output wire [INSTR_W-1:0] m_instruction,
    output reg                sts_ended,
    output reg                sts_error,
    output reg  [23:0]        sts_index
);
    wire [3:0]         opcode  = s_instruction[3:0];
    wire [ENGINES:0]   select  = {{ENGINES{1'b0}}, 1'b1} << opcode;   // bit 0: END
    wire               known   = |select;
    wire               running = !sts_ended && !sts_error;

    assign m_instruction = s_instruction;
    assign m_valid       = (s_valid && running) ? select[ENGINES:1] : {ENGINES{1'b0}};
    assign s_ready       = running && (|(select[ENGINES:1] & m_ready) || select[0] || !known);

    always @(posedge clk) begin
        if (start) begin
            sts_ended <= 1'b0;
            sts_error <= 1'b0;
            sts_index <= 24'd0;
        end else if (s_valid && running) begin
            if (select[0]) sts_ended <= 1'b1;
            if (!known)    sts_error <= 1'b1;
            if (s_ready && known && !select[0]) sts_index <= sts_index + 24'd1;
        end
        if (rst) begin
            sts_ended <= 1'b1;
            sts_error <= 1'b0;
            sts_index <= 24'd0;
        end
    end
endmodule

`default_nettype wire
