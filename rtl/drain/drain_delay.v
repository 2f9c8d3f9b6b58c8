// SPDX-License-Identifier: Apache-2.0
// Delays a free-running word by N cycles (N may be zero). It shifts every cycle and is never reset, so that
// synthesis can use shift-register cells; the owner delays the valid bit.
`default_nettype none

module drain_delay #(
    parameter N = 3,
    parameter W = 16
) (
    input  wire         clk,
    input  wire [W-1:0] s_data,
    output wire [W-1:0] m_data
);
    genvar i;
    generate
        if (N == 0) begin : g_wire
            assign m_data = s_data;

            wire _unused = clk;
        end else begin : g_delay
            reg [W-1:0] pipe_q [0:N-1];

            always @(posedge clk) pipe_q[0] <= s_data;

            for (i = 1; i < N; i = i + 1) begin : g_stage
                always @(posedge clk) pipe_q[i] <= pipe_q[i-1];
            end

            assign m_data = pipe_q[N-1];
        end
    endgenerate
endmodule

`default_nettype wire
