// SPDX-License-Identifier: Apache-2.0
// gc_register_queue of 4 words: order, no word lost or made up, room exactly while it is not full. Assumed: pushes
// only with room, pops only of a word.
`default_nettype none

module gc_register_queue_props (
    input wire       clk,
    input wire       rst,
    input wire       s_push,
    input wire [3:0] s_data,
    input wire       s_pop
);
    wire       room;
    wire       m_valid;
    wire [3:0] m_data;
    wire       started;
    wire [2:0] stored;
    wire       tracked;
    wire [2:0] ahead;
    wire [3:0] word;

    gc_register_queue #(.WIDTH(4), .DEPTH(4)) u_dut (
        .clk(clk), .rst(rst),
        .s_push(s_push),
        .s_data(s_data),
        .m_room(room),
        .m_valid(m_valid),
        .s_pop(s_pop),
        .m_data(m_data)
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));
    gc_stream_order #(.W(4), .MOST(4), .LATENCY(1)) u_order (
        .clk(clk), .rst(rst), .started(started), .push(s_push), .s_data(s_data), .pop(s_pop),
        .m_valid(m_valid), .m_data(m_data), .stored(stored), .tracked(tracked), .ahead(ahead), .word(word)
    );

    (* hierconn *) wire [2:0] \u_dut.wr_q ;
    (* hierconn *) wire [2:0] \u_dut.rd_q ;
    (* hierconn *) wire [3:0] \u_dut.word_q[0] ;
    (* hierconn *) wire [3:0] \u_dut.word_q[1] ;
    (* hierconn *) wire [3:0] \u_dut.word_q[2] ;
    (* hierconn *) wire [3:0] \u_dut.word_q[3] ;
    wire [15:0] memory = {\u_dut.word_q[3] , \u_dut.word_q[2] , \u_dut.word_q[1] , \u_dut.word_q[0] };
    wire [2:0]  place  = \u_dut.rd_q + ahead;

    always @* if (started) begin
        assume (!s_push || room);
        assume (!s_pop || m_valid);
        assert (room == (stored < 3'd4));
        assert (m_valid == (stored != 3'd0));
        assert (\u_dut.wr_q - \u_dut.rd_q == stored);
        if (tracked) assert (memory[4*place[1:0] +: 4] == word);
        cover (stored == 3'd4 && tracked && ahead == 3'd3 && s_pop);
    end
endmodule

`default_nettype wire
