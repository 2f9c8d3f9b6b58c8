// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent with momentum and weight decay on rows of COLS parameters (doc/numerics.md, "Weight
// update"; heavy-ball reading of Venkataramanaiah et al., FPL 2019, eq. 6, and PyTorch's form). One row per cycle, 31
// cycles from input to output; streams on both sides, the pipeline between runs free behind credits and an output FIFO.
// Configuration is stable while rows are inside. Bit-exact with gradcore.ops.optimiser.
`default_nettype none

module gc_update #(
    parameter COLS  = 16,
    parameter DW    = 16,
    parameter ACC_W = 48
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  cfg_momentum,  // 0: plain SGD, s_mom is ignored
    input  wire [1:0]            cfg_mode,      // rounding of gradient, momentum and weight
    input  wire [5:0]            cfg_shift_g,
    input  wire [4:0]            cfg_shift_v,
    input  wire [3:0]            cfg_shift_d,
    input  wire [4:0]            cfg_shift_w,
    input  wire [14:0]           cfg_lr_m,
    input  wire [14:0]           cfg_beta_m,
    input  wire [14:0]           cfg_decay_m,
    input  wire [14:0]           cfg_rate_m,    // 1 unless the learning rate stands behind the momentum
    input  wire [31:0]           cfg_seed,
    input  wire [15:0]           cfg_tag,
    input  wire                  s_valid,
    output wire                  s_ready,
    input  wire [COLS*ACC_W-1:0] s_grad,        // signed
    input  wire [COLS*DW-1:0]    s_wgt,         // signed
    input  wire [COLS*DW-1:0]    s_mom,         // signed
    input  wire [31:0]           s_key,         // row key
    input  wire [31:0]           s_of,          // output map of lane 0
    output wire                  m_valid,
    input  wire                  m_ready,
    output wire [COLS*DW-1:0]    m_wgt,
    output wire [COLS*DW-1:0]    m_mom,
    output reg                   sts_saturated  // pulse: a gradient, momentum or weight of a row was saturated
);
    localparam RANDOM   = 11;        // gc_update_random
    localparam ROUND    = 4;         // gc_update_lane, until the gradient,
    localparam MOMENTUM = 12;        // until the momentum
    localparam LANE     = 17;        // and until the weight
    localparam CREDIT   = 32;  // above RANDOM + LANE and the FIFO's own 3 cycles, or rows do not follow each other
    localparam ROW_W    = COLS*(ACC_W + 2*DW);

    generate
        if (COLS < 1 || COLS > 64) begin : g_illegal_cols
            gradcore_illegal_parameter_COLS_must_be_1_to_64 u_stop ();
        end
        if (DW < 8 || DW > 16) begin : g_illegal_dw
            gradcore_illegal_parameter_DW_must_be_8_to_16 u_stop ();
        end
        if (ACC_W < 24 || ACC_W > 48) begin : g_illegal_acc_w
            gradcore_illegal_parameter_ACC_W_must_be_24_to_48 u_stop ();
        end
    endgenerate

    wire take = s_valid && s_ready;
    wire [$clog2(CREDIT):0] free_unused;
    gc_credit_counter #(.CREDITS(CREDIT)) u_credit (
        .clk(clk), .rst(rst),
        .s_take(take), .s_give(m_valid && m_ready),
        .m_any(s_ready), .sts_free(free_unused)
    );

    // What the lanes need of the configuration; a row is with them RANDOM cycles later.
    reg [5:0]  shift_change_q;
    always @(posedge clk) shift_change_q <= {1'b0, cfg_shift_v} + 6'd15;

    // The row waits until its random numbers are there.
    wire [3*COLS*16-1:0] rnd;
    wire [ROW_W-1:0]     row;
    wire                 done;
    gc_update_random #(.COLS(COLS)) u_random (
        .clk(clk), .rst(rst),
        .s_on(&cfg_mode), .s_valid(take && (&cfg_mode)),
        .s_seed(cfg_seed),
        .s_tag(cfg_tag),
        .s_key(s_key),
        .s_of(s_of),
        .m_rnd(rnd)
    );
    gc_delay_line #(.W(ROW_W), .CYCLES(RANDOM), .CLEAR(0)) u_row (
        .clk(clk), .clear(1'b0),
        .s_data({s_mom & {COLS*DW{cfg_momentum}}, s_wgt, s_grad}),
        .m_data(row)
    );
    gc_delay_line #(.W(1), .CYCLES(RANDOM + LANE)) u_valid (.clk(clk), .clear(rst), .s_data(take), .m_data(done));

    wire [COLS*DW-1:0] wgt;
    wire [COLS*DW-1:0] mom;
    wire [3*COLS-1:0]  over;         // gradients, momentums, weights
    genvar c;
    generate
        for (c = 0; c < COLS; c = c + 1) begin : g_lane
            gc_update_lane #(.DW(DW), .ACC_W(ACC_W), .MOMENTUM(MOMENTUM), .LATENCY(LANE)) u_lane (
                .clk(clk),
                .cfg_mode(cfg_mode), .cfg_shift_g(cfg_shift_g), .cfg_shift_change(shift_change_q),
                .cfg_shift_d(cfg_shift_d), .cfg_shift_w(cfg_shift_w),
                .cfg_lr_m(cfg_lr_m), .cfg_beta_m(cfg_beta_m), .cfg_decay_m(cfg_decay_m), .cfg_rate_m(cfg_rate_m),
                .s_grad(row[c*ACC_W +: ACC_W]),
                .s_wgt(row[COLS*ACC_W + c*DW +: DW]),
                .s_mom(row[COLS*(ACC_W+DW) + c*DW +: DW]),
                .s_rnd({rnd[(2*COLS+c)*16 +: 16], rnd[(COLS+c)*16 +: 16], rnd[c*16 +: 16]}),
                .m_wgt(wgt[c*DW +: DW]),
                .m_mom(mom[c*DW +: DW]),
                .m_over({over[2*COLS+c], over[COLS+c], over[c]})
            );
        end
    endgenerate

    // Rows with a saturated word: the three roundings of a row come together.
    reg  [2:0] any_q;
    reg        done_q;
    wire [1:0] any;
    gc_delay_line #(.W(1), .CYCLES(LANE - ROUND), .CLEAR(0)) u_over_grad (
        .clk(clk), .clear(1'b0), .s_data(any_q[0]), .m_data(any[0])
    );
    gc_delay_line #(.W(1), .CYCLES(LANE - MOMENTUM), .CLEAR(0)) u_over_mom (
        .clk(clk), .clear(1'b0), .s_data(any_q[1]), .m_data(any[1])
    );
    always @(posedge clk) begin
        any_q         <= {|over[2*COLS +: COLS], |over[COLS +: COLS], |over[0 +: COLS]};
        done_q        <= done;
        sts_saturated <= done_q && (any_q[2] || |any);
        if (rst) begin
            done_q        <= 1'b0;
            sts_saturated <= 1'b0;
        end
    end

    wire rows_s_ready_unused;
    wire [5:0] rows_sts_level_unused;
    gc_stream_fifo #(.WIDTH(2*COLS*DW), .DEPTH(CREDIT)) u_rows (
        .clk(clk), .rst(rst), .s_valid(done), .s_ready(rows_s_ready_unused), .s_data({mom, wgt}),
        .m_valid(m_valid), .m_ready(m_ready), .m_data({m_mom, m_wgt}), .sts_level(rows_sts_level_unused)
    );

    wire _unused = &{1'b0, free_unused, rows_s_ready_unused, rows_sts_level_unused};
endmodule

`default_nettype wire
