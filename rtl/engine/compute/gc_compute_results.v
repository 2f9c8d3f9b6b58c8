// SPDX-License-Identifier: Apache-2.0
// Everything behind the array: takes drained columns and the places that gc_compute_places found for them, and writes
// activations, deltas and gates to the buffers (FP, BP, through the drain) or sums to the gradient buffer (WU). s_acc belongs to the word
// that entered RANDOM - JOIN cycles earlier; gc_group_sum takes JOIN cycles. Gate vectors are asked for here and come back GATE_READ cycles later. Fixed latency, no back-pressure.
// m_written pulses for each s_final, which needs no word, with the instruction's signal field in time for whoever it lets go; the loss is complete 4 cycles later.
`default_nettype none

module gc_compute_results #(
    parameter GRID      = 8,
    parameter DW        = 16,
    parameter ACC_W     = 48,
    parameter ACCESS_W  = 142,
    parameter COLS      = 16,
    parameter JOIN      = 1,   // latency of gc_group_sum
    parameter RANDOM    = 12,  // cycles from a word's place to its joined sums: the latency of the random numbers
    parameter GATE_READ = 7    // read latency of the gate buffer
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
    input  wire [9*16-1:0]            s_config,
    input  wire [GRID*GRID*ACC_W-1:0] s_acc,
    // gate buffer
    output wire                       m_gate_rd_valid,
    output wire [ACCESS_W-1:0]        m_gate_rd_access,
    input  wire [GRID*GRID-1:0]       s_gate_rd_data,
    output wire                       m_gate_wr_valid,
    output wire [ACCESS_W-1:0]        m_gate_wr_access,
    output wire [GRID*GRID-1:0]       m_gate_wr_data,
    // operand buffers
    output wire                       m_dst_valid,
    output wire                       m_dst_buf,
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
    localparam SETTLE  = 9;                   // the results are at the write ports 11 cycles after the sums, a token's first read comes 3 later
    localparam GATE    = 3;                   // drain: cycles from its input to its gate input
    localparam EARLY   = RANDOM + GATE - GATE_READ;
    localparam PLACE_W = 2*ACCESS_W + 16 + 9*16 + 1;

    // Random numbers by position.
    wire                coord_valid;
    wire [GRID*32-1:0]  coord_i;
    wire [GRID*32-1:0]  coord_j;
    wire [LANES*16-1:0] rnd;
    reg  [15:0]         tag_q;
    reg  [15:0]         chan_q;
    wire [1:0]          rounding  = s_config[1*16+12 +: 2];
    wire                stochastic = s_valid && !s_wu && (&rounding);

    always @(posedge clk) begin
        tag_q  <= s_config[7*16 +: 16];
        chan_q <= s_gate[60 +: 16];
    end
    gc_fold_coordinates #(.GRID(GRID)) u_coordinates (
        .clk(clk), .rst(rst), .s_valid(stochastic), .s_y0(s_gate[20 +: 12]), .s_x0(s_gate[32 +: 12]), .s_fold(s_gate[108 +: 2]),
        .s_image(s_config[8*16 +: 16]), .m_valid(coord_valid), .m_i(coord_i), .m_j(coord_j)
    );
    wire random_m_valid_unused;
    gc_position_random #(.GRID(GRID)) u_random (
        .clk(clk), .rst(rst), .s_valid(coord_valid), .s_seed(cfg_seed), .s_tag(tag_q), .s_k({16'd0, chan_q}),
        .s_i(coord_i), .s_j(coord_j), .m_valid(random_m_valid_unused), .m_rnd(rnd)
    );

    // The place of each word, delayed to its sums; the gate is asked for so that it comes in time.
    wire                at_valid;
    wire                at_final;
    wire                at_wu;
    wire [ACCESS_W-1:0] at_dst;
    wire [ACCESS_W-1:0] at_gate;
    wire [9*16-1:0]     at_config;
    wire                early_valid;
    wire                early_wu;
    wire [15:0]         early_grad;
    wire [ACCESS_W-1:0] early_dst;
    wire [ACCESS_W-1:0] early_gate;
    wire [9*16-1:0]     early_config;
    wire                early_final;
    wire                raw_valid;
    wire                raw_wu;
    wire [15:0]         raw_grad;
    wire [ACCESS_W-1:0] raw_dst;
    wire [ACCESS_W-1:0] raw_gate;
    wire [9*16-1:0]     raw_config;
    wire                raw_final;

    gc_delay_line #(.W(2), .CYCLES(EARLY)) u_early_valid (.clk(clk), .clear(rst), .s_data({s_final, s_valid}), .m_data({early_final, early_valid}));
    gc_delay_line #(.W(PLACE_W), .CYCLES(EARLY)) u_early (.clk(clk), .clear(1'b0),
        .s_data({s_config, s_gate, s_dst, s_grad_addr, s_wu}), .m_data({early_config, early_gate, early_dst, early_grad, early_wu}));
    gc_delay_line #(.W(2), .CYCLES(RANDOM-EARLY-JOIN)) u_raw_valid (.clk(clk), .clear(rst), .s_data({early_final, early_valid}), .m_data({raw_final, raw_valid}));
    gc_delay_line #(.W(PLACE_W), .CYCLES(RANDOM-EARLY-JOIN)) u_raw (.clk(clk), .clear(1'b0),
        .s_data({early_config, early_gate, early_dst, early_grad, early_wu}), .m_data({raw_config, raw_gate, raw_dst, raw_grad, raw_wu}));
    gc_delay_line #(.W(2), .CYCLES(JOIN)) u_at_valid (.clk(clk), .clear(rst), .s_data({raw_final, raw_valid}), .m_data({at_final, at_valid}));
    gc_delay_line #(.W(PLACE_W-16), .CYCLES(JOIN)) u_at (.clk(clk), .clear(1'b0),
        .s_data({raw_config, raw_gate, raw_dst, raw_wu}), .m_data({at_config, at_gate, at_dst, at_wu}));

    wire [15:0] early_h2 = early_config[1*16 +: 16];
    assign m_gate_rd_valid  = early_valid && !early_wu && (early_h2[8] || |early_h2[10:9]);
    assign m_gate_rd_access = early_gate;

    // Sums to gradients.
    assign m_grad_valid = raw_valid && raw_wu;
    assign m_grad_first = raw_config[1*16+11];
    assign m_grad_addr  = raw_grad;

    // Sums to activations and deltas.
    wire [15:0]         h2 = at_config[1*16 +: 16];
    wire [15:0]         h3 = at_config[2*16 +: 16];
    wire [LANES-1:0]    in_map;
    wire [LANES-1:0]    image;
    wire [LANES*ACC_W-1:0] acc;
    wire                out_valid;
    wire                out_gate_write;
    wire [ACCESS_W-1:0] out_gate;

    gc_group_sum #(.LANES(LANES), .COLS(COLS), .ACC_W(ACC_W)) u_join (.clk(clk), .s_split(raw_config[1*16+14]), .s_acc(s_acc), .m_acc(acc));
    gc_lane_mask #(.GRID(GRID)) u_mask (
        .s_fold(h3[1:0]), .s_y0(at_gate[20 +: 12]), .s_x0(at_gate[32 +: 12]), .s_height(at_gate[118 +: 12]), .s_width(at_gate[130 +: 12]),
        .s_images(at_config[6*16 +: 7]), .m_inside(in_map), .m_image(image)
    );

    gc_drain #(.GRID(GRID), .DW(DW), .ACC_W(ACC_W), .GATE_LATENCY(GATE), .USER_W(2*ACCESS_W + 2)) u_drain (
        .clk(clk), .rst(rst),
        .s_valid(at_valid && !at_wu), .s_acc(acc), .s_shift(h3[15:10]), .s_mode(h2[13:12]), .s_rnd(rnd),
        .s_delta(h2[0]), .s_relu(h2[5]), .s_pool(h2[6]), .s_fold(h3[1:0]), .s_scale(h2[8]), .s_loss(h2[10:9]),
        .s_t_pos(at_config[3*16 +: DW]), .s_t_neg(at_config[4*16 +: DW]), .s_loss_shift(at_config[5*16 +: 5]),
        .s_img_enable(image), .s_lane_valid(in_map),
        .s_user({h2[7], h2[3], at_gate, at_dst}), .s_gate(s_gate_rd_data),
        .m_valid(out_valid), .m_user({out_gate_write, m_dst_buf, out_gate, m_dst_access}),
        .m_data(m_dst_data), .m_enable(m_dst_enable), .m_gate(m_gate_wr_data),
        .cfg_loss_clear(clear_loss), .sts_loss(sts_loss), .sts_saturated(sts_saturated)
    );
    assign m_dst_valid      = out_valid;
    assign m_gate_wr_valid  = out_valid && out_gate_write;
    assign m_gate_wr_access = out_gate;

    // Whoever waits for the token finds the last word written, in the operand buffers and in the gradient buffer.
    wire settled;
    gc_delay_line #(.W(1), .CYCLES(SETTLE)) u_settled (.clk(clk), .clear(rst), .s_data(at_final), .m_data(settled));
    gc_delay_line #(.W(5), .CYCLES(SETTLE)) u_signal (.clk(clk), .clear(1'b0), .s_data(at_config[14:10]), .m_data(m_written_signal));
    assign m_written = settled;

    wire _unused = &{1'b0, random_m_valid_unused, early_h2, at_config, h2, h3};
endmodule

`default_nettype wire
