// SPDX-License-Identifier: Apache-2.0
// Instructions of every operation. The memory holds a pattern in each beat, of few different words in half of them;
// what is written comes back with where to.
`default_nettype none

module gc_vector_tb;
    localparam ADDR_W = 33, MEM_W = 64, IN_W = 656;

    wire              clk, rst, valid, s_ready, done, saturated;
    wire [IN_W-1:0]   word;
    wire [MEM_W-1:0]  wdat_data;
    wire              rreq_valid, wreq_valid, wdat_valid, wdat_last;
    wire [ADDR_W-1:0] rreq_addr, wreq_addr;
    wire [7:0]        rreq_len, wreq_len, wdat_strb;
    reg               busy_q, rdat_valid_q, writing_q, answer_q, scrub_q, few_q;
    reg  [8:0]        scrub_addr_q, left_q;
    reg  [ADDR_W-1:0] read_at_q, write_at_q;
    reg  [15:0]       rdat_q;
    wire              ready = !busy_q && !scrub_q;
    wire [63:0]       mask  = {4{few_q ? 16'h8383 : 16'hffff}};

    gc_tb_player #(.NAME("gc_vector_tb"), .IN_W(IN_W), .OUT_W(ADDR_W + MEM_W), .STALLS(1)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(done), .m_data(word),
        .s_valid(wdat_valid && writing_q), .s_ready(s_ready), .s_data({write_at_q, wdat_data})
    );
    gc_vector #(.GRID(4), .DW(8), .MEM_W(MEM_W), .ADDR_W(ADDR_W)) u_vector (
        .clk(clk), .rst(rst), .start(valid && ready), .m_done(done), .sts_saturated(saturated),
        .cfg_base({ADDR_W{1'b0}}), .cfg_base_b({ADDR_W{1'b0}}), .cfg_base_out({ADDR_W{1'b0}}),
        .cfg_operation(word[32 +: 3]), .cfg_transpose(word[35]), .cfg_relu(word[36]), .cfg_rounding(word[37 +: 2]),
        .cfg_addr(word[48 +: 48]), .cfg_addr_b(word[96 +: 48]), .cfg_addr_out(word[144 +: 48]),
        .cfg_stride_y(word[192 +: 32]), .cfg_stride_x(word[224 +: 32]), .cfg_advance_y(word[256 +: 32]),
        .cfg_advance_x(word[288 +: 32]), .cfg_n_beats(word[320 +: 16]), .cfg_n_y(word[336 +: 16]),
        .cfg_n_x(word[352 +: 16]), .cfg_n_ky(word[368 +: 8]), .cfg_n_kx(word[376 +: 8]), .cfg_step_y(word[384 +: 8]),
        .cfg_step_x(word[392 +: 8]), .cfg_first_y(word[400 +: 16]), .cfg_first_x(word[416 +: 16]),
        .cfg_phase_y(word[432 +: 8]), .cfg_phase_x(word[440 +: 8]), .cfg_height(word[448 +: 16]),
        .cfg_width(word[464 +: 16]), .cfg_multiplier(word[480 +: 16]), .cfg_shift(word[496 +: 6]),
        .cfg_shift_a(word[502 +: 5]), .cfg_shift_b(word[507 +: 5]),
        .cfg_rnd_tag(word[576 +: 16]), .cfg_keep_threshold(word[624 +: 16]), .cfg_keep_tag(word[640 +: 16]),
        .cfg_n_base(word[592 +: 16]), .cfg_fold(word[608 +: 2]),
        .cfg_index_behind(word[512 +: 32]),
        .cfg_seed(32'h9d2c5680),
        .s_scrub(scrub_q), .s_scrub_addr(scrub_addr_q),
        .m_rreq_valid(rreq_valid), .m_rreq_ready(left_q == 9'd0), .m_rreq_addr(rreq_addr), .m_rreq_len(rreq_len),
        .s_rdat_valid(rdat_valid_q), .s_rdat_data({rdat_q ^ 16'h35a7, rdat_q, rdat_q ^ 16'hc61e, ~rdat_q} & mask),
        .m_wreq_valid(wreq_valid), .m_wreq_ready(!writing_q), .m_wreq_addr(wreq_addr), .m_wreq_len(wreq_len),
        .m_wdat_valid(wdat_valid), .m_wdat_ready(writing_q && s_ready), .m_wdat_data(wdat_data),
        .m_wdat_strb(wdat_strb), .m_wdat_last(wdat_last), .s_wrsp_valid(answer_q)
    );

    always @(posedge clk) begin
        busy_q       <= (busy_q || (valid && ready)) && !done;
        scrub_q      <= scrub_q && !(&scrub_addr_q);
        scrub_addr_q <= scrub_addr_q + 9'd1;

        rdat_valid_q <= left_q != 9'd0;
        rdat_q       <= read_at_q[18:3];
        few_q        <= read_at_q[12];
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
            busy_q       <= 1'b0;
            left_q       <= 9'd0;
            writing_q    <= 1'b0;
            scrub_q      <= 1'b1;
            scrub_addr_q <= 9'd0;
        end
    end

    wire _unused = &{1'b0, wreq_len, wdat_strb, word, read_at_q, saturated};
endmodule

`default_nettype wire
