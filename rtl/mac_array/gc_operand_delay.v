// SPDX-License-Identifier: Apache-2.0
// Delays a word by DELAY cycles, free running; with DELAY 0 it is a wire. No reset: it becomes shift-register memory.
`default_nettype none

module gc_operand_delay #(
    parameter W     = 64,
    parameter DELAY = 1
) (
    input  wire         clk,
    input  wire [W-1:0] s_data,
    output wire [W-1:0] m_data
);
    generate
        if (DELAY == 0) begin : g_wire
            wire _unused = &{1'b0, clk};
            assign m_data = s_data;
        end else begin : g_delay
            reg  [DELAY*W-1:0]     stage_q;
            wire [(DELAY+1)*W-1:0] chain = {stage_q, s_data};
            always @(posedge clk)
                stage_q <= chain[DELAY*W-1:0];
            assign m_data = chain[DELAY*W +: W];
        end
    endgenerate
endmodule

`default_nettype wire
