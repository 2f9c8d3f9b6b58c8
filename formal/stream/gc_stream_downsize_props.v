// SPDX-License-Identifier: Apache-2.0
// gc_stream_downsize of RATIO words a beat: the words of a beat lane by lane (the solver looks at any one lane), until
// the last lane or m_flush, then the next beat without a pause; the rule of streams.
`default_nettype none

module gc_stream_downsize_props #(
    parameter RATIO = 4
) (
    input wire               clk,
    input wire               rst,
    input wire               s_valid,
    input wire [RATIO*4-1:0] s_data,
    input wire               m_ready,
    input wire               m_flush
);
    localparam CW = $clog2(RATIO) + 1;
    wire       s_ready;
    wire       m_valid;
    wire [3:0] m_data;
    wire       started;

    gc_stream_downsize #(.WIDTH(4), .RATIO(RATIO)) u_dut (
        .clk(clk), .rst(rst), .s_valid(s_valid), .s_ready(s_ready), .s_data(s_data),
        .m_valid(m_valid), .m_ready(m_ready), .m_flush(m_flush), .m_data(m_data)
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));
    gc_stream_rules #(.W(4)) u_rules (.clk(clk), .rst(rst), .valid(m_valid), .ready(m_ready), .data(m_data));

    (* anyconst *) wire [CW-1:0] lane;
    reg          beat_q;      // a beat is inside
    reg [CW-1:0] given_q;     // words of it that have left
    reg [3:0]    word_q;      // its word of `lane`
    wire         pop = m_valid && m_ready;
    wire         end_of_beat = pop && (m_flush || given_q == RATIO - 1);

    always @(posedge clk) begin
        if (pop) given_q <= given_q + 1'b1;
        if (end_of_beat) beat_q <= 1'b0;
        if (s_valid && s_ready) begin
            beat_q  <= 1'b1;
            given_q <= {CW{1'b0}};
            word_q  <= s_data[4*lane +: 4];
        end
        if (rst) beat_q <= 1'b0;
    end

    (* hierconn *) wire [CW-1:0]      \u_dut.lane_q ;
    (* hierconn *) wire               \u_dut.last_q ;
    (* hierconn *) wire [RATIO*4-1:0] \u_dut.beat_q ;
    wire [CW-1:0] rest = lane - given_q;

    always @* begin
        assume (lane < RATIO);
        if (started) begin
            assert (m_valid == beat_q);
            assert (s_ready == (!beat_q || end_of_beat));
            if (beat_q && given_q == lane) assert (m_data == word_q);
            if (beat_q) assert (given_q == \u_dut.lane_q && given_q < RATIO && \u_dut.last_q == (given_q == RATIO - 1));
            if (beat_q && given_q <= lane) assert (\u_dut.beat_q [4*rest +: 4] == word_q);
            cover (pop && lane == RATIO - 1 && given_q == lane && s_valid);
        end
    end
endmodule

`default_nettype wire
