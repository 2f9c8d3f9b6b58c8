// SPDX-License-Identifier: Apache-2.0
// Delays a word by CYCLES clock cycles (0: a wire). Free running, no reset: whoever needs a known start
// delays a valid bit through `clear`, which empties the line in one cycle.
`default_nettype none

module delay_line #(
    parameter W      = 1,
    parameter CYCLES = 1
) (
    input  wire         clk,
    input  wire         clear,
    input  wire [W-1:0] s_data,
    output wire [W-1:0] m_data
);
    generate
        if (CYCLES == 0) begin : g_wire
            assign m_data = s_data;
            wire _unused = &{1'b0, clk, clear};
        end else begin : g_line
            reg [W-1:0] stage_q [0:CYCLES-1];
            integer i;
            always @(posedge clk) begin
                stage_q[0] <= s_data;
                for (i = 1; i < CYCLES; i = i + 1) stage_q[i] <= stage_q[i-1];
                if (clear)
                    for (i = 0; i < CYCLES; i = i + 1) stage_q[i] <= {W{1'b0}};
            end
            assign m_data = stage_q[CYCLES-1];
        end
    endgenerate
endmodule

`default_nettype wire
