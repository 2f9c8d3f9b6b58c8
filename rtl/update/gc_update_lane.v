// SPDX-License-Identifier: Apache-2.0
// The update of one weight (doc/numerics.md, "Weight update"): gradient to 24 bits, momentum with weight decay, weight,
// each rounded and saturated. One weight per cycle, 17 cycles latency, free running; five multipliers, none above
// 18x18. What does not need the gradient is computed while the gradient is rounded. The random numbers of the three
// roundings enter with the gradient. Bit-exact with gradcore.ops.optimiser.
`default_nettype none

module gc_update_lane #(
    parameter DW       = 16,
    parameter ACC_W    = 48,
    parameter MOMENTUM = 12,  // cycles to the momentum and
    parameter LATENCY  = 17   // to the weight: these and no others
) (
    input  wire             clk,
    input  wire [1:0]       cfg_mode,
    input  wire [5:0]       cfg_shift_g,
    input  wire [5:0]       cfg_shift_change,  // shift_v + 15
    input  wire [3:0]       cfg_shift_d,
    input  wire [4:0]       cfg_shift_w,
    input  wire [14:0]      cfg_lr_m,
    input  wire [14:0]      cfg_beta_m,
    input  wire [14:0]      cfg_decay_m,
    input  wire [14:0]      cfg_rate_m,
    input  wire [ACC_W-1:0] s_grad,
    input  wire [DW-1:0]    s_wgt,
    input  wire [DW-1:0]    s_mom,             // 0 without momentum
    input  wire [3*16-1:0]  s_rnd,
    output wire [DW-1:0]    m_wgt,
    output wire [DW-1:0]    m_mom,
    output wire [2:0]       m_over  // saturated: the gradient after ROUND, the momentum after MOMENTUM, the weight
);
    localparam GRAD_W   = 24;
    localparam WIDE_W   = 48;
    localparam COEF_W   = 16;                  // coefficients have 15 bits without sign
    localparam SHIFT    = 15;                  // the largest shift_d
    localparam EARLY_W  = DW + COEF_W + SHIFT; // of momentum and weight, with 15 bits more than lr_m * gradient,
    localparam STEP_W   = GRAD_W + COEF_W;     // which has so many
    localparam TERM_W   = 33;                  // rate_m * momentum; shift_w must be below it for narrow words, too
    localparam LOW_W    = 18;                  // bits of the gradient in the first of two products
    localparam ROUND    = 4;                   // cycles of gc_round_shift,
    localparam PRODUCT  = 2;                   // of lr_m * gradient
    localparam PARTS    = 2;                   // and of a sum: at most 24 bits of carry in each
    localparam CHANGE   = ROUND + PRODUCT + PARTS;
    localparam WEIGHT   = CHANGE + ROUND + 1;

    generate
        if (MOMENTUM != CHANGE + ROUND) begin : g_illegal_momentum
            gradcore_illegal_parameter_MOMENTUM_is_not_the_latency u_stop ();
        end
        if (LATENCY != WEIGHT + ROUND) begin : g_illegal_latency
            gradcore_illegal_parameter_LATENCY_is_not_the_latency u_stop ();
        end
    endgenerate

    wire signed [COEF_W-1:0] lr    = $signed({1'b0, cfg_lr_m});
    wire signed [COEF_W-1:0] beta  = $signed({1'b0, cfg_beta_m});
    wire signed [COEF_W-1:0] decay = $signed({1'b0, cfg_decay_m});
    wire signed [COEF_W-1:0] rate  = $signed({1'b0, cfg_rate_m});

    // Gradient; 48 bits for every ACC_W, because cfg_shift_g goes up to 47.
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

    // Beside it: what momentum and weight give to the new momentum. It is 15 - shift_d bits longer than the rule's, so
    // that the product with the gradient, which comes last, is not shifted. It is ready when that product is.
    wire       [DW-1:0]        mom_late;
    wire       [DW-1:0]        wgt_late;
    reg signed [DW+COEF_W-1:0] kept_q;
    reg signed [DW+COEF_W-1:0] kept2_q;
    reg signed [DW+COEF_W-1:0] kept3_q;
    reg signed [DW+COEF_W-1:0] faded_q;
    reg        [EARLY_W-1:0]   coarse_q;
    reg        [EARLY_W-1:0]   fade_q;
    wire       [EARLY_W-1:0]   early;
    gc_delay_line #(.W(2*DW), .CYCLES(ROUND + PRODUCT - PARTS - 3), .CLEAR(0)) u_late (
        .clk(clk), .clear(1'b0), .s_data({s_mom, s_wgt}), .m_data({mom_late, wgt_late})
    );
    always @(posedge clk) begin
        kept_q   <= beta * $signed(mom_late);
        faded_q  <= decay * $signed(wgt_late);
        coarse_q <= {{SHIFT{faded_q[DW+COEF_W-1]}}, faded_q} << {~cfg_shift_d[3:2], 2'b00};
        fade_q   <= coarse_q << ~cfg_shift_d[1:0];
        kept2_q  <= kept_q;
        kept3_q  <= kept2_q;
    end
    gc_part_sum #(.W(EARLY_W), .PARTS(PARTS), .SUBTRACT(1)) u_early (
        .clk(clk), .s_a({kept3_q, {SHIFT{1'b0}}}), .s_b(fade_q), .m_sum(early)
    );

    // Momentum. The lowest bits of `early` have no partner.
    localparam HIGH_W = STEP_W - LOW_W;
    reg        [LOW_W+COEF_W-2:0] low_q;
    reg signed [HIGH_W-1:0]       high_q;
    reg        [STEP_W-1:0]       step_q;
    wire signed [HIGH_W-1:0]      upper = high_q + $signed({{(HIGH_W-COEF_W+1){1'b0}}, low_q[LOW_W +: COEF_W-1]});
    wire       [STEP_W-1:0]       change;
    wire       [SHIFT-1:0]        change_low;
    wire       [DW-1:0]           mom;
    wire       [15:0]             mom_rnd;
    always @(posedge clk) begin
        low_q  <= cfg_lr_m * grad[LOW_W-1:0];
        high_q <= lr * $signed(grad[GRAD_W-1:LOW_W]);
        step_q <= {upper, low_q[LOW_W-1:0]};
    end
    gc_part_sum #(.W(STEP_W), .PARTS(PARTS), .SUBTRACT(1)) u_change (
        .clk(clk), .s_a({{(STEP_W-DW-COEF_W){early[EARLY_W-1]}}, early[EARLY_W-1:SHIFT]}), .s_b(step_q), .m_sum(change)
    );
    gc_delay_line #(.W(SHIFT), .CYCLES(PARTS), .CLEAR(0)) u_change_low (
        .clk(clk), .clear(1'b0), .s_data(early[SHIFT-1:0]), .m_data(change_low)
    );
    gc_delay_line #(.W(16), .CYCLES(CHANGE), .CLEAR(0)) u_mom_rnd (
        .clk(clk), .clear(1'b0), .s_data(s_rnd[16 +: 16]), .m_data(mom_rnd)
    );
    gc_round_shift #(.IN_W(STEP_W+SHIFT), .OUT_W(DW), .SHIFT_W(6)) u_mom (
        .clk(clk),
        .s_x({change, change_low}),
        .s_shift(cfg_shift_change),
        .s_mode(cfg_mode),
        .s_rnd(mom_rnd),
        .m_y(mom),
        .m_over(m_over[1])
    );

    // Weight: what is added is rounded in the fraction of rate_m * momentum.
    wire [DW-1:0]              wgt;
    wire [15:0]                wgt_rnd;
    reg signed [DW+COEF_W-1:0] rated_q;
    gc_delay_line #(.W(DW), .CYCLES(WEIGHT), .CLEAR(0)) u_wgt (
        .clk(clk), .clear(1'b0), .s_data(s_wgt), .m_data(wgt)
    );
    gc_delay_line #(.W(16), .CYCLES(WEIGHT), .CLEAR(0)) u_wgt_rnd (
        .clk(clk), .clear(1'b0), .s_data(s_rnd[32 +: 16]), .m_data(wgt_rnd)
    );
    always @(posedge clk) rated_q <= rate * $signed(mom);
    gc_round_shift_step #(.IN_W(TERM_W), .OUT_W(DW), .SHIFT_W(5)) u_wgt_new (
        .clk(clk),
        .s_step(4'b1111),
        .s_x({{(TERM_W-DW-COEF_W){rated_q[DW+COEF_W-1]}}, rated_q}),
        .s_base(wgt),
        .s_shift(cfg_shift_w),
        .s_mode(cfg_mode),
        .s_rnd(wgt_rnd),
        .m_y(m_wgt),
        .m_over(m_over[2])
    );
    gc_delay_line #(.W(DW), .CYCLES(LATENCY - MOMENTUM), .CLEAR(0)) u_mom_new (
        .clk(clk), .clear(1'b0), .s_data(mom), .m_data(m_mom)
    );

    wire _unused = &{1'b0, wide[WIDE_W+ACC_W-1:WIDE_W]};
endmodule

`default_nettype wire
