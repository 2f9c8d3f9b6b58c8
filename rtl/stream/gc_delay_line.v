// SPDX-License-Identifier: Apache-2.0
// Delays a word by CYCLES clock cycles (0: a wire). Free running, no reset: a line of valid bits is emptied in one
// cycle by `clear`. A line of data has CLEAR 0 and looks at no `clear`, so that synthesis can use shift-register
// cells.
`default_nettype none

module gc_delay_line #(
    parameter W      = 1,
    parameter CYCLES = 1,
    parameter CLEAR  = 1     // 0 or 1
) (
    input  wire         clk,
    input  wire         clear,
    input  wire [W-1:0] s_data,
    output wire [W-1:0] m_data
);
    genvar i;
    generate
        if (W < 1) begin : g_illegal_width
            gradcore_illegal_parameter_W_below_1 u_stop ();
        end
        if (CYCLES < 0) begin : g_illegal_cycles
            gradcore_illegal_parameter_CYCLES_below_0 u_stop ();
        end
        if (CYCLES == 0) begin : g_wire
            assign m_data = s_data;
            wire _unused = &{1'b0, clk, clear};
        end else begin : g_line
            wire [W-1:0] stage [0:CYCLES];
            assign stage[0] = s_data;
            for (i = 0; i < CYCLES; i = i + 1) begin : g_stage
                reg [W-1:0] word_q;
                always @(posedge clk) word_q <= (CLEAR != 0 && clear) ? {W{1'b0}} : stage[i];
                assign stage[i+1] = word_q;
            end
            assign m_data = stage[CYCLES];
        end
    endgenerate
endmodule

`default_nettype wire
