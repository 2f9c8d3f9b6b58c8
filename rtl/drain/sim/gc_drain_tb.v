// SPDX-License-Identifier: Apache-2.0
// Words of every kind back to back; lanes that are not enabled are masked, a word with `look` reads the sum of the
// loss.
`default_nettype none

module gc_drain_tb;
    localparam LANES = 16, ACC_W = 32, DW = 12, USER_W = 4;
    localparam DRAW  = 13, LATE = 16;   // cycles from a word to its draws, and to the random numbers of its factor
    localparam IN_W  = 1 + LANES*ACC_W + LANES*16 + 6 + 2 + 1 + 1 + 2 + 1 + 2 + 1 + DW + DW + 5 + 3*LANES
                     + 2 + 16 + 16 + 5 + 16 + 2*LANES*16 + USER_W;
    localparam OUT_W = USER_W + 2*LANES + LANES*DW;

    wire                   clk, rst, valid, s_ready, look, relu, pool, scale, delta, m_valid;
    wire [IN_W-1:0]        word;
    wire [LANES*ACC_W-1:0] acc;
    wire [LANES*16-1:0]    rnd;
    wire [5:0]             shift;
    wire [1:0]             mode, fold, loss, factor;
    wire [15:0]            factor_0, factor_1, threshold;
    wire [4:0]             factor_shift;
    wire [LANES*16-1:0]    draw, draw_late, factor_rnd, factor_rnd_late;
    wire [DW-1:0]          t_pos, t_neg;
    wire [4:0]             loss_shift;
    wire [LANES-1:0]       img_enable, lane_valid, gate, m_enable, m_gate;
    wire [USER_W-1:0]      user, m_user;
    wire [LANES*DW-1:0]    m_data, masked;
    wire [63:0]            sum;
    wire [1:0]             saturated;
    reg  [4*LANES-1:0]     gate_q;    // comes GATE_LATENCY = 4 cycles behind its word

    assign {look, acc, rnd, shift, mode, relu, pool, fold, scale, loss, delta, t_pos, t_neg, loss_shift, img_enable,
            lane_valid, gate, factor, factor_0, factor_1, factor_shift, threshold, draw, factor_rnd, user} = word;

    gc_tb_player #(.NAME("gc_drain_tb"), .IN_W(IN_W), .OUT_W(OUT_W)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(1'b1), .m_data(word), .s_valid(m_valid || (valid && look)),
        .s_ready(s_ready), .s_data(m_valid ? {m_user, m_enable, m_gate, masked} : {{(OUT_W-64){1'b0}}, sum})
    );
    gc_drain #(.GRID(4), .ACC_W(ACC_W), .DW(DW), .USER_W(USER_W), .GATE_LATENCY(4)) u_drain (
        .clk(clk), .rst(rst),
        .cfg_loss_clear(1'b0),
        .s_valid(valid && !look),
        .s_acc(acc),
        .s_rnd(rnd),
        .s_shift(shift),
        .s_mode(mode),
        .s_relu(relu),
        .s_pool(pool),
        .s_fold(fold),
        .s_scale(scale),
        .s_loss(loss),
        .s_delta(delta),
        .s_t_pos(t_pos), .s_t_neg(t_neg),
        .s_loss_shift(loss_shift),
        .s_img_enable(img_enable),
        .s_lane_valid(lane_valid),
        .s_factor(factor), .s_factor_0(factor_0), .s_factor_1(factor_1), .s_factor_shift(factor_shift),
        .s_threshold(threshold), .s_draw(draw_late), .s_factor_rnd(factor_rnd_late),
        .s_user(user),
        .s_gate(gate_q[3*LANES +: LANES]),
        .m_valid(m_valid),
        .m_user(m_user),
        .m_data(m_data),
        .m_enable(m_enable),
        .m_gate(m_gate),
        .sts_loss(sum), .sts_saturated(saturated)
    );

    gc_delay_line #(.W(LANES*16), .CYCLES(DRAW)) u_draw (.clk(clk), .clear(1'b0), .s_data(draw), .m_data(draw_late));
    gc_delay_line #(.W(LANES*16), .CYCLES(LATE)) u_factor_rnd (
        .clk(clk), .clear(1'b0), .s_data(factor_rnd), .m_data(factor_rnd_late)
    );
    always @(posedge clk) gate_q <= {gate_q[3*LANES-1:0], gate};

    genvar l;
    generate
        for (l = 0; l < LANES; l = l + 1) begin : g_lane
            assign masked[l*DW +: DW] = m_enable[l] ? m_data[l*DW +: DW] : {DW{1'b0}};
        end
    endgenerate

    wire _unused = &{1'b0, s_ready, saturated};
endmodule

`default_nettype wire
