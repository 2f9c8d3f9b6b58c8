// SPDX-License-Identifier: Apache-2.0
// One lane of the loss: difference d to the target, delta = d * 2^16 shifted, rounded half-up and saturated, and
// the square of d for the sum. One element per cycle, 5 cycles to m_delta, 3 to m_square, free running.
// Bit-exact with gradcore.ops.loss.difference and loss_delta.
`default_nettype none

module gc_loss_lane #(
    parameter DW = 16  // bits of an element, 8..16
) (
    input  wire            clk,
    input  wire [4:0]      s_step,    // bit i: stage i takes a new word
    input  wire [1:0]      s1_count,  // the word in stage 1, 2 is to be squared
    input  wire            s_hinge,
    input  wire [DW-1:0]   s_t_pos,   // signed
    input  wire [DW-1:0]   s_t_neg,   // signed
    input  wire            s_target,
    input  wire            s_enable,
    input  wire [DW-1:0]   s_data,    // signed
    input  wire [4:0]      s1_shift,  // of the word in stage 1
    output wire [DW-1:0]   m_delta,   // signed
    output wire            m_over,    // m_delta is saturated
    output reg  [2*DW-1:0] m_square
);
    localparam [1:0] HALF_UP = 2'd1;
    localparam       X_W     = 33;  // d * 2^16, and more than the largest shift

    // One adder serves a - t_pos, a - t_neg and, for the hinge's other classes, a + t_pos.
    wire          subtract = s_target | ~s_hinge;
    wire [DW-1:0] t        = s_target | s_hinge ? s_t_pos : s_t_neg;
    wire [DW:0]   addend   = {t[DW-1], t} ^ {(DW+1){subtract}};

    reg [DW:0] diff_q;
    reg [1:0]  keep_q;  // by the sign of diff_q

    always @(posedge clk) if (s_step[0]) begin
        diff_q <= {s_data[DW-1], s_data} + addend + {{DW{1'b0}}, subtract};
        keep_q <= {2{s_enable}} & ~({2{s_hinge}} & {~s_target, s_target});
    end

    // The hinge keeps negative differences of the labelled class and positive ones of the others.
    wire [DW:0] d = diff_q & {(DW+1){diff_q[DW] ? keep_q[1] : keep_q[0]}};

    gc_round_shift_step #(
        .IN_W    (X_W),
        .OUT_W   (DW),
        .SHIFT_W (5),
        .ROUND_W (1)
    ) u_round (
        .clk     (clk),
        .s_step  (s_step[4:1]),
        .s_x     ({{(X_W-DW-16){d[DW]}}, d[DW-1:0], 16'b0}),
        .s_base  ({DW{1'b0}}),
        .s_shift (s1_shift),
        .s_mode  (HALF_UP),
        .s_rnd   (16'b0),
        .m_y     (m_delta),
        .m_over  (m_over)
    );

    reg signed  [DW:0]     d_q;
    wire signed [2*DW+1:0] square = d_q * d_q;

    always @(posedge clk) if (s1_count[0]) d_q <= $signed(d);
    always @(posedge clk) if (s1_count[1]) m_square <= square[2*DW-1:0];

    wire _unused = &{1'b0, square[2*DW+1:2*DW]};  // |d| is below 2^DW
endmodule

`default_nettype wire
