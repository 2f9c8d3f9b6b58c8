// SPDX-License-Identifier: Apache-2.0
// Frames of bytes through all primitives in a row: packed into beats, kept in a FIFO, registered, taken apart, queued.
`default_nettype none

module gc_stream_tb;
    wire        clk, rst, valid, ready, last, m_valid, m_ready;
    wire [7:0]  data, m_data;
    wire        up_valid, up_ready, fifo_valid, fifo_ready, reg_valid, reg_ready, down_valid, room, beat_last;
    wire [2:0]  up_words, reg_words, level;
    wire [31:0] up_data, reg_data;
    wire [34:0] fifo_data;
    wire [7:0]  down_data;
    reg  [2:0]  words_q;     // of the beat that is taken apart
    reg  [2:0]  lane_q;
    wire        flush = lane_q == words_q;

    gc_tb_player #(.NAME("gc_stream_tb"), .IN_W(9), .OUT_W(8), .STALLS(1)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(ready), .m_data({last, data}), .s_valid(m_valid),
        .s_ready(m_ready), .s_data(m_data)
    );
    gc_stream_upsize #(.WIDTH(8), .RATIO(4)) u_up (
        .clk(clk), .rst(rst), .s_valid(valid), .s_ready(ready), .s_last(last), .s_data(data),
        .m_valid(up_valid), .m_ready(up_ready), .m_last(beat_last), .m_words(up_words), .m_data(up_data)
    );
    gc_stream_fifo #(.WIDTH(35), .DEPTH(4)) u_fifo (
        .clk(clk), .rst(rst), .s_valid(up_valid), .s_ready(up_ready), .s_data({up_words, up_data}),
        .m_valid(fifo_valid), .m_ready(fifo_ready), .m_data(fifo_data), .sts_level(level)
    );
    gc_stream_register #(.WIDTH(35)) u_register (
        .clk(clk), .rst(rst), .s_valid(fifo_valid), .s_ready(fifo_ready), .s_data(fifo_data),
        .m_valid(reg_valid), .m_ready(reg_ready), .m_data({reg_words, reg_data})
    );
    gc_stream_downsize #(.WIDTH(8), .RATIO(4)) u_down (
        .clk(clk), .rst(rst), .s_valid(reg_valid), .s_ready(reg_ready), .s_data(reg_data),
        .m_valid(down_valid), .m_ready(room), .m_flush(flush), .m_data(down_data)
    );
    gc_register_queue #(.WIDTH(8), .DEPTH(4)) u_queue (
        .clk(clk), .rst(rst), .s_push(down_valid && room), .s_data(down_data), .m_room(room),
        .m_valid(m_valid), .s_pop(m_valid && m_ready), .m_data(m_data)
    );

    always @(posedge clk) begin
        if (reg_valid && reg_ready) begin
            words_q <= reg_words;
            lane_q  <= 3'd1;
        end else if (down_valid && room) lane_q <= lane_q + 3'd1;
    end

    wire _unused = &{1'b0, beat_last, level};
endmodule

`default_nettype wire
