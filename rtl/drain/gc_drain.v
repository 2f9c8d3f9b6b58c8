// SPDX-License-Identifier: Apache-2.0
// The pipeline between the array and the operand buffers for FP and BP: requantise, then the loss or the scaling by
// the gate, ReLU, and 2x2 pooling with its gate bits. One vector of LANES = GRID * GRID sums per cycle, exactly one
// result per input, GATE_LATENCY + 8 cycles latency, free running without back-pressure; every input belongs to the
// word it comes with and may change each cycle. The gate word (the target bits for a loss) comes GATE_LATENCY cycles
// after its sums. Bit-exact with gradcore.numerics.fixed_point.requantize, gradcore.ops.loss
// and gradcore.ops.max_pooling.max_pool.
`default_nettype none

module gc_drain #(
    parameter GRID         = 8,   // 4 or 8
    parameter ACC_W        = 48,  // bits of a sum, 20..48
    parameter DW           = 16,  // bits of a result, 8..16
    parameter USER_W       = 32,  // bits that travel with a word
    parameter GATE_LATENCY = 3    // cycles from s_valid to s_gate, at least 3
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
    input  wire [USER_W-1:0]          s_user,
    input  wire [GRID*GRID-1:0]       s_gate,          // GATE_LATENCY cycles after the rest
    output wire                       m_valid,
    output wire [USER_W-1:0]          m_user,
    output wire [GRID*GRID*DW-1:0]    m_data,          // signed; any value in lanes that are not enabled
    output wire [GRID*GRID-1:0]       m_enable,        // lanes to write
    output wire [GRID*GRID-1:0]       m_gate,          // gate bits of this vector, in the lanes of s_acc
    output wire [63:0]                sts_loss,
    // pulses: an activation, a delta of a word was saturated in a lane that takes part
    output reg  [1:0]                 sts_saturated
);
    localparam LANES          = GRID * GRID;
    localparam ROUND_LATENCY  = 3;
    localparam LOSS_LATENCY   = 4;
    localparam RELU_LATENCY   = 1;
    localparam POOL_LATENCY   = 3;
    localparam WAIT           = GATE_LATENCY - ROUND_LATENCY;
    localparam LOSS_CFG_W     = 1 + 1 + 2 + 2 * DW + 5 + LANES;
    localparam GROUPS         = LANES / 8;             // of lanes, for what is or-ed in two cycles

    generate
        if (GATE_LATENCY < ROUND_LATENCY) begin : g_illegal_gate
            gradcore_illegal_parameter_GATE_LATENCY_below_3 u_stop ();
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

    // Saturations. Those of the rounding wait for those of the loss, so that a word tells everything in one cycle.
    reg  [GROUPS-1:0] over_q;
    reg  [GROUPS-1:0] delta_over_q;
    reg  [1:0]        kind_q;        // of over_q: a gradient's, an activation's
    reg               delta_valid_q;
    wire [1:0]        first;

    generate
        for (l = 0; l < GROUPS; l = l + 1) begin : g_over
            always @(posedge clk) begin
                over_q[l]       <= |(here_over[l*8 +: 8] & enable[l*8 +: 8] & (s_gate[l*8 +: 8] | {8{~scale}}));
                delta_over_q[l] <= |delta_over[l*8 +: 8];
            end
        end
    endgenerate

    gc_delay_line #(.W(2), .CYCLES(LOSS_LATENCY), .CLEAR(0)) u_first (
        .clk    (clk),
        .clear  (1'b0),
        .s_data (kind_q & {2{|over_q}}),
        .m_data (first)
    );

    always @(posedge clk) begin
        kind_q        <= {gradient, ~gradient};
        delta_valid_q <= delta_valid;
        sts_saturated <= {first[1] | (|delta_over_q), first[0]} & {2{delta_valid_q}};
        if (rst) begin
            delta_valid_q <= 1'b0;
            sts_saturated <= 2'b00;
        end
    end

    // ReLU.
    wire             relu;
    wire             pool;
    wire [1:0]       fold;
    wire [LANES-1:0] in_map;

    gc_delay_line #(.W(4 + LANES), .CYCLES(GATE_LATENCY + LOSS_LATENCY), .CLEAR(0)) u_relu_cfg (
        .clk    (clk),
        .clear  (1'b0),
        .s_data ({s_relu, s_pool, s_fold, s_lane_valid}),
        .m_data ({relu, pool, fold, in_map})
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
                act_q         <= z & {DW{~(relu & negative)}};
                act_gate_q[l] <= ~relu | ~negative & (|z);
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

    gc_pool2x2 #(.GRID(GRID), .DW(DW)) u_pool (
        .clk      (clk),
        .rst      (rst),
        .s_valid  (act_valid_q),
        .s_pool   (act_pool_q),
        .s_fold   (act_fold_q),
        .s_in_map (act_in_map_q),
        .s_gate   (act_gate_q),
        .s_data   (act),
        .m_valid  (m_valid),
        .m_data   (m_data),
        .m_enable (m_enable),
        .m_gate   (m_gate)
    );

    gc_delay_line #(.W(USER_W), .CYCLES(GATE_LATENCY + LOSS_LATENCY + RELU_LATENCY + POOL_LATENCY), .CLEAR(0)) u_user (
        .clk    (clk),
        .clear  (1'b0),
        .s_data (s_user),
        .m_data (m_user)
    );

    wire _unused = rounded_valid;
endmodule

`default_nettype wire
