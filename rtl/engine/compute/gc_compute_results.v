// SPDX-License-Identifier: Apache-2.0
// Everything behind the array: takes drained columns and the places that gc_compute_places found for them, and writes
// activations, deltas and gates to the buffers (FP, BP, through the drain) or sums to the gradient buffer (WU). s_acc
// belongs to the word that entered RANDOM - JOIN cycles earlier; gc_group_sum takes JOIN cycles. Gate vectors are
// asked for here and come back GATE_READ cycles later. Fixed latency, no back-pressure. m_written pulses for each
// s_final, which needs no word, with the instruction's signal field, in time for whoever it lets go; the loss is
// complete 4 cycles later.
`default_nettype none

module gc_compute_results #(
    parameter GRID      = 8,
    parameter DW        = 16,
    parameter ACC_W     = 48,
    parameter ACCESS_W  = 1,   // bits of an access record: gc_engine says how many
    parameter COLS      = 16,
    parameter JOIN      = 1,   // latency of gc_group_sum
    parameter RANDOM    = 12,  // cycles from a word's place to its joined sums: the latency of the random numbers
    parameter GATE_READ = 8,   // read latency of the gate buffer
    parameter HAS_FACTOR = 1   // of gc_drain
) (
    input  wire                       clk,
    input  wire                       rst,
    input  wire [31:0]                cfg_seed,
    input  wire                       s_valid,
    input  wire                       s_final,
    input  wire                       s_wu,
    input  wire [15:0]                s_grad_addr,
    input  wire [ACCESS_W-1:0]        s_dst,
    input  wire [ACCESS_W-1:0]        s_gate,
    input  wire [4:0]                 s_signal,
    input  wire                       s_backward,
    input  wire                       s_dst_buf,
    input  wire                       s_relu,
    input  wire                       s_pool,
    input  wire                       s_gate_write,
    input  wire                       s_scale,
    input  wire [1:0]                 s_loss,
    input  wire                       s_grad_first,
    input  wire [1:0]                 s_rounding,
    input  wire                       s_split,
    input  wire [1:0]                 s_fold,
    input  wire [5:0]                 s_shift,
    input  wire [15:0]                s_t_pos,
    input  wire [15:0]                s_t_neg,
    input  wire [4:0]                 s_loss_shift,
    input  wire [15:0]                s_n_valid,
    input  wire [15:0]                s_rnd_tag,
    input  wire [15:0]                s_map0,
    input  wire [15:0]                s_n_base,
    input  wire [1:0]                 s_factor,
    input  wire [4:0]                 s_factor_shift,
    input  wire [15:0]                s_factor_0,
    input  wire [15:0]                s_factor_1,
    input  wire [15:0]                s_keep_threshold,
    input  wire [15:0]                s_factor_tag,
    input  wire [15:0]                s_keep_tag,
    input  wire [GRID*GRID*ACC_W-1:0] s_acc,
    // gate buffer
    output wire                       m_gate_rd_valid,
    output wire [ACCESS_W-1:0]        m_gate_rd_access,
    input  wire [GRID*GRID-1:0]       s_gate_rd_data,
    output wire [ACCESS_W-1:0]        m_gate_wr_access,
    output wire [GRID*GRID-1:0]       m_gate_wr_data,
    // operand buffers; m_wr_valid tells of them and of the gate buffer
    output wire [2:0]                 m_wr_valid,      // into operand buffers 0, 1, the gate buffer; from registers
    output wire [ACCESS_W-1:0]        m_dst_access,
    output wire [GRID*GRID-1:0]       m_dst_enable,
    output wire [GRID*GRID*DW-1:0]    m_dst_data,
    // gradient buffer
    output wire                       m_grad_valid,
    output wire                       m_grad_first,
    output wire [15:0]                m_grad_addr,
    // tokens and status
    output wire                       m_written,
    output wire [4:0]                 m_written_signal,
    input  wire                       clear_loss,
    output wire [63:0]                sts_loss,
    output wire [1:0]                 sts_saturated   // pulses: a vector with a saturated activation, delta
);
    localparam LANES   = GRID*GRID;
    // the results are at the write ports WRITE + SETTLE cycles after the sums, a token's first read comes 3 later
    localparam SETTLE  = 11;
    localparam WRITE   = 2;
    localparam LATE    = 7;                   // results with a factor come so much later
    localparam POOLED  = 9;                   // drain: cycles from its gate input to pooled words
    localparam GATE    = 4;                   // drain: cycles from its input to its gate input
    localparam EARLY   = RANDOM + GATE - GATE_READ;
    localparam GATED   = 2'd3;                // a factor that the gate chooses
    localparam ASK_W   = 2 + 1 + 2 + 1;                             // fields that are needed before the sums, too
    localparam DRAIN_W = 5 + 1 + 4 + 2 + 6 + 2*DW + 5 + 2 + 5 + 48; // the drain's own

    // Random numbers by position.
    wire [LANES*16-1:0] rnd;
    wire [11:0]         y0, x0;
    wire [15:0]         chan;
    wire                stochastic = s_valid && !s_wu && (&s_rounding);
    wire [101:0]        gate_unused;
    gc_access_unpack #(.ACCESS_W(ACCESS_W)) u_gate (
        .s_access(s_gate),
        .m_y0(y0), .m_x0(x0), .m_chan(chan),
        .m_addr(gate_unused[19:0]),
        .m_dy(gate_unused[27:20]), .m_dx(gate_unused[35:28]),
        .m_stride_y(gate_unused[51:36]), .m_stride_x(gate_unused[67:52]),
        .m_fold_a(gate_unused[69:68]), .m_fold_s(gate_unused[71:70]),
        .m_rot_y(gate_unused[74:72]), .m_rot_x(gate_unused[77:75]),
        .m_height(gate_unused[89:78]), .m_width(gate_unused[101:90])
    );

    gc_place_random #(.GRID(GRID)) u_random (
        .clk(clk), .rst(rst), .cfg_seed(cfg_seed), .s_valid(stochastic), .s_tag(s_rnd_tag), .s_fold(s_fold),
        .s_y0(y0), .s_x0(x0), .s_image(s_n_base), .s_map({1'b0, s_map0} + {1'b0, chan}), .m_rnd(rnd)
    );
    wire [LANES*16-1:0] draw;
    wire [LANES*16-1:0] factor_rnd;
    generate if (HAS_FACTOR != 0) begin : g_factor_random
        gc_factor_random #(.GRID(GRID), .BEFORE(RANDOM + GATE + POOLED)) u_factor_random (
            .clk(clk), .rst(rst), .cfg_seed(cfg_seed),
            .s_valid(s_valid), .s_factor(s_factor), .s_stochastic(&s_rounding), .s_pool(s_pool), .s_fold(s_fold),
            .s_y0(y0), .s_x0(x0), .s_image(s_n_base), .s_chan(chan), .s_map0(s_map0),
            .s_keep_tag(s_keep_tag), .s_tag(s_factor_tag), .m_draw(draw), .m_rnd(factor_rnd)
        );
    end else begin : g_no_factor_random
        assign {draw, factor_rnd} = {2*LANES*16{1'b0}};
        wire _unused = &{1'b0, s_keep_tag, s_factor_tag};
    end endgenerate

    // The place of each word, delayed to its sums; the gate is asked for so that it comes in time. Three stages:
    // early, when the gate is asked for; raw, with the sums of the array; at, with the joined sums.
    wire [54:0]        factors = {s_factor, s_factor_shift, s_factor_0, s_factor_1, s_keep_threshold}
                               & {55{HAS_FACTOR != 0}};
    wire [ASK_W-1:0]   ask = {s_fold, s_scale, s_loss, factors[54:53] == GATED};
    wire [DRAIN_W-1:0] drain = {s_signal, s_backward, s_dst_buf, s_relu, s_pool, s_gate_write, s_rounding,
                                s_shift, s_t_pos[DW-1:0], s_t_neg[DW-1:0], s_loss_shift, factors};

    wire                early_valid, early_final, early_wu, early_grad_first, early_split;
    wire [ASK_W-1:0]    early_ask;
    wire [DRAIN_W-1:0]  early_drain;
    wire [15:0]         early_grad;
    wire [6:0]          early_images;
    wire [ACCESS_W-1:0] early_dst, early_gate;
    gc_delay_line #(.W(2), .CYCLES(EARLY)) u_early_valid (
        .clk(clk), .clear(rst), .s_data({s_final, s_valid}), .m_data({early_final, early_valid})
    );
    gc_delay_line #(.W(7+2*ACCESS_W+16+DRAIN_W+ASK_W+3), .CYCLES(EARLY), .CLEAR(0)) u_early (
        .clk(clk), .clear(1'b0),
        .s_data({s_n_valid[6:0], s_dst, s_gate, s_grad_addr, drain, ask, s_grad_first, s_split, s_wu}),
        .m_data({early_images, early_dst, early_gate, early_grad, early_drain, early_ask, early_grad_first, early_split,
                 early_wu})
    );
    assign m_gate_rd_valid  = early_valid && !early_wu && |early_ask[3:0];
    assign m_gate_rd_access = early_gate;

    // Lanes outside the map, and of images that are none, are known long before the sums.
    wire [11:0]      early_y0, early_x0, early_height, early_width;
    wire [93:0]      early_unused;
    wire [LANES-1:0] early_inside, early_image, in_map, image;
    gc_access_unpack #(.ACCESS_W(ACCESS_W)) u_early_gate (
        .s_access(early_gate),
        .m_y0(early_y0), .m_x0(early_x0), .m_height(early_height), .m_width(early_width),
        .m_addr(early_unused[19:0]),
        .m_dy(early_unused[27:20]), .m_dx(early_unused[35:28]),
        .m_chan(early_unused[51:36]),
        .m_stride_y(early_unused[67:52]), .m_stride_x(early_unused[83:68]),
        .m_fold_a(early_unused[85:84]), .m_fold_s(early_unused[87:86]),
        .m_rot_y(early_unused[90:88]), .m_rot_x(early_unused[93:91])
    );
    gc_lane_mask #(.GRID(GRID)) u_mask (
        .s_fold(early_ask[5:4]), .s_images(early_images),
        .s_y0(early_y0), .s_x0(early_x0), .s_height(early_height), .s_width(early_width),
        .m_inside(early_inside), .m_image(early_image)
    );
    gc_delay_line #(.W(2*LANES), .CYCLES(RANDOM-EARLY), .CLEAR(0)) u_masks (
        .clk(clk), .clear(1'b0), .s_data({early_inside, early_image}), .m_data({in_map, image})
    );

    // Sums to gradients.
    wire                raw_valid, raw_final, raw_wu, raw_split;
    wire [ASK_W-1:0]    raw_ask;
    wire [DRAIN_W-1:0]  raw_drain;
    wire [ACCESS_W-1:0] raw_dst, raw_gate;
    gc_delay_line #(.W(2), .CYCLES(RANDOM-EARLY-JOIN)) u_raw_valid (
        .clk(clk), .clear(rst), .s_data({early_final, early_valid}), .m_data({raw_final, raw_valid})
    );
    gc_delay_line #(.W(2*ACCESS_W+16+DRAIN_W+ASK_W+3), .CYCLES(RANDOM-EARLY-JOIN), .CLEAR(0)) u_raw (
        .clk(clk), .clear(1'b0),
        .s_data({early_dst, early_gate, early_grad, early_drain, early_ask, early_grad_first, early_split, early_wu}),
        .m_data({raw_dst, raw_gate, m_grad_addr, raw_drain, raw_ask, m_grad_first, raw_split, raw_wu})
    );
    assign m_grad_valid = raw_valid && raw_wu;

    // Sums to activations and deltas.
    wire                at_valid, at_final, at_wu;
    wire [ASK_W-1:0]    at_ask;
    wire [DRAIN_W-1:0]  at_drain;
    wire [ACCESS_W-1:0] at_dst, at_gate;
    gc_delay_line #(.W(2), .CYCLES(JOIN)) u_at_valid (
        .clk(clk), .clear(rst), .s_data({raw_final, raw_valid}), .m_data({at_final, at_valid})
    );
    gc_delay_line #(.W(2*ACCESS_W+DRAIN_W+ASK_W+1), .CYCLES(JOIN), .CLEAR(0)) u_at (
        .clk(clk), .clear(1'b0),
        .s_data({raw_dst, raw_gate, raw_drain, raw_ask, raw_wu}),
        .m_data({at_dst, at_gate, at_drain, at_ask, at_wu})
    );
    wire [4:0]    signal, loss_shift;
    wire          backward, dst_buf, relu, pool, gate_write, scale;
    wire [1:0]    rounding, fold, loss;
    wire [5:0]    shift;
    wire [DW-1:0] t_pos, t_neg;
    wire [1:0]    factor;
    wire [4:0]    factor_shift;
    wire [15:0]   factor_0, factor_1, threshold;
    wire          gated_unused;
    assign {fold, scale, loss, gated_unused} = at_ask;
    assign {signal, backward, dst_buf, relu, pool, gate_write, rounding,
            shift, t_pos, t_neg, loss_shift,
            factor, factor_shift, factor_0, factor_1, threshold} = at_drain;

    wire [LANES*ACC_W-1:0] acc;
    wire                   out_valid_unused;    // m_wr_valid says so
    gc_group_sum #(.LANES(LANES), .COLS(COLS), .ACC_W(ACC_W)) u_join (
        .clk(clk), .s_split(raw_split), .s_acc(s_acc), .m_acc(acc)
    );

    gc_drain #(
        .GRID(GRID), .DW(DW), .ACC_W(ACC_W), .GATE_LATENCY(GATE), .USER_W(2*ACCESS_W),
        .HAS_FACTOR(HAS_FACTOR)
    ) u_drain (
        .clk(clk), .rst(rst),
        .s_valid(at_valid && !at_wu), .s_acc(acc), .s_shift(shift), .s_mode(rounding), .s_rnd(rnd),
        .s_delta(backward), .s_relu(relu), .s_pool(pool), .s_fold(fold), .s_scale(scale),
        .s_loss(loss), .s_t_pos(t_pos), .s_t_neg(t_neg), .s_loss_shift(loss_shift),
        .s_img_enable(image), .s_lane_valid(in_map), .s_gate(s_gate_rd_data),
        .s_factor(factor), .s_factor_shift(factor_shift), .s_factor_0(factor_0), .s_factor_1(factor_1),
        .s_threshold(threshold), .s_draw(draw), .s_factor_rnd(factor_rnd),
        .s_user({at_gate, at_dst}), .m_user({m_gate_wr_access, m_dst_access}), .m_valid(out_valid_unused),
        .m_data(m_dst_data), .m_enable(m_dst_enable), .m_gate(m_gate_wr_data),
        .cfg_loss_clear(clear_loss), .sts_loss(sts_loss), .sts_saturated(sts_saturated)
    );

    // Whoever waits for the token finds the last word written, in the operand buffers and in the gradient buffer. The
    // same lines tell ahead when the drain gives a word, so that its write comes from registers.
    wire       settled, settled_valid, settled_late, late_written, late_valid;
    wire [1:0] settled_place, late_place;      // into the gate buffer, too; which operand buffer
    wire [4:0] settled_signal, late_signal;
    gc_delay_line #(.W(2), .CYCLES(SETTLE)) u_settled (
        .clk(clk), .clear(rst), .s_data({at_final, at_valid && !at_wu}), .m_data({settled, settled_valid})
    );
    gc_delay_line #(.W(8), .CYCLES(SETTLE), .CLEAR(0)) u_signal (
        .clk(clk), .clear(1'b0), .s_data({|factor, gate_write, dst_buf, signal}),
        .m_data({settled_late, settled_place, settled_signal})
    );
    gc_delay_line #(.W(2), .CYCLES(LATE)) u_late (
        .clk(clk), .clear(rst), .s_data({settled, settled_valid} & {2{settled_late}}),
        .m_data({late_written, late_valid})
    );
    gc_delay_line #(.W(7), .CYCLES(LATE), .CLEAR(0)) u_late_signal (
        .clk(clk), .clear(1'b0), .s_data({settled_place, settled_signal}), .m_data({late_place, late_signal})
    );
    assign m_written        = (settled && !settled_late) || late_written;
    assign m_written_signal = late_written ? late_signal : settled_signal;

    wire       writes = (settled_valid && !settled_late) || late_valid;
    wire [1:0] place  = late_valid ? late_place : settled_place;
    gc_delay_line #(.W(3), .CYCLES(WRITE)) u_writes (
        .clk(clk), .clear(rst), .s_data({3{writes}} & {place, !place[0]}), .m_data(m_wr_valid)
    );

    wire _unused = &{1'b0, gate_unused, early_unused, s_t_pos, s_t_neg, s_n_valid,
                     gated_unused, out_valid_unused};
endmodule

`default_nettype wire
