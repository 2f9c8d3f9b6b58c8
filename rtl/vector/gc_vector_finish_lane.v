// SPDX-License-Identifier: Apache-2.0
// Makes a word of the result from a gathered entry (gc_vector_lane): saturate(round_shift(x * y + b * z)), where x is
// the entry's sum (cfg_sum), its low word (s_index) or its high one, y is cfg_scale or the table's value at the low
// word (cfg_table), and b * z the second term of an addition (cfg_add); 0 where s_keep_rnd is below cfg_threshold. One
// per cycle, 21 cycles latency, free running. The table's place leaves after 3 cycles; its points are taken 4 later,
// the entry's random numbers 15 (s_keep_rnd) and 17 cycles (s_rnd) behind it. Bit-exact with gradcore.machine.vector.
`default_nettype none

module gc_vector_finish_lane #(
    parameter DW = 16,
    parameter AW = 32
) (
    input  wire          clk,
    input  wire          cfg_sum,
    input  wire          cfg_relu,       // of an index: all bits one where the high word is not above 0
    input  wire          cfg_table,
    input  wire          cfg_add,
    input  wire [15:0]   cfg_scale,      // unsigned
    input  wire [15:0]   cfg_scale_b,    // unsigned
    input  wire [4:0]    cfg_place,      // left shift of the word on its way to the table, 16 is none
    input  wire [5:0]    cfg_shift,
    input  wire [1:0]    cfg_mode,
    input  wire [15:0]   cfg_threshold,  // 0 keeps all
    input  wire          s_index,
    input  wire [AW-1:0] s_entry,
    output reg  [15:0]   m_place,        // signed
    input  wire [15:0]   s_point,        // signed: of the segment's begin and its end
    input  wire [15:0]   s_next,
    input  wire [15:0]   s_keep_rnd,
    input  wire [15:0]   s_rnd,
    output wire [DW-1:0] m_word,         // signed
    output wire          m_over          // m_word is saturated
);
    localparam XW = DW + 14;
    localparam FW = DW + 31;             // of a shifted word

    wire [DW-1:0] low  = s_entry[DW-1:0];
    wire [DW-1:0] high = s_entry[2*DW-1:DW];
    wire          none = cfg_relu && (high[DW-1] || ~(|high));

    // ---- Cycles 1 to 3: choose x; the table's place
    reg [XW-1:0] x1_q;
    reg [DW-1:0] b1_q;
    reg [FW-1:0] coarse_q;
    reg [FW-1:0] fine_q;
    wire [FW-1:0]  extended = {{(FW-DW){low[DW-1]}}, low};
    wire [FW-17:0] whole = fine_q[FW-1:16];
    wire           over  = ~(&whole[FW-17:15]) && |whole[FW-17:15];
    always @(posedge clk) begin
        x1_q     <= cfg_sum ? s_entry[XW-1:0]
                  : s_index ? {{14{low[DW-1]}}, low} | {XW{none}} : {{14{high[DW-1]}}, high};
        b1_q     <= low;
        coarse_q <= extended << {cfg_place[4:3], 3'd0};
        fine_q   <= coarse_q << cfg_place[2:0];
        m_place  <= over ? {whole[FW-17], {15{!whole[FW-17]}}} : whole[15:0];
    end

    // ---- Cycles 4 to 12: the rise in the table's segment, or the second term
    wire [5:0]    rest;
    wire [DW-1:0] b;
    wire [15:0]   point;
    gc_delay_line #(.W(6), .CYCLES(5), .CLEAR(0)) u_rest (
        .clk(clk), .clear(1'b0), .s_data(m_place[5:0]), .m_data(rest)
    );
    gc_delay_line #(.W(DW), .CYCLES(7), .CLEAR(0)) u_b (.clk(clk), .clear(1'b0), .s_data(b1_q), .m_data(b));
    gc_delay_line #(.W(16), .CYCLES(4), .CLEAR(0)) u_point (
        .clk(clk), .clear(1'b0), .s_data(s_point), .m_data(point)
    );
    reg [16:0]        rise_q;
    reg signed [16:0] left_q;
    reg signed [16:0] right_q;
    reg signed [33:0] product_q;
    reg signed [33:0] second_q;
    reg [15:0]        value_q;
    always @(posedge clk) begin
        rise_q    <= {s_next[15], s_next} - {s_point[15], s_point};
        left_q    <= $signed(cfg_add ? {{(17-DW){b[DW-1]}}, b} : rise_q);
        right_q   <= $signed(cfg_add ? {1'b0, cfg_scale_b} : {11'd0, rest});
        product_q <= left_q * right_q;
        second_q  <= product_q;
        value_q   <= point + second_q[21:6] + {15'd0, second_q[5]};
    end

    // ---- Cycles 13 to 17: the product and the sum. What is dropped is 0 before it is rounded.
    wire [XW-1:0] x;
    wire [31:0]   term;
    gc_delay_line #(.W(XW), .CYCLES(11), .CLEAR(0)) u_x (.clk(clk), .clear(1'b0), .s_data(x1_q), .m_data(x));
    gc_delay_line #(.W(32), .CYCLES(4), .CLEAR(0)) u_term (
        .clk(clk), .clear(1'b0), .s_data(second_q[31:0]), .m_data(term)
    );
    reg signed [XW-1:0]  x_q;
    reg signed [16:0]    y_q;
    reg signed [XW+16:0] wide_q;
    reg signed [XW+16:0] first_q;
    wire [47:0]          first = {{(31-XW){first_q[XW+16]}}, first_q};
    reg [24:0]           sum_low_q;
    reg [23:0]           first_high_q;
    reg [23:0]           term_high_q;
    reg [47:0]           sum_q;
    reg                  kept_q;
    always @(posedge clk) begin
        x_q          <= $signed(x);
        y_q          <= $signed(cfg_table ? {value_q[15], value_q} : {1'b0, cfg_scale});
        wide_q       <= x_q * y_q;
        first_q      <= wide_q;
        sum_low_q    <= {1'b0, first[23:0]} + {1'b0, term[23:0] & {24{cfg_add}}};
        first_high_q <= first[47:24];
        term_high_q  <= {{16{term[31]}}, term[31:24]} & {24{cfg_add}};
        sum_q        <= {first_high_q + term_high_q + {23'd0, sum_low_q[24]}, sum_low_q[23:0]};
        kept_q       <= s_keep_rnd >= cfg_threshold;
        if (!kept_q) sum_q <= 48'd0;
    end

    // ---- Cycles 18 to 21
    gc_round_shift #(.IN_W(48), .OUT_W(DW), .SHIFT_W(6)) u_round (
        .clk(clk), .s_x(sum_q), .s_shift(cfg_shift), .s_mode(cfg_mode), .s_rnd(s_rnd),
        .m_y(m_word), .m_over(m_over)
    );

    wire _unused = &{1'b0, s_entry, fine_q[15:0], second_q[33:32]};
endmodule

`default_nettype wire
