// SPDX-License-Identifier: Apache-2.0
// gc_stream_upsize of RATIO words a beat: a beat per RATIO words or s_last, in the cycle after its last word; m_words
// and m_last; the words of a beat in their lanes, zero behind them (the solver looks at any one lane); the rule of
// streams.
`default_nettype none

module gc_stream_upsize_props #(
    parameter RATIO = 4
) (
    input wire       clk,
    input wire       rst,
    input wire       s_valid,
    input wire       s_last,
    input wire [3:0] s_data,
    input wire       m_ready
);
    localparam CW = $clog2(RATIO) + 1;
    wire               s_ready;
    wire               m_valid;
    wire               m_last;
    wire [CW-1:0]      m_words;
    wire [RATIO*4-1:0] m_data;
    wire               started;

    gc_stream_upsize #(.WIDTH(4), .RATIO(RATIO)) u_dut (
        .clk(clk), .rst(rst), .s_valid(s_valid), .s_ready(s_ready), .s_last(s_last), .s_data(s_data),
        .m_valid(m_valid), .m_ready(m_ready), .m_last(m_last), .m_words(m_words), .m_data(m_data)
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));
    gc_stream_rules #(.W(RATIO*4+CW+1)) u_rules (
        .clk(clk), .rst(rst),
        .valid(m_valid),
        .ready(m_ready),
        .data({m_data, m_words, m_last})
    );

    (* anyconst *) wire [CW-1:0] lane;
    reg [CW-1:0] words_q;     // of the beat that is being filled or shown
    reg          whole_q;     // it has all its words
    reg          last_q;
    reg [3:0]    word_q;      // its word of `lane`
    wire         push  = s_valid && s_ready;
    wire [CW-1:0] held  = whole_q ? {CW{1'b0}} : words_q;

    always @(posedge clk) begin
        if (push) begin
            words_q <= held + 1'b1;
            whole_q <= held + 1'b1 == RATIO || s_last;
            last_q  <= s_last;
            if (held == lane) word_q <= s_data;
        end else if (m_valid && m_ready) begin
            words_q <= {CW{1'b0}};
            whole_q <= 1'b0;
        end
        if (rst) begin
            words_q <= {CW{1'b0}};
            whole_q <= 1'b0;
        end
    end

    (* hierconn *) wire [CW-1:0] \u_dut.lane_q ;

    always @* if (started) begin
        assert (m_valid == whole_q);
        assert (s_ready == (!m_valid || m_ready));
        if (m_valid) assert (m_words == words_q && m_last == last_q);
        if (lane < words_q) assert (m_data[4*lane +: 4] == word_q);
        else if (lane < RATIO && words_q != 0) assert (m_data[4*lane +: 4] == 0);
        assert (\u_dut.lane_q == held && words_q <= RATIO && held < RATIO);
        cover (m_valid && m_last && lane == RATIO - 1 && lane < words_q && push);
    end
endmodule

`default_nettype wire
