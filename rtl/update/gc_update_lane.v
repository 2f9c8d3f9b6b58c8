// SPDX-License-Identifier: Apache-2.0
// The update of one weight (doc/numerics.md, "Weight update"): gradient to 24 bits, momentum, weight, each rounded and
// saturated. One weight per cycle, 12 cycles latency, free running; two multipliers. The random numbers of the three
// roundings enter with the gradient. Bit-exact with gradcore.ops.optimiser.
`default_nettype none

module gc_update_lane #(
    parameter DW    = 16,
    parameter ACC_W = 48
) (
    input  wire             clk,
    input  wire             cfg_momentum,
    input  wire [1:0]       cfg_mode,
    input  wire [5:0]       cfg_shift_g,
    input  wire [4:0]       cfg_shift_v,
    input  wire [3:0]       cfg_shift_w,
    input  wire [14:0]      cfg_lr_m,
    input  wire [14:0]      cfg_beta_m,
    input  wire [ACC_W-1:0] s_grad,
    input  wire [DW-1:0]    s_wgt,
    input  wire [DW-1:0]    s_mom,
    input  wire [3*16-1:0]  s_rnd,
    output wire [DW-1:0]    m_wgt,
    output wire [DW-1:0]    m_mom,
    output wire [2:0]       m_over  // saturated: the gradient 9, the momentum 4 cycles before m_wgt, the weight with it
);
    localparam GRAD_W = 24;
    localparam WIDE_W = 48;
    localparam STEP_W = GRAD_W + 18;      // beta_m * v - lr_m * g
    localparam SUM_W  = DW + 16;          // (w << shift_w) + v', shift_w up to 15

    // Gradient, 3 cycles; 48 bits for every ACC_W, because cfg_shift_g goes up to 47.
    wire [WIDE_W+ACC_W-1:0] wide = {{WIDE_W{s_grad[ACC_W-1]}}, s_grad};
    wire [GRAD_W-1:0]       grad;
    gc_round_shift #(.IN_W(WIDE_W), .OUT_W(GRAD_W), .SHIFT_W(6)) u_grad (
        .clk(clk),
        .s_x(wide[WIDE_W-1:0]),
        .s_shift(cfg_shift_g),
        .s_mode(cfg_mode),
        .s_rnd(s_rnd[0 +: 16]),
        .m_y(grad),
        .m_over(m_over[0])
    );
    wire [DW-1:0]        mom_in;
    wire [DW-1:0]        mom = mom_in & {DW{cfg_momentum}};
    wire [15:0]          mom_rnd;
    gc_delay_line #(.W(DW), .CYCLES(3)) u_mom (.clk(clk), .clear(1'b0), .s_data(s_mom), .m_data(mom_in));
    gc_delay_line #(.W(16), .CYCLES(5)) u_mom_rnd (.clk(clk), .clear(1'b0), .s_data(s_rnd[16 +: 16]), .m_data(mom_rnd));

    // Momentum: products, difference, rounding; 5 cycles.
    wire signed [15:0] lr   = $signed({1'b0, cfg_lr_m});
    wire signed [15:0] beta = $signed({1'b0, cfg_beta_m});
    reg signed [GRAD_W+15:0] step_q;
    reg signed [DW+15:0]     keep_q;
    reg [STEP_W-1:0]         change_q;
    wire [STEP_W-1:0]  keep_wide = {{(STEP_W-DW-16){keep_q[DW+15]}}, keep_q};
    wire [STEP_W-1:0]  step_wide = {{(STEP_W-GRAD_W-16){step_q[GRAD_W+15]}}, step_q};
    always @(posedge clk) begin
        step_q   <= lr * $signed(grad);
        keep_q   <= beta * $signed(mom);
        change_q <= keep_wide - step_wide;
    end
    wire [DW-1:0] mom_new;
    gc_round_shift #(.IN_W(STEP_W), .OUT_W(DW), .SHIFT_W(5)) u_change (
        .clk(clk),
        .s_x(change_q),
        .s_shift(cfg_shift_v),
        .s_mode(cfg_mode),
        .s_rnd(mom_rnd),
        .m_y(mom_new),
        .m_over(m_over[1])
    );

    // Weight: sum in the momentum's fraction, rounding; 4 cycles.
    wire [DW-1:0]           wgt;
    wire [15:0]             wgt_rnd;
    gc_delay_line #(.W(DW), .CYCLES(8)) u_wgt (.clk(clk), .clear(1'b0), .s_data(s_wgt), .m_data(wgt));
    gc_delay_line #(.W(16), .CYCLES(9)) u_wgt_rnd (.clk(clk), .clear(1'b0), .s_data(s_rnd[32 +: 16]), .m_data(wgt_rnd));
    wire [SUM_W-1:0]        wgt_wide = {{(SUM_W-DW){wgt[DW-1]}}, wgt};
    wire [SUM_W-1:0]        mom_wide = {{(SUM_W-DW){mom_new[DW-1]}}, mom_new};
    reg  [SUM_W-1:0]        sum_q;
    always @(posedge clk) sum_q <= (wgt_wide << cfg_shift_w) + mom_wide;
    gc_round_shift #(.IN_W(SUM_W), .OUT_W(DW), .SHIFT_W(4)) u_wgt_new (
        .clk(clk),
        .s_x(sum_q),
        .s_shift(cfg_shift_w),
        .s_mode(cfg_mode),
        .s_rnd(wgt_rnd),
        .m_y(m_wgt),
        .m_over(m_over[2])
    );
    gc_delay_line #(.W(DW), .CYCLES(4)) u_mom_new (.clk(clk), .clear(1'b0), .s_data(mom_new), .m_data(m_mom));

    wire _unused = &{1'b0, wide[WIDE_W+ACC_W-1:WIDE_W]};
endmodule

`default_nettype wire
