// SPDX-License-Identifier: Apache-2.0
// The update of one weight (doc/numerics.md, "Weight update"): gradient to 24 bits, momentum with weight decay, weight,
// each rounded and saturated. One weight per cycle, 17 cycles latency, free running; five multipliers, none above
// 18x18. What does not need the gradient is computed while the gradient is rounded. The random numbers of the three
// roundings enter with the gradient. Bit-exact with gradcore.ops.optimiser.
`default_nettype none

module gc_update_lane #(
    parameter DW       = 16,
    parameter ACC_W    = 48,
    parameter MOMENTUM = 10,  // cycles to the momentum and
    parameter LATENCY  = 17   // to the weight: these and no others
) (
    input  wire             clk,
    input  wire [1:0]       cfg_mode,
    input  wire [5:0]       cfg_shift_g,
    input  wire [5:0]       cfg_shift_change,  // shift_v + shift_d
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
    localparam EARLY_W  = DW + COEF_W + 15;    // (beta_m*v << shift_d) - decay_m*w
    localparam CHANGE_W = GRAD_W + COEF_W + 15;
    localparam SUM_W    = DW + 32;             // (w << shift_w) + rate_m*v'
    localparam ROUND    = 3;                   // cycles of gc_round_shift,
    localparam PRODUCT  = 1;                   // of a multiplier
    localparam PARTS    = 3;                   // and of a sum: at most 24 bits of carry in each
    localparam LOW_W    = CHANGE_W / PARTS;    // of the gradient, in the first of two products: 18
    localparam CHANGE   = ROUND + PRODUCT + PARTS;
    localparam WEIGHT   = CHANGE + ROUND + PRODUCT + PARTS;

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

    // In the same cycles: what momentum and weight give to the new momentum.
    reg signed [DW+COEF_W-1:0] kept_q;
    reg signed [DW+COEF_W-1:0] faded_q;
    reg        [EARLY_W-1:0]   keep_q;
    reg        [EARLY_W-1:0]   fade_q;
    wire       [EARLY_W-1:0]   early;
    always @(posedge clk) begin
        kept_q  <= beta * $signed(s_mom);
        faded_q <= decay * $signed(s_wgt);
        keep_q  <= {{15{kept_q[DW+COEF_W-1]}}, kept_q} << cfg_shift_d;
        fade_q  <= {{15{faded_q[DW+COEF_W-1]}}, faded_q};
    end
    gc_part_sum #(.W(EARLY_W), .PARTS(ROUND - 1), .SUBTRACT(1)) u_early (
        .clk(clk), .s_a(keep_q), .s_b(fade_q), .m_sum(early)
    );

    // Momentum. `early` comes with the products; the second product is added while the sum takes the lowest part.
    localparam HIGH_W = GRAD_W + COEF_W - LOW_W;
    reg        [LOW_W+COEF_W-2:0] low_q;
    reg signed [HIGH_W-1:0]       high_q;
    reg        [LOW_W-1:0]        lowest_q;
    reg signed [HIGH_W-1:0]       upper_q;
    always @(posedge clk) begin
        low_q    <= cfg_lr_m * grad[LOW_W-1:0];
        high_q   <= lr * $signed(grad[GRAD_W-1:LOW_W]);
        lowest_q <= low_q[LOW_W-1:0];
        upper_q  <= high_q + $signed({{(HIGH_W-COEF_W+1){1'b0}}, low_q[LOW_W +: COEF_W-1]});
    end
    wire [LOW_W-1:0]    step_low = low_q[LOW_W-1:0] << cfg_shift_d;
    wire [CHANGE_W-1:0] step     = {{15{upper_q[HIGH_W-1]}}, upper_q, lowest_q} << cfg_shift_d;
    wire [CHANGE_W-1:0] change;
    wire [DW-1:0]       mom;
    wire [15:0]         mom_rnd;
    gc_part_sum #(.W(CHANGE_W), .PARTS(PARTS), .SUBTRACT(1), .LATE(1)) u_sum (
        .clk(clk), .s_a({{(CHANGE_W-EARLY_W){early[EARLY_W-1]}}, early}),
        .s_b({step[CHANGE_W-1:LOW_W], step_low}), .m_sum(change)
    );
    gc_delay_line #(.W(16), .CYCLES(CHANGE), .CLEAR(0)) u_mom_rnd (
        .clk(clk), .clear(1'b0), .s_data(s_rnd[16 +: 16]), .m_data(mom_rnd)
    );
    gc_round_shift #(.IN_W(CHANGE_W), .OUT_W(DW), .SHIFT_W(6)) u_mom (
        .clk(clk),
        .s_x(change),
        .s_shift(cfg_shift_change),
        .s_mode(cfg_mode),
        .s_rnd(mom_rnd),
        .m_y(mom),
        .m_over(m_over[1])
    );

    // Weight: sum in the fraction of rate_m * momentum.
    wire [DW-1:0]              wgt;
    wire [15:0]                wgt_rnd;
    reg signed [DW+COEF_W-1:0] rated_q;
    reg [SUM_W-1:0]            wgt_q;
    wire [SUM_W-1:0]           wgt_new;
    gc_delay_line #(.W(DW), .CYCLES(MOMENTUM), .CLEAR(0)) u_wgt (
        .clk(clk), .clear(1'b0), .s_data(s_wgt), .m_data(wgt)
    );
    always @(posedge clk) begin
        rated_q <= rate * $signed(mom);
        wgt_q   <= {{(SUM_W-DW){wgt[DW-1]}}, wgt} << cfg_shift_w;
    end
    gc_part_sum #(.W(SUM_W), .PARTS(PARTS)) u_wgt_sum (
        .clk(clk), .s_a(wgt_q), .s_b({{(SUM_W-DW-COEF_W){rated_q[DW+COEF_W-1]}}, rated_q}), .m_sum(wgt_new)
    );
    gc_delay_line #(.W(16), .CYCLES(WEIGHT), .CLEAR(0)) u_wgt_rnd (
        .clk(clk), .clear(1'b0), .s_data(s_rnd[32 +: 16]), .m_data(wgt_rnd)
    );
    gc_round_shift #(.IN_W(SUM_W), .OUT_W(DW), .SHIFT_W(5)) u_wgt_new (
        .clk(clk),
        .s_x(wgt_new),
        .s_shift(cfg_shift_w),
        .s_mode(cfg_mode),
        .s_rnd(wgt_rnd),
        .m_y(m_wgt),
        .m_over(m_over[2])
    );
    gc_delay_line #(.W(DW), .CYCLES(LATENCY - MOMENTUM), .CLEAR(0)) u_mom_new (
        .clk(clk), .clear(1'b0), .s_data(mom), .m_data(m_mom)
    );

    wire _unused = &{1'b0, wide[WIDE_W+ACC_W-1:WIDE_W], step[LOW_W-1:0]};
endmodule

`default_nettype wire
