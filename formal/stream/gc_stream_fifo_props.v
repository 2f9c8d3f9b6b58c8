// SPDX-License-Identifier: Apache-2.0
// gc_stream_fifo of 4 words: the rule of streams, order, no word lost or made up, sts_level, a word shown 3 cycles
// after it entered.
`default_nettype none

module gc_stream_fifo_props (
    input wire       clk,
    input wire       rst,
    input wire       s_valid,
    input wire [3:0] s_data,
    input wire       m_ready
);
    wire       s_ready;
    wire       m_valid;
    wire [3:0] m_data;
    wire [2:0] level;
    wire       started;
    wire [2:0] stored;
    wire       tracked;
    wire [2:0] ahead;
    wire [3:0] word;

    gc_stream_fifo #(.WIDTH(4), .DEPTH(4)) u_dut (
        .clk(clk), .rst(rst), .s_valid(s_valid), .s_ready(s_ready), .s_data(s_data),
        .m_valid(m_valid), .m_ready(m_ready), .m_data(m_data), .sts_level(level)
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));
    gc_stream_rules #(.W(4)) u_rules (.clk(clk), .rst(rst), .valid(m_valid), .ready(m_ready), .data(m_data));
    gc_stream_order #(.W(4), .MOST(4), .LATENCY(3)) u_order (
        .clk(clk), .rst(rst), .started(started), .push(s_valid && s_ready), .s_data(s_data), .pop(m_valid && m_ready),
        .m_valid(m_valid), .m_data(m_data), .stored(stored), .tracked(tracked), .ahead(ahead), .word(word)
    );

    // Where the words are: one at the output, the others in memory from rd_q on.
    (* hierconn *) wire [2:0] \u_dut.wr_q ;
    (* hierconn *) wire [2:0] \u_dut.rd_q ;
    (* hierconn *) wire [2:0] \u_dut.seen_q ;
    (* hierconn *) wire       \u_dut.push ;
    (* hierconn *) wire       \u_dut.fetch ;
    (* hierconn *) wire [3:0] \u_dut.u_ram.g_apart.memory[0] ;
    (* hierconn *) wire [3:0] \u_dut.u_ram.g_apart.memory[1] ;
    (* hierconn *) wire [3:0] \u_dut.u_ram.g_apart.memory[2] ;
    (* hierconn *) wire [3:0] \u_dut.u_ram.g_apart.memory[3] ;
    wire [15:0] memory = {\u_dut.u_ram.g_apart.memory[3] , \u_dut.u_ram.g_apart.memory[2] ,
                          \u_dut.u_ram.g_apart.memory[1] , \u_dut.u_ram.g_apart.memory[0] };
    wire [2:0]  place  = \u_dut.rd_q + ahead - {2'd0, m_valid};

    gc_stream_fifo_state #(.AW(2)) u_state (
        .started(started),
        .wr(\u_dut.wr_q ),
        .rd(\u_dut.rd_q ),
        .seen(\u_dut.seen_q ),
        .s_ready(s_ready),
        .m_valid(m_valid),
        .level(level)
    );

    always @* if (started) begin
        assert (level == stored && s_ready == (stored < 3'd4));
        // OLD_WORD 0: no word is read while it is written.
        assert (!(\u_dut.push && \u_dut.fetch && \u_dut.wr_q [1:0] == \u_dut.rd_q [1:0]));
        if (tracked && ahead >= {2'd0, m_valid}) assert (memory[4*place[1:0] +: 4] == word);
        cover (stored == 3'd4 && tracked && ahead == 3'd3 && m_ready);
    end
endmodule

`default_nettype wire
