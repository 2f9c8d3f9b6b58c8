// SPDX-License-Identifier: Apache-2.0
// Rows of 4 parameters in every rounding, with and without momentum, with weight decay, under back-pressure.
`default_nettype none

module gc_update_tb;
    localparam COLS = 4, DW = 8, ACC_W = 24;
    localparam IN_W = 1 + 2 + 6 + 5 + 4 + 5 + 4*15 + 32 + 16 + COLS*ACC_W + 2*COLS*DW + 32 + 32;

    wire                  clk, rst, valid, ready, momentum, m_valid, m_ready, saturated;
    wire [IN_W-1:0]       word;
    wire [1:0]            mode;
    wire [5:0]            shift_g;
    wire [4:0]            shift_v;
    wire [3:0]            shift_d;
    wire [4:0]            shift_w;
    wire [14:0]           lr_m, beta_m, decay_m, rate_m;
    wire [31:0]           seed, key, of;
    wire [15:0]           tag;
    wire [COLS*ACC_W-1:0] grad;
    wire [COLS*DW-1:0]    wgt, mom, m_wgt, m_mom;

    assign {momentum, mode, shift_g, shift_v, shift_d, shift_w, lr_m, beta_m, decay_m, rate_m, seed, tag, grad, wgt,
            mom, key, of} = word;

    gc_tb_player #(.NAME("gc_update_tb"), .IN_W(IN_W), .OUT_W(2*COLS*DW), .STALLS(1)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(ready), .m_data(word), .s_valid(m_valid), .s_ready(m_ready),
        .s_data({m_wgt, m_mom})
    );
    gc_update #(.COLS(COLS), .DW(DW), .ACC_W(ACC_W)) u_update (
        .clk(clk), .rst(rst),
        .cfg_momentum(momentum), .cfg_mode(mode),
        .cfg_shift_g(shift_g), .cfg_shift_v(shift_v), .cfg_shift_d(shift_d), .cfg_shift_w(shift_w),
        .cfg_lr_m(lr_m), .cfg_beta_m(beta_m), .cfg_decay_m(decay_m), .cfg_rate_m(rate_m),
        .cfg_seed(seed), .cfg_tag(tag),
        .s_valid(valid), .s_ready(ready),
        .s_grad(grad),
        .s_wgt(wgt),
        .s_mom(mom),
        .s_key(key),
        .s_of(of),
        .m_valid(m_valid), .m_ready(m_ready),
        .m_wgt(m_wgt),
        .m_mom(m_mom),
        .sts_saturated(saturated)
    );

    wire _unused = &{1'b0, saturated};
endmodule

`default_nettype wire
