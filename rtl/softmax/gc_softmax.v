// SPDX-License-Identifier: Apache-2.0
// Softmax with cross-entropy: the outputs of an image group, a vector for each class and an image in each lane, become
// its local gradient (doc/numerics.md, "Softmax with cross-entropy"). The vectors come three times over; in the third
// reading each gives one, with the target bits of s_gate. SLICE lanes per cycle, LANES/SLICE + 1 cycles (9 at least)
// for a vector, 72 cycles for each slice between the second reading and the third, 25 cycles latency. Vectors behind
// cfg_classes and lanes that are not kept give zero and add nothing to the loss. `start` begins a frame, cfg_* are
// stable until its last word has been taken. Bit-exact with gradcore.ops.softmax.difference and gradcore.ops.loss.
`default_nettype none

module gc_softmax #(
    parameter LANES = 64,
    parameter DW    = 16,  // bits of a word, 8..16
    parameter SLICE = 4    // lanes at once: 1, 2, 4
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                start,
    input  wire [15:0]         cfg_vectors,     // of a reading
    input  wire [15:0]         cfg_classes,     // of them that are classes: the first; at least 1
    input  wire [LANES-1:0]    cfg_kept,        // lanes of an image
    input  wire [5:0]          cfg_u_shift,     // fraction of the outputs, and 8
    input  wire [4:0]          cfg_loss_shift,
    input  wire                s_clear,         // of the loss
    input  wire                s_valid,
    output wire                s_ready,
    input  wire [LANES*DW-1:0] s_data,          // signed
    input  wire                s_gate_valid,
    output wire                s_gate_ready,
    input  wire [LANES-1:0]    s_gate,
    output wire                m_valid,
    input  wire                m_ready,
    output wire [LANES*DW-1:0] m_data,          // signed
    output reg                 sts_saturated,   // pulse: a result has a saturated lane
    output wire                sts_busy,        // vectors are inside; more may be wanted all the same
    output wire [63:0]         sts_loss         // whole when the last word has been taken
);
    localparam SLICES = LANES/SLICE;
    localparam SW     = $clog2(SLICES);
    localparam ROOM   = 4;
    // Cycles from a slice to: its new maximum; log2 and u, exponential, new sum; gradient.
    localparam MAX = 2, U = 6, E = 12, SUM = 14, END = 24;
    localparam BITS = 7;  // cycles from e to its bits in gc_softmax_probability

    generate
        if (LANES != 16 && LANES != 64) begin : g_illegal_lanes
            gradcore_illegal_parameter_LANES_not_16_or_64 u_stop ();
        end
        if (DW < 8 || DW > 16) begin : g_illegal_dw
            gradcore_illegal_parameter_DW_outside_8_to_16 u_stop ();
        end
        if (SLICE != 1 && SLICE != 2 && SLICE != 4) begin : g_illegal_slice
            gradcore_illegal_parameter_SLICE_not_1_2_or_4 u_stop ();
        end
    endgenerate

    // Slices.
    wire [2:0]          valid;
    wire                first, last, divide, dividing, promise, room, under_way;
    wire [SW-1:0]       slice;
    wire [SLICE*DW-1:0] z;
    wire [SLICE-1:0]    bits, kept;
    gc_softmax_readings #(.LANES(LANES), .DW(DW), .SLICE(SLICE)) u_readings (
        .clk(clk), .rst(rst), .start(start),
        .cfg_vectors(cfg_vectors), .cfg_classes(cfg_classes), .cfg_kept(cfg_kept),
        .s_valid(s_valid), .s_ready(s_ready), .s_data(s_data),
        .s_gate_valid(s_gate_valid), .s_gate_ready(s_gate_ready), .s_gate(s_gate), .s_room(room),
        .m_promise(promise), .m_divide(divide), .s_dividing(dividing),
        .m_valid(valid), .m_first(first), .m_last(last), .m_slice(slice), .m_data(z), .m_bits(bits), .m_kept(kept),
        .sts_busy(under_way)
    );

    // What goes beside them: stage n is n cycles behind.
    wire          max_valid, max_first;
    wire [SW-1:0] log_slice, late_slice, sum_slice;
    wire [SW-1:0] max_slice;
    wire          sum_first, sum_valid, end_valid, end_last;
    wire [SLICE-1:0] late_bits, late_kept, label;
    gc_delay_line #(.W(SW), .CYCLES(MAX)) u_max_slice (
        .clk(clk), .clear(rst), .s_data(slice), .m_data(max_slice)
    );
    gc_delay_line #(.W(1), .CYCLES(MAX)) u_max_valid (
        .clk(clk), .clear(rst), .s_data(valid[0]), .m_data(max_valid)
    );
    gc_delay_line #(.W(1), .CYCLES(1), .CLEAR(0)) u_max_first (
        .clk(clk), .clear(1'b0), .s_data(first), .m_data(max_first)
    );
    gc_delay_line #(.W(SW), .CYCLES(U-1), .CLEAR(0)) u_log_slice (
        .clk(clk), .clear(1'b0), .s_data(slice), .m_data(log_slice)
    );
    gc_delay_line #(.W(SLICE), .CYCLES(U)) u_label (
        .clk(clk), .clear(rst), .s_data(bits & kept & {SLICE{valid[2]}}), .m_data(label)
    );
    gc_delay_line #(.W(SW), .CYCLES(E-U), .CLEAR(0)) u_late_slice (
        .clk(clk), .clear(1'b0), .s_data(log_slice), .m_data(late_slice)
    );
    gc_delay_line #(.W(1), .CYCLES(E), .CLEAR(0)) u_sum_first (
        .clk(clk), .clear(1'b0), .s_data(first), .m_data(sum_first)
    );
    gc_delay_line #(.W(SW), .CYCLES(SUM-E+1), .CLEAR(0)) u_sum_slice (
        .clk(clk), .clear(1'b0), .s_data(late_slice), .m_data(sum_slice)
    );
    gc_delay_line #(.W(1), .CYCLES(SUM)) u_sum_valid (
        .clk(clk), .clear(rst), .s_data(valid[1]), .m_data(sum_valid)
    );
    gc_delay_line #(.W(2*SLICE), .CYCLES(E+BITS), .CLEAR(0)) u_targets (
        .clk(clk), .clear(1'b0), .s_data({bits, kept}), .m_data({late_bits, late_kept})
    );
    gc_delay_line #(.W(2), .CYCLES(END)) u_end (
        .clk(clk), .clear(rst), .s_data({valid[2], valid[2] && last}), .m_data({end_valid, end_last})
    );

    // State of the lanes: maximum, sum, reciprocal with length, logarithm.
    wire [SLICE*DW-1:0] max_old, max_new;
    wire [SLICE*40-1:0] sum_old, sum_new;
    wire [SLICE*26-1:0] reciprocal, reciprocal_new;
    wire [SLICE*4-1:0]  length, length_new;
    wire [SLICE*20-1:0] log, log_new;
    wire                divide_rd, divide_wr;
    wire [SW-1:0]       divided;
    gc_ram_sdp #(.WIDTH(SLICE*DW), .DEPTH(SLICES)) u_max (
        .clk(clk), .s_wr_en(max_valid), .s_wr_addr(max_slice), .s_wr_data(max_new),
        .s_rd_en(1'b1), .s_rd_addr(slice), .m_rd_data(max_old)
    );
    gc_ram_sdp #(.WIDTH(SLICE*40), .DEPTH(SLICES)) u_sum (
        .clk(clk), .s_wr_en(sum_valid), .s_wr_addr(sum_slice), .s_wr_data(sum_new),
        .s_rd_en(1'b1), .s_rd_addr(divide_rd ? divided : late_slice), .m_rd_data(sum_old)
    );
    gc_ram_sdp #(.WIDTH(SLICE*30), .DEPTH(SLICES)) u_reciprocal (
        .clk(clk), .s_wr_en(divide_wr), .s_wr_addr(divided), .s_wr_data({reciprocal_new, length_new}),
        .s_rd_en(1'b1), .s_rd_addr(late_slice), .m_rd_data({reciprocal, length})
    );
    gc_ram_sdp #(.WIDTH(SLICE*20), .DEPTH(SLICES)) u_log (
        .clk(clk), .s_wr_en(divide_wr), .s_wr_addr(divided), .s_wr_data(log_new),
        .s_rd_en(1'b1), .s_rd_addr(log_slice), .m_rd_data(log)
    );
    gc_softmax_divide #(.SLICE(SLICE), .SLICES(SLICES)) u_divide (
        .clk(clk), .rst(rst), .start(divide), .m_busy(dividing),
        .m_rd(divide_rd), .m_slice(divided), .s_sum(sum_old),
        .m_wr(divide_wr), .m_reciprocal(reciprocal_new), .m_length(length_new), .m_log(log_new)
    );

    // Lanes.
    wire [SLICE*41-1:0] u;
    wire [SLICE*DW-1:0] delta;
    wire [SLICE-1:0]    over;
    genvar l;
    generate
        for (l = 0; l < SLICE; l = l + 1) begin : g_lane
            wire [24:0] e;
            gc_softmax_state #(.DW(DW)) u_state (
                .clk(clk), .s_max_first(max_first), .s_z(z[l*DW +: DW]), .s_max(max_old[l*DW +: DW]),
                .m_max(max_new[l*DW +: DW]), .m_u(u[l*41 +: 41]), .s_u_shift(cfg_u_shift),
                .s_sum_first(sum_first), .s_sum(sum_old[l*40 +: 40]), .m_sum(sum_new[l*40 +: 40]), .m_e(e)
            );
            gc_softmax_probability #(.DW(DW)) u_probability (
                .clk(clk), .s_loss_shift(cfg_loss_shift), .s_e(e),
                .s_reciprocal(reciprocal[l*26 +: 26]), .s_length(length[l*4 +: 4]),
                .s_bit(late_bits[l]), .s_keep(late_kept[l]), .m_delta(delta[l*DW +: DW]),
                .m_over(over[l])
            );
        end
    endgenerate
    gc_softmax_loss #(.SLICE(SLICE)) u_loss (
        .clk(clk), .rst(rst), .s_clear(s_clear), .s_label(label), .s_u(u), .s_log(log), .sts_loss(sts_loss)
    );

    // Vectors again, with a promised place in the FIFO each.
    reg [LANES*DW-1:0] out_q;
    reg                whole_q, over_q;         // over_q: a slice that is here was saturated
    always @(posedge clk) begin
        if (end_valid) out_q <= {delta, out_q[LANES*DW-1:SLICE*DW]};
        if (end_valid) over_q <= !end_last && (over_q || |over);
        whole_q       <= end_last;
        sts_saturated <= end_last && (over_q || |over);
        if (rst) begin
            whole_q       <= 1'b0;
            over_q        <= 1'b0;
            sts_saturated <= 1'b0;
        end
    end
    localparam [$clog2(ROOM):0] ALL = ROOM[$clog2(ROOM):0];
    wire [$clog2(ROOM):0] free, level_unused;
    wire                  ready_unused;
    gc_credit_counter #(.CREDITS(ROOM)) u_room (
        .clk(clk), .rst(rst), .s_take(promise), .s_give(m_valid && m_ready), .m_any(room), .sts_free(free)
    );
    gc_stream_fifo #(.WIDTH(LANES*DW), .DEPTH(ROOM)) u_vectors (
        .clk(clk), .rst(rst), .s_valid(whole_q), .s_ready(ready_unused), .s_data(out_q),
        .m_valid(m_valid), .m_ready(m_ready), .m_data(m_data), .sts_level(level_unused)
    );
    assign sts_busy = under_way || free != ALL;

    wire _unused = &{1'b0, ready_unused, level_unused};
endmodule

`default_nettype wire
