// SPDX-License-Identifier: Apache-2.0
// gc_dma_reader, MEM_W 64, DEPTH 4, bursts of at most 4 beats: the rules of requests; no more beats asked for than
// there is room, so read data are never refused; a burst is not held back when nothing is under way; sts_drained
// exactly when no beat is under way or to come; the stream's rule. Assumed: data only for requested beats. The order
// of the words is gc_stream_fifo's.
`default_nettype none

module gc_dma_reader_props (
    input wire        clk,
    input wire        rst,
    input wire        s_valid,
    input wire [32:0] s_addr,
    input wire [31:0] s_run_beats,
    input wire [15:0] s_n1,
    input wire [31:0] s_stride1,
    input wire [15:0] s_n2,
    input wire [31:0] s_stride2,
    input wire        rreq_ready,
    input wire        rdat_valid,
    input wire [63:0] rdat_data,
    input wire        m_ready
);
    wire        s_ready;
    wire        rreq_valid;
    wire [32:0] rreq_addr;
    wire [7:0]  rreq_len;
    wire        m_valid;
    wire [63:0] m_data;
    wire        drained;
    wire        started;

    gc_dma_reader #(.ADDR_W(33), .MEM_W(64), .DEPTH(4), .MAX_BURST(4)) u_dut (
        .clk(clk), .rst(rst),
        .s_valid(s_valid), .s_ready(s_ready), .s_addr(s_addr),
        .s_run_beats(s_run_beats),
        .s_n1(s_n1),
        .s_stride1(s_stride1),
        .s_n2(s_n2),
        .s_stride2(s_stride2),
        .m_rreq_valid(rreq_valid), .m_rreq_ready(rreq_ready), .m_rreq_addr(rreq_addr), .m_rreq_len(rreq_len),
        .s_rdat_valid(rdat_valid), .s_rdat_data(rdat_data),
        .m_valid(m_valid), .m_ready(m_ready), .m_data(m_data),
        .sts_drained(drained)
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));
    gc_request_rules u_request (
        .clk(clk), .rst(rst),
        .started(started),
        .valid(rreq_valid),
        .ready(rreq_ready),
        .addr(rreq_addr),
        .len(rreq_len)
    );
    gc_stream_rules #(.W(64)) u_stays (
        .clk(clk), .rst(rst),
        .valid(m_valid && started),
        .ready(m_ready),
        .data(m_data)
    );

    (* hierconn *) wire       \u_dut.burst_valid ;
    (* hierconn *) wire       \u_dut.burst_ready ;
    (* hierconn *) wire [9:0] \u_dut.base ;
    (* hierconn *) wire       \u_dut.u_beats.s_ready ;
    (* hierconn *) wire [2:0] \u_dut.u_beats.level_q ;
    (* hierconn *) wire [2:0] \u_dut.u_beats.wr_q ;
    (* hierconn *) wire [2:0] \u_dut.u_beats.rd_q ;
    (* hierconn *) wire [2:0] \u_dut.u_beats.seen_q ;
    gc_stream_fifo_state #(.AW(2)) u_state (
        .started(started),
        .wr(\u_dut.u_beats.wr_q ),
        .rd(\u_dut.u_beats.rd_q ),
        .seen(\u_dut.u_beats.seen_q ),
        .s_ready(\u_dut.u_beats.s_ready ),
        .m_valid(m_valid),
        .level(\u_dut.u_beats.level_q )
    );

    // Room for the burst that is shown, known a cycle before.
    (* hierconn *) wire        \u_dut.pop_q ;
    (* hierconn *) wire        \u_dut.room ;
    reg [9:0] owed_q;      // beats asked for that have not come
    reg [9:0] inside_q;    // beats that have come and not been taken
    always @(posedge clk) begin
        owed_q   <= owed_q + (rreq_valid && rreq_ready ? rreq_len + 10'd1 : 10'd0) - rdat_valid;
        inside_q <= inside_q + rdat_valid - (m_valid && m_ready);
        if (rst) begin
            owed_q   <= 10'd0;
            inside_q <= 10'd0;
        end
    end

    always @* if (started) begin
        assume (!rdat_valid || owed_q != 10'd0);
        assert (owed_q + inside_q <= 10'd4);
        assert (!rdat_valid || \u_dut.u_beats.s_ready );
        assert (!m_valid || inside_q != 10'd0);
        assert (!rreq_valid || owed_q + inside_q + rreq_len < 10'd4);
        assert (rreq_valid == (\u_dut.burst_valid && owed_q + inside_q + rreq_len < 10'd4));
        assert ((\u_dut.burst_valid && \u_dut.burst_ready ) == (rreq_valid && rreq_ready));
        assert (owed_q <= 10'd4 && inside_q == \u_dut.u_beats.level_q );
        assert (\u_dut.base + \u_dut.pop_q == 10'd4 - owed_q - inside_q);
        assert (! \u_dut.burst_valid || \u_dut.room == (owed_q + inside_q + rreq_len < 10'd4));
        assert (drained == (s_ready && !\u_dut.burst_valid && owed_q == 10'd0 && inside_q == 10'd0));
        cover (inside_q == 10'd4 && m_ready);
        cover (owed_q == 10'd2 && inside_q == 10'd2 && rdat_valid);
    end
endmodule

`default_nettype wire
