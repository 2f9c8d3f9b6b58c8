// SPDX-License-Identifier: Apache-2.0
// A register stage of a stream that cuts both directions: payload, valid and ready all leave from registers (a skid
// buffer of two words). One word per cycle, one cycle latency. Obeys doc/streams.md.
`default_nettype none

module gc_stream_register #(
    parameter WIDTH = 8
) (
    input  wire             clk,
    input  wire             rst,
    input  wire             s_valid,
    output wire             s_ready,
    input  wire [WIDTH-1:0] s_data,
    output reg              m_valid,
    input  wire             m_ready,
    output reg  [WIDTH-1:0] m_data
);
    reg             skid_q;     // a second word waits behind m_data
    reg [WIDTH-1:0] skid_data_q;

    assign s_ready = !skid_q;

    always @(posedge clk) begin
        if (!m_valid || m_ready) begin
            m_valid <= skid_q || s_valid;
            m_data  <= skid_q ? skid_data_q : s_data;
            skid_q  <= 1'b0;
        end else if (s_valid && !skid_q) begin
            skid_q      <= 1'b1;
            skid_data_q <= s_data;
        end
        if (rst) begin
            m_valid <= 1'b0;
            skid_q  <= 1'b0;
        end
    end
endmodule

`default_nettype wire
