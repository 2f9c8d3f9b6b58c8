// SPDX-License-Identifier: Apache-2.0
// Delays a free-running word by N cycles (N may be zero). It shifts every cycle and is never reset, so that
// synthesis can use shift-register cells; the owner delays the valid bit.
`default_nettype none

module gc_drain_delay #(
    parameter N = 3,
    parameter W = 16
) (
    input  wire         clk,
    input  wire [W-1:0] s_data,
    output wire [W-1:0] m_data
);
    generate
        if (N == 0) begin : g_wire
            assign m_data = s_data;

            wire _unused = clk;
        end else if (N == 1) begin : g_register
            reg [W-1:0] data_q;

            always @(posedge clk) data_q <= s_data;

            assign m_data = data_q;
        end else begin : g_delay
            reg [N*W-1:0] pipe_q;

            always @(posedge clk) pipe_q <= {pipe_q[(N-1)*W-1:0], s_data};

            assign m_data = pipe_q[N*W-1 -: W];
        end
    endgenerate
endmodule

`default_nettype wire
