// SPDX-License-Identifier: Apache-2.0
// gc_stream_register: the rule of streams, order, no word lost or made up.
`default_nettype none

module gc_stream_register_props (
    input wire       clk,
    input wire       rst,
    input wire       s_valid,
    input wire [3:0] s_data,
    input wire       m_ready
);
    wire       s_ready;
    wire       m_valid;
    wire [3:0] m_data;
    wire       started;
    wire [1:0] stored;
    wire       tracked;
    wire [1:0] ahead;
    wire [3:0] word;
    (* hierconn *) wire [3:0] \u_dut.skid_data_q ;

    gc_stream_register #(.WIDTH(4)) u_dut (
        .clk(clk), .rst(rst), .s_valid(s_valid), .s_ready(s_ready), .s_data(s_data),
        .m_valid(m_valid), .m_ready(m_ready), .m_data(m_data)
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));
    gc_stream_rules #(.W(4)) u_rules (.clk(clk), .rst(rst), .valid(m_valid), .ready(m_ready), .data(m_data));
    gc_stream_order #(.W(4), .MOST(2), .LATENCY(1)) u_order (
        .clk(clk), .rst(rst), .started(started), .push(s_valid && s_ready), .s_data(s_data), .pop(m_valid && m_ready),
        .m_valid(m_valid), .m_data(m_data), .stored(stored), .tracked(tracked), .ahead(ahead), .word(word)
    );

    always @* if (started) begin
        assert (stored == {1'b0, m_valid} + {1'b0, !s_ready});
        if (tracked && ahead == 2'd1) assert (\u_dut.skid_data_q == word);
        cover (!s_ready && m_ready && tracked);
    end
endmodule

`default_nettype wire
