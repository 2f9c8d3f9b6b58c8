// SPDX-License-Identifier: Apache-2.0
// Copies by gc_dma_reader and gc_dma_writer. The memory holds in each beat its own address; what is written comes back
// with where to.
`default_nettype none

module gc_dma_tb;
    localparam ADDR_W = 33, MEM_W = 64;
    localparam SIDE_W = ADDR_W + 32 + 16 + 32 + 16 + 32;

    wire              clk, rst, valid, from_ready, to_ready, s_ready, m_valid, m_ready, done, drained, starved, empty;
    wire [SIDE_W-1:0] from, to;
    wire [MEM_W-1:0]  data, wdat_data;
    wire              rreq_valid, wreq_valid, wdat_valid, wdat_last;
    wire [ADDR_W-1:0] rreq_addr, wreq_addr;
    wire [7:0]        rreq_len, wreq_len, wdat_strb;
    reg               rdat_valid_q, writing_q, answer_q;
    reg  [ADDR_W-1:0] read_at_q, rdat_q, write_at_q;
    reg  [8:0]        left_q;
    wire              start = valid && from_ready && to_ready;

    gc_tb_player #(.NAME("gc_dma_tb"), .IN_W(2*SIDE_W), .OUT_W(ADDR_W + MEM_W), .STALLS(1)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(from_ready && to_ready), .m_data({from, to}),
        .s_valid(wdat_valid && writing_q), .s_ready(s_ready), .s_data({write_at_q, wdat_data})
    );
    gc_dma_reader #(.ADDR_W(ADDR_W), .MEM_W(MEM_W), .DEPTH(16), .MAX_BURST(8)) u_reader (
        .clk(clk), .rst(rst), .s_valid(start), .s_ready(from_ready), .s_addr(from[128 +: ADDR_W]),
        .s_run_beats(from[96 +: 32]), .s_n1(from[80 +: 16]), .s_stride1(from[48 +: 32]), .s_n2(from[32 +: 16]),
        .s_stride2(from[0 +: 32]), .m_rreq_valid(rreq_valid), .m_rreq_ready(left_q == 9'd0), .m_rreq_addr(rreq_addr),
        .m_rreq_len(rreq_len), .s_rdat_valid(rdat_valid_q), .s_rdat_data({{(MEM_W-ADDR_W){1'b0}}, rdat_q}),
        .m_valid(m_valid), .m_ready(m_ready), .m_data(data), .sts_drained(drained)
    );
    gc_dma_writer #(.ADDR_W(ADDR_W), .MEM_W(MEM_W), .DEPTH(16), .MAX_BURST(8)) u_writer (
        .clk(clk), .rst(rst), .s_desc_valid(start), .s_desc_ready(to_ready), .s_addr(to[128 +: ADDR_W]),
        .s_run_beats(to[96 +: 32]), .s_n1(to[80 +: 16]), .s_stride1(to[48 +: 32]), .s_n2(to[32 +: 16]),
        .s_stride2(to[0 +: 32]), .s_valid(m_valid), .s_ready(m_ready), .s_data(data), .s_strb({MEM_W/8{1'b1}}),
        .m_done(done), .sts_starved(starved), .sts_empty(empty), .m_wreq_valid(wreq_valid), .m_wreq_ready(!writing_q),
        .m_wreq_addr(wreq_addr), .m_wreq_len(wreq_len), .m_wdat_valid(wdat_valid), .m_wdat_ready(writing_q && s_ready),
        .m_wdat_data(wdat_data), .m_wdat_strb(wdat_strb), .m_wdat_last(wdat_last), .s_wrsp_valid(answer_q)
    );

    always @(posedge clk) begin
        rdat_valid_q <= left_q != 9'd0;
        rdat_q       <= read_at_q;
        read_at_q    <= left_q == 9'd0 ? rreq_addr : read_at_q + 33'd8;
        if (left_q != 9'd0)  left_q <= left_q - 9'd1;
        else if (rreq_valid) left_q <= {1'b0, rreq_len} + 9'd1;

        answer_q <= writing_q && wdat_valid && s_ready && wdat_last;
        if (!writing_q) begin
            writing_q  <= wreq_valid;
            write_at_q <= wreq_addr;
        end else if (wdat_valid && s_ready) begin
            writing_q  <= !wdat_last;
            write_at_q <= write_at_q + 33'd8;
        end
        if (rst) begin
            left_q    <= 9'd0;
            writing_q <= 1'b0;
        end
    end

    wire _unused = &{1'b0, done, drained, starved, empty, wreq_len, wdat_strb};
endmodule

`default_nettype wire
