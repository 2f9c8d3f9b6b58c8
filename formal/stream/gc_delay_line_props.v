// SPDX-License-Identifier: Apache-2.0
// gc_delay_line of 3 cycles: the word of 3 cycles ago, or zero if `clear` has been there since.
`default_nettype none

module gc_delay_line_props (
    input wire       clk,
    input wire       clear,
    input wire [3:0] s_data
);
    wire [3:0] m_data;

    gc_delay_line #(.W(4), .CYCLES(3)) u_dut (.clk(clk), .clear(clear), .s_data(s_data), .m_data(m_data));

    reg [1:0] age_q = 2'd0;    // cycles since the start, 3 at most
    reg [2:0] clear_q;
    reg [3:0] first_q;
    reg [3:0] second_q;
    reg [3:0] third_q;

    always @(posedge clk) begin
        if (age_q != 2'd3) age_q <= age_q + 2'd1;
        clear_q  <= {clear_q[1:0], clear};
        first_q  <= s_data;
        second_q <= first_q;
        third_q  <= second_q;
    end

    always @* if (age_q == 2'd3) begin
        assert (m_data == (|clear_q ? 4'd0 : third_q));
        cover (m_data != 4'd0 && clear);
    end
endmodule

`default_nettype wire
