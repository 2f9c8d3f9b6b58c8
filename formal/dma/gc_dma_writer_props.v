// SPDX-License-Identifier: Apache-2.0
// gc_dma_writer, MEM_W 64, DEPTH 4, bursts of at most 4 beats: the native port's rules of a requester; a burst is only
// asked for once all its beats are inside, and they leave without a pause of 3 cycles; m_done once for each
// descriptor, within 2 cycles after its last response and never before; the next descriptor is not taken earlier;
// sts_empty and sts_starved as said. Assumed: responses only for bursts whose beats have been taken, fewer than 65000
// of them missing. The order of the words is gc_stream_fifo's.
`default_nettype none

module gc_dma_writer_props (
    input wire        clk,
    input wire        rst,
    input wire        s_desc_valid,
    input wire [32:0] s_addr,
    input wire [31:0] s_run_beats,
    input wire [15:0] s_n1,
    input wire [31:0] s_stride1,
    input wire [15:0] s_n2,
    input wire [31:0] s_stride2,
    input wire        s_valid,
    input wire [63:0] s_data,
    input wire [7:0]  s_strb,
    input wire        wreq_ready,
    input wire        wdat_ready,
    input wire        wrsp_valid
);
    wire        s_desc_ready;
    wire        s_ready;
    wire        done;
    wire        starved;
    wire        empty;
    wire        wreq_valid;
    wire [32:0] wreq_addr;
    wire [7:0]  wreq_len;
    wire        wdat_valid;
    wire [71:0] word;
    wire        wdat_last;
    wire        started;

    gc_dma_writer #(.ADDR_W(33), .MEM_W(64), .DEPTH(4), .MAX_BURST(4)) u_dut (
        .clk(clk), .rst(rst),
        .s_desc_valid(s_desc_valid), .s_desc_ready(s_desc_ready),
        .s_addr(s_addr),
        .s_run_beats(s_run_beats),
        .s_n1(s_n1),
        .s_stride1(s_stride1),
        .s_n2(s_n2),
        .s_stride2(s_stride2),
        .s_valid(s_valid), .s_ready(s_ready), .s_data(s_data), .s_strb(s_strb),
        .m_done(done),
        .sts_starved(starved), .sts_empty(empty),
        .m_wreq_valid(wreq_valid), .m_wreq_ready(wreq_ready), .m_wreq_addr(wreq_addr), .m_wreq_len(wreq_len),
        .m_wdat_valid(wdat_valid), .m_wdat_ready(wdat_ready), .m_wdat_data(word[63:0]), .m_wdat_strb(word[71:64]),
        .m_wdat_last(wdat_last),
        .s_wrsp_valid(wrsp_valid)
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));

    wire [1:0]  writes;
    wire [7:0]  left;
    wire        full;
    wire [15:0] unanswered;
    gc_write_rules #(.MOST(2), .MEMORY(1)) u_port (
        .clk(clk), .rst(rst),
        .started(started),
        .wreq_valid(wreq_valid),
        .wreq_ready(wreq_ready),
        .wreq_addr(wreq_addr),
        .wreq_len(wreq_len),
        .wdat_valid(wdat_valid),
        .wdat_ready(wdat_ready),
        .wdat_word(word),
        .wdat_last(wdat_last),
        .wrsp_valid(wrsp_valid),
        .bursts(writes),
        .left(left),
        .full(full),
        .unanswered(unanswered)
    );

    (* hierconn *) wire        \u_dut.open_q ;
    (* hierconn *) wire        \u_dut.last_sent_q ;
    (* hierconn *) wire        \u_dut.data_q ;
    (* hierconn *) wire [8:0]  \u_dut.beats_q ;
    (* hierconn *) wire [15:0] \u_dut.waiting_q ;
    (* hierconn *) wire        \u_dut.request_q ;
    (* hierconn *) wire        \u_dut.burst_valid ;
    (* hierconn *) wire        \u_dut.burst_last ;
    (* hierconn *) wire        \u_dut.u_bursts.open_q ;
    (* hierconn *) wire        \u_dut.u_bursts.shown_q ;
    (* hierconn *) wire        \u_dut.word_valid ;
    (* hierconn *) wire [2:0]  \u_dut.level ;
    (* hierconn *) wire [2:0]  \u_dut.u_beats.wr_q ;
    (* hierconn *) wire [2:0]  \u_dut.u_beats.rd_q ;
    (* hierconn *) wire [2:0]  \u_dut.u_beats.seen_q ;
    gc_stream_fifo_state #(.AW(2)) u_state (
        .started(started),
        .wr(\u_dut.u_beats.wr_q ),
        .rd(\u_dut.u_beats.rd_q ),
        .seen(\u_dut.u_beats.seen_q ),
        .s_ready(s_ready),
        .m_valid(\u_dut.word_valid ),
        .level(\u_dut.level )
    );

    reg        owed_q;       // a descriptor was taken, its m_done has not been shown
    reg        nothing_q;    // it is a transfer of nothing
    reg        last_q;       // its last burst has been asked for
    reg [9:0]  inside_q;     // beats
    reg [1:0]  pause_q;      // cycles in which a burst's next beat was not shown
    reg [1:0]  late_q;       // cycles since everything was answered
    wire       accept   = s_desc_valid && s_desc_ready;
    wire       nothing  = s_run_beats == 0 || s_n1 == 0 || s_n2 == 0;
    wire       answered = nothing_q || (last_q && writes == 0 && unanswered == 0);
    always @(posedge clk) begin
        owed_q    <= accept || (owed_q && !done);
        last_q    <= !accept && (last_q || (wreq_valid && wreq_ready && \u_dut.burst_last ));
        if (accept) nothing_q <= nothing;
        inside_q  <= inside_q + (s_valid && s_ready) - (wdat_valid && wdat_ready);
        pause_q   <= writes != 0 && !wdat_valid ? pause_q + 2'd1 : 2'd0;
        late_q    <= owed_q && answered && !done ? late_q + 2'd1 : 2'd0;
        if (rst) begin
            owed_q    <= 1'b0;
            inside_q  <= 10'd0;
            pause_q   <= 2'd0;
            late_q    <= 2'd0;
        end
    end

    always @* if (started) begin
        assume (unanswered < 16'd65000);
        assert (writes <= 2'd1 && !full);
        if (wreq_valid) assert (inside_q > wreq_len && owed_q && !last_q && !nothing_q);
        if (writes != 0) assert (inside_q > left);
        assert (pause_q < 2'd3 && late_q < 2'd2);
        if (done) assert (owed_q && answered);
        if (s_desc_ready) assert (!owed_q || done);
        assert (empty == (inside_q == 10'd0)
            && starved == (\u_dut.burst_valid && writes == 2'd0 && inside_q <= wreq_len));
        // The same in both.
        assert (inside_q == \u_dut.level && \u_dut.waiting_q + {15'd0, \u_dut.request_q } == unanswered + writes);
        assert (\u_dut.data_q == (writes != 0) && (writes == 0 || \u_dut.beats_q == left + 9'd1));
        assert (owed_q == (\u_dut.open_q || done) && !(\u_dut.open_q && done));
        if (owed_q && !nothing_q) assert (last_q == \u_dut.last_sent_q );
        if (\u_dut.open_q ) assert (!nothing_q);
        if (!\u_dut.open_q || last_q) assert (!\u_dut.u_bursts.open_q && !\u_dut.u_bursts.shown_q );
        if (\u_dut.u_bursts.shown_q ) assert (\u_dut.burst_valid );
        if (\u_dut.burst_valid && \u_dut.u_bursts.shown_q && \u_dut.burst_last ) assert (!\u_dut.u_bursts.open_q );
        if (!owed_q || nothing_q) assert (writes == 0 && unanswered == 0);
        cover (done && !nothing_q && inside_q == 10'd0);
        cover (unanswered == 16'd2 && last_q && writes == 2'd1);
    end
endmodule

`default_nettype wire
