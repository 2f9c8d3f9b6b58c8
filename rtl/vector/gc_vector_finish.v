// SPDX-License-Identifier: Apache-2.0
// Makes beats of the result from beats of gathered entries, up to 16 words per cycle, and holds the table. m_give says
// that a beat of entries has left the queue in front, whose DEPTH places are given out by credits outside.
`default_nettype none

module gc_vector_finish #(
    parameter GRID  = 8,
    parameter WORDS = 32,
    parameter DW    = 16,
    parameter EW    = 16,
    parameter AW    = 32,
    parameter DEPTH = 16,
    parameter MEM_W = WORDS*EW
) (
    input  wire                clk,
    input  wire                rst,
    input  wire [2:0]          cfg_operation,
    input  wire                cfg_relu,
    input  wire [1:0]          cfg_rounding,
    input  wire [15:0]         cfg_multiplier,
    input  wire [5:0]          cfg_shift,
    input  wire [4:0]          cfg_shift_a,    // signed
    input  wire [4:0]          cfg_shift_b,    // signed
    input  wire [31:0]         cfg_seed,
    input  wire [15:0]         cfg_rnd_tag,
    input  wire [15:0]         cfg_keep_tag,
    input  wire [15:0]         cfg_keep_threshold,
    input  wire [15:0]         cfg_n_base,
    input  wire [1:0]          cfg_fold,
    input  wire [15:0]         cfg_n_beats,
    input  wire [15:0]         cfg_n_x,
    input  wire                s_start,        // of an instruction
    input  wire                s_valid,
    input  wire                s_index,        // of a maximum: its index
    input  wire [WORDS*AW-1:0] s_entries,
    output wire                m_give,
    output wire                m_valid,
    input  wire                m_ready,
    output wire [MEM_W-1:0]    m_data,
    output reg                 sts_saturated,  // pulse: a beat that has left has a saturated word
    // the table
    input  wire                s_scrub,
    input  wire [8:0]          s_scrub_addr,
    input  wire                s_point_valid,
    output wire                s_point_ready,
    input  wire [MEM_W-1:0]    s_points,
    output wire                sts_idle        // no points are on their way
);
    localparam LANES   = WORDS < 16 ? WORDS : 16;
    localparam PARTS   = WORDS/LANES;
    localparam LATENCY = 21;
    localparam CREDIT  = 32;
    localparam WORD_W  = LANES*DW + 1;   // words of a part, and whether one is saturated
    localparam [2:0] INDEX = 3'd1, SUM = 3'd2, CHOOSE = 3'd3, TABLE = 3'd4, SLOPE = 3'd5, ADD = 3'd6;

    // ---- What the operation means for a lane
    reg        sum_q, index_q, relu_q, table_q, add_q;
    reg [15:0] scale_q, scale_b_q;
    reg [4:0]  place_q;
    reg [5:0]  shift_q;
    reg [1:0]  mode_q;
    wire       exact = cfg_operation < SUM || cfg_operation == CHOOSE;
    always @(posedge clk) begin
        sum_q     <= cfg_operation == SUM || cfg_operation == CHOOSE;
        index_q   <= cfg_operation == INDEX;
        relu_q    <= cfg_relu;
        table_q   <= cfg_operation == TABLE || cfg_operation == SLOPE;
        add_q     <= cfg_operation == ADD;
        scale_q   <= cfg_operation == SUM ? cfg_multiplier
                   : cfg_operation == ADD ? 16'd1 << cfg_shift_a[3:0] : 16'd1;
        scale_b_q <= 16'd1 << cfg_shift_b[3:0];
        place_q   <= {!cfg_shift_a[4], cfg_shift_a[3:0]};
        shift_q   <= exact ? 6'd0 : cfg_shift;
        mode_q    <= exact ? 2'd0 : cfg_rounding;
    end
    reg [15:0] threshold_q;
    reg        random_q;       // words have random numbers
    always @(posedge clk) begin
        threshold_q <= cfg_keep_threshold;
        random_q    <= |threshold_q || &mode_q;
    end

    // ---- Beats of entries, then parts of them, each with s_index
    localparam PART_W = LANES*AW + 1;
    wire                    queue_valid, queue_ready, part_valid, free;
    wire [PARTS*PART_W-1:0] queue_in, queue_data;
    wire [PART_W-1:0]       part;
    genvar i;
    generate
        for (i = 0; i < PARTS; i = i + 1) begin : g_part
            assign queue_in[i*PART_W +: PART_W] = {s_index, s_entries[i*LANES*AW +: LANES*AW]};
        end
    endgenerate
    wire                queue_s_ready_unused;
    wire [$clog2(DEPTH):0] queue_level_unused;
    gc_stream_fifo #(.WIDTH(PARTS*PART_W), .DEPTH(DEPTH)) u_queue (
        .clk(clk), .rst(rst), .s_valid(s_valid), .s_ready(queue_s_ready_unused), .s_data(queue_in),
        .m_valid(queue_valid), .m_ready(queue_ready), .m_data(queue_data), .sts_level(queue_level_unused)
    );
    assign m_give = queue_valid && queue_ready;
    gc_stream_downsize #(.WIDTH(PART_W), .RATIO(PARTS)) u_parts (
        .clk(clk), .rst(rst), .s_valid(queue_valid), .s_ready(queue_ready), .s_data(queue_data),
        .m_valid(part_valid), .m_ready(free), .m_flush(1'b0), .m_data(part)
    );

    // ---- Lanes, behind a credit for each place of the FIFO that catches their words
    wire                word_valid, word_ready, done;
    wire [LANES*DW-1:0] made;
    wire [LANES-1:0]    over;
    wire [WORD_W-1:0]   word;
    wire [LANES*16-1:0] place, point, next;
    wire                words_s_ready_unused;
    wire [$clog2(CREDIT):0] words_level_unused, credit_free_unused;
    gc_credit_counter #(.CREDITS(CREDIT)) u_credit (
        .clk(clk), .rst(rst), .s_take(part_valid && free), .s_give(word_valid && word_ready),
        .m_any(free), .sts_free(credit_free_unused)
    );
    gc_delay_line #(.W(1), .CYCLES(LATENCY)) u_done (
        .clk(clk), .clear(rst), .s_data(part_valid && free), .m_data(done)
    );
    gc_vector_table #(.LANES(LANES), .MEM_W(MEM_W)) u_table (
        .clk(clk), .rst(rst), .s_scrub(s_scrub), .s_scrub_addr(s_scrub_addr),
        .s_start(s_start), .s_valid(s_point_valid), .s_ready(s_point_ready), .s_data(s_points), .sts_idle(sts_idle),
        .s_place(place), .m_point(point), .m_next(next)
    );
    wire [LANES*16-1:0] rnd, keep_rnd;
    gc_vector_random #(.GRID(GRID), .WORDS(LANES), .PARTS(PARTS)) u_random (
        .clk(clk), .rst(rst), .start(s_start), .cfg_seed(cfg_seed), .cfg_tag(cfg_rnd_tag),
        .cfg_keep_tag(cfg_keep_tag), .cfg_image(cfg_n_base), .cfg_fold(cfg_fold), .cfg_n_beats(cfg_n_beats),
        .cfg_n_x(cfg_n_x), .s_step(part_valid && free && random_q), .m_rnd(rnd), .m_keep_rnd(keep_rnd)
    );
    generate
        for (i = 0; i < LANES; i = i + 1) begin : g_lane
            gc_vector_finish_lane #(.DW(DW), .AW(AW)) u_lane (
                .clk(clk), .cfg_sum(sum_q), .s_index(part[LANES*AW] || index_q), .cfg_relu(relu_q), .cfg_table(table_q),
                .cfg_add(add_q), .cfg_scale(scale_q), .cfg_scale_b(scale_b_q), .cfg_place(place_q),
                .cfg_shift(shift_q), .cfg_mode(mode_q), .cfg_threshold(threshold_q), .s_entry(part[i*AW +: AW]),
                .m_place(place[i*16 +: 16]), .s_point(point[i*16 +: 16]), .s_next(next[i*16 +: 16]),
                .s_keep_rnd(keep_rnd[i*16 +: 16]), .s_rnd(rnd[i*16 +: 16]), .m_word(made[i*DW +: DW]), .m_over(over[i])
            );
        end
    endgenerate
    gc_stream_fifo #(.WIDTH(WORD_W), .DEPTH(CREDIT)) u_words (
        .clk(clk), .rst(rst), .s_valid(done), .s_ready(words_s_ready_unused), .s_data({|over, made}),
        .m_valid(word_valid), .m_ready(word_ready), .m_data(word), .sts_level(words_level_unused)
    );

    // ---- Beats of the result
    wire [PARTS*WORD_W-1:0] beat;
    wire [PARTS-1:0]    beat_over;
    wire                beat_last_unused;
    wire [$clog2(PARTS):0] beat_words_unused;
    gc_stream_upsize #(.WIDTH(WORD_W), .RATIO(PARTS)) u_beats (
        .clk(clk), .rst(rst), .s_valid(word_valid), .s_ready(word_ready), .s_last(1'b0), .s_data(word),
        .m_valid(m_valid), .m_ready(m_ready), .m_data(beat),
        .m_last(beat_last_unused), .m_words(beat_words_unused)
    );
    generate
        for (i = 0; i < WORDS; i = i + 1) begin : g_word
            localparam AT = i/LANES*WORD_W + i%LANES*DW;
            if (EW > DW) begin : g_extend
                assign m_data[i*EW +: EW] = {{(EW-DW){beat[AT+DW-1]}}, beat[AT +: DW]};
            end else begin : g_same
                assign m_data[i*EW +: EW] = beat[AT +: DW];
            end
        end
        for (i = 0; i < PARTS; i = i + 1) begin : g_over
            assign beat_over[i] = beat[i*WORD_W + LANES*DW];
        end
    endgenerate
    always @(posedge clk) sts_saturated <= m_valid && m_ready && |beat_over && !rst;

    wire _unused = &{1'b0, cfg_shift_b[4], queue_s_ready_unused, queue_level_unused, words_s_ready_unused,
                     words_level_unused, credit_free_unused, beat_last_unused, beat_words_unused};
endmodule

`default_nettype wire
