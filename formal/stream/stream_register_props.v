// SPDX-License-Identifier: Apache-2.0
// The stream rules on stream_register: an offered word stays until taken, and no word is lost or made up. The order of the words is
// left to simulation.
`default_nettype none

module stream_register_props (
    input wire       clk,
    input wire       rst,
    input wire       s_valid,
    input wire [7:0] s_data,
    input wire       m_ready
);
    wire       s_ready;
    wire       m_valid;
    wire [7:0] m_data;

    stream_register #(.WIDTH(8)) u_dut (
        .clk(clk), .rst(rst), .s_valid(s_valid), .s_ready(s_ready), .s_data(s_data),
        .m_valid(m_valid), .m_ready(m_ready), .m_data(m_data)
    );

    reg       started_q = 1'b0;    // a reset has been seen
    reg       stalled_q = 1'b0;
    reg [7:0] offered_q;
    reg [1:0] inside_q;            // words taken in minus words taken out

    always @(posedge clk) begin
        stalled_q <= m_valid && !m_ready && !rst;
        offered_q <= m_data;
        inside_q  <= inside_q + {1'b0, s_valid && s_ready} - {1'b0, m_valid && m_ready};
        if (rst) begin
            started_q <= 1'b1;
            inside_q  <= 2'd0;
        end
    end

    always @(posedge clk) begin
        if (!started_q) assume (rst);
        else begin
            if (stalled_q) assert (m_valid && m_data == offered_q);
            assert (inside_q == {1'b0, m_valid} + {1'b0, !s_ready});
            assert (s_ready || m_valid);
            cover (!s_ready && m_ready);
            cover (inside_q == 2'd0 && stalled_q == 1'b0 && s_valid);
        end
    end
endmodule

`default_nettype wire
