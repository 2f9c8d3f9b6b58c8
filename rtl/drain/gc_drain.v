// SPDX-License-Identifier: Apache-2.0
// The pipeline between the array and the operand buffers for FP and BP: requantise, then the loss or the scaling by
// the gate, ReLU, 2x2 pooling with its gate bits, and a factor (gc_factor). One vector of LANES = GRID * GRID sums per
// cycle, exactly one result per input, GATE_LATENCY + 9 cycles latency, with a factor 7 more: 7 cycles must be free
// behind a word with a factor and before one without. Free running without back-pressure; every input belongs to the
// word it comes with and may change each cycle. The gate word (the target bits for a loss) comes GATE_LATENCY cycles
// after its sums. Bit-exact with gradcore.numerics.fixed_point.requantize, gradcore.ops.loss,
// gradcore.ops.max_pooling.max_pool and gradcore.machine.drain.factor.
`default_nettype none

module gc_drain #(
    parameter GRID         = 8,   // 4 or 8
    parameter ACC_W        = 48,  // bits of a sum, 20..48
    parameter DW           = 16,  // bits of a result, 8..16
    parameter USER_W       = 32,  // bits that travel with a word
    parameter GATE_LATENCY = 4,   // cycles from s_valid to s_gate, at least 4
    parameter HAS_FACTOR   = 1    // 0: without gc_factor, s_factor is 0
) (
    input  wire                       clk,
    input  wire                       rst,
    input  wire                       cfg_loss_clear,  // sts_loss returns to zero; no loss word may be on its way
    input  wire                       s_valid,
    input  wire [GRID*GRID*ACC_W-1:0] s_acc,           // signed
    input  wire [GRID*GRID*16-1:0]    s_rnd,           // random numbers of stochastic rounding
    input  wire [5:0]                 s_shift,         // below ACC_W
    input  wire [1:0]                 s_mode,
    input  wire                       s_delta,         // the results are local gradients, not activations
    input  wire                       s_relu,
    input  wire                       s_pool,
    input  wire [1:0]                 s_fold,          // of the computation, 1..log2 GRID when s_pool
    input  wire                       s_scale,         // zero the lanes whose gate bit is 0
    input  wire [1:0]                 s_loss,          // 0 none, 1 euclidean, 2 square hinge
    input  wire [DW-1:0]              s_t_pos,         // signed
    input  wire [DW-1:0]              s_t_neg,         // signed
    input  wire [4:0]                 s_loss_shift,
    input  wire [GRID*GRID-1:0]       s_img_enable,    // lane's image takes part in the loss
    input  wire [GRID*GRID-1:0]       s_lane_valid,    // lane is inside the map
    input  wire [1:0]                 s_factor,        // as gc_factor; without a loss
    input  wire [15:0]                s_factor_0,
    input  wire [15:0]                s_factor_1,
    input  wire [4:0]                 s_factor_shift,
    input  wire [15:0]                s_threshold,
    input  wire [USER_W-1:0]          s_user,
    input  wire [GRID*GRID*16-1:0]    s_draw,          // GATE_LATENCY + 9 cycles after the rest
    input  wire [GRID*GRID*16-1:0]    s_factor_rnd,    // GATE_LATENCY + 12 cycles after the rest
    input  wire [GRID*GRID-1:0]       s_gate,          // GATE_LATENCY cycles after the rest
    output wire                       m_valid,
    output wire [USER_W-1:0]          m_user,
    output wire [GRID*GRID*DW-1:0]    m_data,          // signed; any value in lanes that are not enabled
    output wire [GRID*GRID-1:0]       m_enable,        // lanes to write
    output wire [GRID*GRID-1:0]       m_gate,          // gate bits of this vector, in the lanes of s_acc
    output wire [63:0]                sts_loss,
    // pulses: an activation, a delta of a word was saturated in a lane that takes part
    output wire [1:0]                 sts_saturated
);
    localparam LANES          = GRID * GRID;
    localparam ROUND_LATENCY  = 4;
    localparam LOSS_LATENCY   = 5;
    localparam RELU_LATENCY   = 1;
    localparam POOL_LATENCY   = 3;
    localparam SIGN           = 2'd1;   // a factor
    localparam POOLED         = GATE_LATENCY + LOSS_LATENCY + RELU_LATENCY + POOL_LATENCY;
    localparam WAIT           = GATE_LATENCY - ROUND_LATENCY;
    localparam LOSS_CFG_W     = 1 + 1 + 2 + 2 * DW + 5 + LANES;

    generate
        if (GATE_LATENCY < ROUND_LATENCY) begin : g_illegal_gate
            gradcore_illegal_parameter_GATE_LATENCY_below_4 u_stop ();
        end
        if (HAS_FACTOR != 0 && HAS_FACTOR != 1) begin : g_illegal_factor
            gradcore_illegal_parameter_HAS_FACTOR_not_0_or_1 u_stop ();
        end
    endgenerate

    reg [GATE_LATENCY-1:0] valid_q;  // of the words that wait for their gate

    always @(posedge clk) begin
        valid_q <= {valid_q[GATE_LATENCY-2:0], s_valid};
        if (rst) valid_q <= {GATE_LATENCY{1'b0}};
    end

    // Requantise, and wait for the gate.
    wire                here_valid = valid_q[GATE_LATENCY-1];
    wire                rounded_valid;
    wire [LANES*DW-1:0] rounded;
    wire [LANES*DW-1:0] here;
    wire [LANES-1:0]    rounded_over;
    wire [LANES-1:0]    here_over;
    wire                gradient;
    wire                scale;
    wire [1:0]          kind;
    wire [DW-1:0]       t_pos;
    wire [DW-1:0]       t_neg;
    wire [4:0]          loss_shift;
    wire [LANES-1:0]    enable;

    gc_requantise #(.GRID(GRID), .ACC_W(ACC_W), .DW(DW)) u_requantise (
        .clk     (clk),
        .rst     (rst),
        .s_valid (s_valid),
        .s_shift (s_shift),
        .s_mode  (s_mode),
        .s_acc   (s_acc),
        .s_rnd   (s_rnd),
        .m_valid (rounded_valid),
        .m_data  (rounded),
        .m_over  (rounded_over)
    );

    gc_delay_line #(.W(LANES*(DW+1)), .CYCLES(WAIT), .CLEAR(0)) u_wait (
        .clk    (clk),
        .clear  (1'b0),
        .s_data ({rounded_over, rounded}),
        .m_data ({here_over, here})
    );

    gc_delay_line #(.W(LOSS_CFG_W), .CYCLES(GATE_LATENCY), .CLEAR(0)) u_loss_cfg (
        .clk    (clk),
        .clear  (1'b0),
        .s_data ({s_delta, s_scale, s_loss, s_t_pos, s_t_neg, s_loss_shift, s_img_enable & s_lane_valid}),
        .m_data ({gradient, scale, kind, t_pos, t_neg, loss_shift, enable})
    );

    // Loss or scaling. Without a loss the loss passes what it gets.
    wire [LANES*DW-1:0] scaled;
    wire                delta_valid;
    wire [LANES*DW-1:0] delta;
    wire [LANES-1:0]    delta_over;

    genvar l;
    generate
        for (l = 0; l < LANES; l = l + 1) begin : g_scale
            assign scaled[l*DW +: DW] = here[l*DW +: DW] & {DW{s_gate[l] | ~scale}};
        end
    endgenerate

    gc_loss #(.GRID(GRID), .DW(DW)) u_loss (
        .clk       (clk),
        .rst       (rst),
        .cfg_clear (cfg_loss_clear),
        .s_valid   (here_valid),
        .s_kind    (kind),
        .s_t_pos   (t_pos),
        .s_t_neg   (t_neg),
        .s_shift   (loss_shift),
        .s_target  (s_gate),
        .s_enable  (enable),
        .s_data    (scaled),
        .m_valid   (delta_valid),
        .m_delta   (delta),
        .m_over    (delta_over),
        .sts_loss  (sts_loss)
    );

    // ReLU.
    wire             relu;
    wire             signs;
    wire             pool;
    wire [1:0]       fold;
    wire [LANES-1:0] in_map;

    gc_delay_line #(.W(5 + LANES), .CYCLES(GATE_LATENCY + LOSS_LATENCY), .CLEAR(0)) u_relu_cfg (
        .clk    (clk),
        .clear  (1'b0),
        .s_data ({s_relu, s_factor == SIGN, s_pool, s_fold, s_lane_valid}),
        .m_data ({relu, signs, pool, fold, in_map})
    );

    reg                 act_valid_q;
    reg                 act_pool_q;
    reg [1:0]           act_fold_q;
    reg [LANES-1:0]     act_in_map_q;
    reg [LANES-1:0]     act_gate_q;
    wire [LANES*DW-1:0] act;

    generate
        for (l = 0; l < LANES; l = l + 1) begin : g_relu
            wire [DW-1:0] z        = delta[l*DW +: DW];
            wire          negative = z[DW-1];
            reg  [DW-1:0] act_q;

            always @(posedge clk) if (delta_valid) begin
                if (relu & negative) act_q <= {DW{1'b0}};
                else                 act_q <= z;
                act_gate_q[l] <= ~(relu | signs) | ~negative & (|z);
            end

            assign act[l*DW +: DW] = act_q;
        end
    endgenerate

    always @(posedge clk) if (delta_valid) begin
        act_pool_q   <= pool;
        act_fold_q   <= fold;
        act_in_map_q <= in_map;
    end

    always @(posedge clk) begin
        act_valid_q <= delta_valid;
        if (rst) act_valid_q <= 1'b0;
    end

    wire                pooled_valid;
    wire [LANES*DW-1:0] pooled;
    wire [LANES-1:0]    pooled_enable, pooled_gate;

    gc_pool2x2 #(.GRID(GRID), .DW(DW)) u_pool (
        .clk      (clk),
        .rst      (rst),
        .s_valid  (act_valid_q),
        .s_pool   (act_pool_q),
        .s_fold   (act_fold_q),
        .s_in_map (act_in_map_q),
        .s_gate   (act_gate_q),
        .s_data   (act),
        .m_valid  (pooled_valid),
        .m_data   (pooled),
        .m_enable (pooled_enable),
        .m_gate   (pooled_gate)
    );

    // Factor. What belongs to a word waits for its pooled lanes.
    wire [USER_W-1:0] user;
    wire [1:0]        factor, mode;
    wire [15:0]       factor_0, factor_1, threshold;
    wire [4:0]        factor_shift;
    wire [LANES-1:0]  images, over, m_images;
    wire              backward, late, m_backward;

    gc_delay_line #(.W(USER_W+LANES+58), .CYCLES(POOLED), .CLEAR(0)) u_factor_cfg (
        .clk    (clk),
        .clear  (1'b0),
        .s_data ({s_user, s_img_enable, s_factor, s_mode, s_delta, s_factor_0, s_factor_1, s_threshold,
                  s_factor_shift}),
        .m_data ({user, images, factor, mode, backward, factor_0, factor_1, threshold, factor_shift})
    );

    generate
        if (HAS_FACTOR != 0) begin : g_factor
            wire [LANES-1:0] choice;
            gc_delay_line #(.W(LANES), .CYCLES(POOLED - GATE_LATENCY), .CLEAR(0)) u_choice (
                .clk    (clk),
                .clear  (1'b0),
                .s_data (s_gate),
                .m_data (choice)
            );

            gc_factor #(.LANES(LANES), .DW(DW), .USER_W(USER_W + LANES + 1)) u_factor (
                .clk         (clk),
                .rst         (rst),
                .s_valid     (pooled_valid),
                .s_factor    (factor),
                .s_factor_0  (factor_0),
                .s_factor_1  (factor_1),
                .s_shift     (factor_shift),
                .s_mode      (mode),
                .s_threshold (threshold),
                .s_draw      (s_draw),
                .s_rnd       (s_factor_rnd),
                .s_choice    (choice),
                .s_data      (pooled),
                .s_enable    (pooled_enable),
                .s_gate      (pooled_gate),
                .s_user      ({user, images, backward}),
                .m_valid     (m_valid),
                .m_late      (late),
                .m_data      (m_data),
                .m_over      (over),
                .m_enable    (m_enable),
                .m_gate      (m_gate),
                .m_user      ({m_user, m_images, m_backward})
            );
        end else begin : g_no_factor
            assign {m_valid, m_data, m_enable, m_gate} = {pooled_valid, pooled, pooled_enable, pooled_gate};
            assign {m_images, m_backward, m_user}      = {images, backward, user};
            assign {late, over}                        = {LANES+1{1'b0}};
            wire _unused = &{1'b0, factor, mode, factor_0, factor_1, threshold, factor_shift, s_draw, s_factor_rnd};
        end
    endgenerate

    // Saturations, in the lanes that take part.
    gc_saturations #(.LANES(LANES)) u_saturations (
        .clk                (clk),
        .rst                (rst),
        .s_over             (here_over & enable & (s_gate | {LANES{~scale}})),
        .s_gradient         (gradient),
        .s_loss_valid       (delta_valid),
        .s_loss_over        (delta_over),
        .s_factor           (|factor),
        .s_product_valid    (late),
        .s_product_gradient (m_backward),
        .s_product_over     (over & m_enable & m_images),
        .sts_saturated      (sts_saturated)
    );

    wire _unused = rounded_valid;
endmodule

`default_nettype wire
