// SPDX-License-Identifier: Apache-2.0
// Executes VECTOR: pooling by windows, activation by a table, addition, dropout, from DRAM to DRAM
// (doc/instructions.md). `start` begins; cfg_*, the fields of the instruction, are stable until m_done, which comes
// when the memory has confirmed the last write, or the table has its points. Fields that the engine refuses never come.
// cfg_base_* are added to the addresses. A beat that is read takes a cycle, a beat of the result WORDS/16 cycles at
// least beside that; a part of up to 64 beats of a pixel takes 5 cycles per tap and source at least (README). A pixel
// of the sources is read once for all windows of a row that it is in, where these are small. Bit-exact with
// gradcore.machine.vector.
`default_nettype none

module gc_vector #(
    parameter GRID   = 8,     // 4 or 8
    parameter DW     = 16,    // bits of a data word, 8..16
    parameter MEM_W  = 512,   // bits of a memory beat, 64..512
    parameter ADDR_W = 48,
    parameter BURST  = 32   // beats of a burst, at most: power of two, 8..128
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               start,
    output reg                m_done,
    output wire               sts_saturated,  // pulse: a beat of the result has a saturated word
    input  wire [2:0]         cfg_operation,
    input  wire               cfg_transpose,
    input  wire               cfg_relu,
    input  wire [1:0]         cfg_rounding,
    input  wire [ADDR_W-1:0]  cfg_base,
    input  wire [ADDR_W-1:0]  cfg_base_b,
    input  wire [ADDR_W-1:0]  cfg_base_out,
    input  wire [47:0]        cfg_addr,
    input  wire [47:0]        cfg_addr_b,
    input  wire [47:0]        cfg_addr_out,
    input  wire [31:0]        cfg_stride_y,
    input  wire [31:0]        cfg_stride_x,
    input  wire [31:0]        cfg_advance_y,
    input  wire [31:0]        cfg_advance_x,
    input  wire [15:0]        cfg_n_beats,
    input  wire [15:0]        cfg_n_y,
    input  wire [15:0]        cfg_n_x,
    input  wire [7:0]         cfg_n_ky,
    input  wire [7:0]         cfg_n_kx,
    input  wire [7:0]         cfg_step_y,
    input  wire [7:0]         cfg_step_x,
    input  wire [15:0]        cfg_first_y,    // signed
    input  wire [15:0]        cfg_first_x,
    input  wire [7:0]         cfg_phase_y,
    input  wire [7:0]         cfg_phase_x,
    input  wire [15:0]        cfg_height,
    input  wire [15:0]        cfg_width,
    input  wire [15:0]        cfg_multiplier,
    input  wire [5:0]         cfg_shift,
    input  wire [4:0]         cfg_shift_a,    // signed
    input  wire [4:0]         cfg_shift_b,
    input  wire [15:0]        cfg_rnd_tag,
    input  wire [15:0]        cfg_keep_tag,
    input  wire [15:0]        cfg_keep_threshold,
    input  wire [15:0]        cfg_n_base,
    input  wire [1:0]         cfg_fold,
    input  wire [31:0]        cfg_index_behind,
    input  wire [31:0]        cfg_seed,
    // the table is cleared
    input  wire               s_scrub,
    input  wire [8:0]         s_scrub_addr,
    // memory
    output wire               m_rreq_valid,
    input  wire               m_rreq_ready,
    output wire [ADDR_W-1:0]  m_rreq_addr,
    output wire [7:0]         m_rreq_len,
    input  wire               s_rdat_valid,
    input  wire [MEM_W-1:0]   s_rdat_data,
    output wire               m_wreq_valid,
    input  wire               m_wreq_ready,
    output wire [ADDR_W-1:0]  m_wreq_addr,
    output wire [7:0]         m_wreq_len,
    output wire               m_wdat_valid,
    input  wire               m_wdat_ready,
    output wire [MEM_W-1:0]   m_wdat_data,
    output wire [MEM_W/8-1:0] m_wdat_strb,
    output wire               m_wdat_last,
    input  wire               s_wrsp_valid
);
    localparam EW     = DW == 8 ? 8 : 16;             // bits of a word in memory
    localparam WORDS  = MEM_W/EW;
    localparam AW     = DW > 14 ? 2*DW : DW + 14;     // bits of a gathered entry
    localparam BEAT   = $clog2(MEM_W/8);
    localparam W      = ADDR_W - BEAT;                // bits of an address in beats
    localparam PART   = 64;
    localparam PW     = $clog2(PART);
    localparam CREDIT = PART;
    localparam [2:0] SUM = 3'd2, CHOOSE = 3'd3, SLOPE = 3'd5, ADD = 3'd6, LOAD_TABLE = 3'd7;

    generate
        if (GRID != 4 && GRID != 8) begin : g_illegal_grid
            gradcore_illegal_parameter_GRID_not_4_or_8 u_stop ();
        end
        if (DW < 8 || DW > 16) begin : g_illegal_dw
            gradcore_illegal_parameter_DW_must_be_8_to_16 u_stop ();
        end
        if (MEM_W < 64 || MEM_W > 512 || (MEM_W & (MEM_W-1)) != 0) begin : g_illegal_mem_w
            gradcore_illegal_parameter_MEM_W_must_be_a_power_of_two_from_64_to_512 u_stop ();
        end
        if (ADDR_W < 32 || ADDR_W > 48) begin : g_illegal_addr_w
            gradcore_illegal_parameter_ADDR_W_must_be_32_to_48 u_stop ();
        end
        if (BURST < 8 || BURST > 128 || (BURST & (BURST-1)) != 0) begin : g_illegal_burst
            gradcore_illegal_parameter_BURST_must_be_a_power_of_two_from_8_to_128 u_stop ();
        end
    endgenerate

    // ---- The addresses; the walk begins when they are summed
    reg  [2:0]   start_q;
    wire         begins = start_q[2];
    wire [W-1:0] a, b, out;
    gc_vector_sum #(.W(W)) u_a (
        .clk(clk), .s_a(cfg_addr[ADDR_W-1:BEAT]), .s_b(cfg_base[ADDR_W-1:BEAT]), .m_sum(a)
    );
    gc_vector_sum #(.W(W)) u_b (
        .clk(clk), .s_a(cfg_addr_b[ADDR_W-1:BEAT]), .s_b(cfg_base_b[ADDR_W-1:BEAT]), .m_sum(b)
    );
    gc_vector_sum #(.W(W)) u_out (
        .clk(clk), .s_a(cfg_addr_out[ADDR_W-1:BEAT]), .s_b(cfg_base_out[ADDR_W-1:BEAT]), .m_sum(out)
    );
    wire plain = cfg_operation == LOAD_TABLE;
    reg  pair_q, plain_q, sums_q, most_q, choose_q, indexed_q, keep_q;
    wire [7:0] unit_y = cfg_transpose ? cfg_step_y : 8'd1;
    wire [7:0] unit_x = cfg_transpose ? cfg_step_x : 8'd1;
    wire [9:0] most_y = pair_q ? {1'b0, unit_y, 1'b0} : {unit_y, 2'd0};   // taps for whose rows there are slots
    wire [9:0] most_x = {unit_x, 2'd0};
    always @(posedge clk) begin
        start_q  <= {start_q[1:0], start && !rst};
        pair_q   <= cfg_operation == CHOOSE || cfg_operation == SLOPE || cfg_operation == ADD;
        plain_q  <= plain;
        sums_q   <= cfg_operation == SUM || cfg_operation == CHOOSE;
        most_q   <= cfg_operation < SUM;
        choose_q <= cfg_operation == CHOOSE;
        indexed_q <= |cfg_index_behind;
        keep_q    <= {2'd0, cfg_n_ky} <= most_y && {2'd0, cfg_n_kx} <= most_x;
        if (rst) start_q <= 3'd0;
    end

    // ---- What is read: taps, then passes over a part of a pixel
    wire          tap_valid, tap_ready, tap_inside, tap_end;
    wire [W-1:0]  tap_at;
    wire [13:0]   tap;
    wire [3:0]    tap_slot;
    wire          tap_seen;
    wire [PW-1:0] tap_beats;
    gc_window_walker #(.W(W), .PART(PART)) u_walker (
        .clk(clk), .rst(rst), .start(begins), .cfg_plain(plain_q), .cfg_transpose(cfg_transpose),
        .cfg_stride_y({{(W-32+BEAT){1'b0}}, cfg_stride_y[31:BEAT]}),
        .cfg_stride_x({{(W-32+BEAT){1'b0}}, cfg_stride_x[31:BEAT]}),
        .cfg_advance_y({{(W-32+BEAT){1'b0}}, cfg_advance_y[31:BEAT]}),
        .cfg_advance_x({{(W-32+BEAT){1'b0}}, cfg_advance_x[31:BEAT]}),
        .cfg_n_beats(cfg_n_beats), .cfg_n_y(cfg_n_y), .cfg_n_x(cfg_n_x),
        .cfg_n_ky(cfg_n_ky), .cfg_n_kx(cfg_n_kx), .cfg_step_y(cfg_step_y), .cfg_step_x(cfg_step_x),
        .cfg_first_y(cfg_first_y), .cfg_first_x(cfg_first_x), .cfg_phase_y(cfg_phase_y), .cfg_phase_x(cfg_phase_x),
        .cfg_height(cfg_height), .cfg_width(cfg_width),
        .m_valid(tap_valid), .m_ready(tap_ready), .m_inside(tap_inside), .m_end(tap_end),
        .m_at(tap_at), .m_tap(tap), .m_slot(tap_slot), .m_seen(tap_seen), .m_beats(tap_beats)
    );
    localparam RECORD = PW + 14 + 4 + 8;
    wire          read_valid, read_ready, made_valid, made_ready;
    wire [W-1:0]  read_at;
    wire [RECORD-1:0] made;
    gc_vector_passes #(.W(W), .PW(PW)) u_passes (
        .clk(clk), .rst(rst), .cfg_pair(pair_q), .cfg_keep(keep_q), .cfg_indexed(indexed_q), .cfg_a(a), .cfg_b(b),
        .s_valid(tap_valid), .s_ready(tap_ready), .s_inside(tap_inside), .s_end(tap_end),
        .s_at(tap_at), .s_tap(tap), .s_slot(tap_slot), .s_seen(tap_seen), .s_beats(tap_beats),
        .m_req_valid(read_valid), .m_req_ready(read_ready), .m_addr(read_at),
        .m_valid(made_valid), .m_ready(made_ready || plain_q),
        .m_beats(made[PW-1:0]), .m_tap(made[PW +: 14]), .m_slot(made[PW+14 +: 4]), .m_fill(made[PW+18]),
        .m_kept(made[PW+19]), .m_first(made[PW+20]), .m_last(made[PW+21]), .m_void(made[PW+22]), .m_again(made[PW+23]),
        .m_quiet(made[PW+24]), .m_anew(made[PW+25])
    );
    wire              pass_valid, pass_ready;
    wire [RECORD-1:0] pass;
    wire [4:0]        pass_level_unused;
    gc_stream_fifo #(.WIDTH(RECORD), .DEPTH(16)) u_passes_made (
        .clk(clk), .rst(rst), .s_valid(made_valid && !plain_q), .s_ready(made_ready), .s_data(made),
        .m_valid(pass_valid), .m_ready(pass_ready), .m_data(pass), .sts_level(pass_level_unused)
    );
    wire             beat_valid, beat_ready, drained_unused;
    wire [MEM_W-1:0] beat;
    gc_dma_reader #(.ADDR_W(ADDR_W), .MEM_W(MEM_W), .MAX_BURST(BURST)) u_reader (
        .clk(clk), .rst(rst), .s_valid(read_valid), .s_ready(read_ready), .s_addr({read_at, {BEAT{1'b0}}}),
        .s_run_beats({{(32-PW){1'b0}}, made[PW-1:0]} + 32'd1),
        .s_n1(16'd1), .s_stride1(32'd0), .s_n2(16'd1), .s_stride2(32'd0),
        .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready), .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len),
        .s_rdat_valid(s_rdat_valid), .s_rdat_data(s_rdat_data),
        .m_valid(beat_valid), .m_ready(beat_ready), .m_data(beat), .sts_drained(drained_unused)
    );

    // ---- What becomes of the beats
    wire                gather_ready, point_ready, idle, take, give, gathered, gathered_again;
    wire [WORDS*AW-1:0] entries;
    wire                    credit_unused;
    wire [$clog2(CREDIT):0] credit_free;
    reg                     credit_q;     // two places were free, of which one may have gone
    always @(posedge clk) credit_q <= |credit_free[$clog2(CREDIT):1];
    assign beat_ready = plain_q ? point_ready : gather_ready;
    gc_credit_counter #(.CREDITS(CREDIT)) u_credit (
        .clk(clk), .rst(rst), .s_take(take), .s_give(give), .m_any(credit_unused), .sts_free(credit_free)
    );
    gc_vector_gather #(.WORDS(WORDS), .DW(DW), .EW(EW), .AW(AW), .PW(PW)) u_gather (
        .clk(clk), .rst(rst), .cfg_sums(sums_q), .cfg_most(most_q), .cfg_choose(choose_q), .cfg_pair(pair_q),
        .s_valid(pass_valid), .s_ready(pass_ready), .s_beats(pass[PW-1:0]), .s_tap(pass[PW +: 14]),
        .s_slot(pass[PW+14 +: 4]), .s_fill(pass[PW+18]), .s_kept(pass[PW+19]),
        .s_first(pass[PW+20]), .s_last(pass[PW+21]), .s_void(pass[PW+22]), .s_again(pass[PW+23]),
        .s_quiet(pass[PW+24]), .s_anew(pass[PW+25]),
        .s_beat_valid(beat_valid && !plain_q), .s_beat_ready(gather_ready), .s_beat(beat),
        .s_credit(credit_q), .m_take(take), .m_valid(gathered), .m_again(gathered_again), .m_entries(entries)
    );
    wire             word_valid, word_ready;
    wire [MEM_W-1:0] word;
    gc_vector_finish #(.GRID(GRID), .WORDS(WORDS), .DW(DW), .EW(EW), .AW(AW), .DEPTH(CREDIT)) u_finish (
        .clk(clk), .rst(rst), .cfg_operation(cfg_operation), .cfg_relu(cfg_relu), .cfg_rounding(cfg_rounding),
        .cfg_multiplier(cfg_multiplier), .cfg_shift(cfg_shift), .cfg_shift_a(cfg_shift_a), .cfg_shift_b(cfg_shift_b),
        .cfg_seed(cfg_seed), .cfg_rnd_tag(cfg_rnd_tag), .cfg_keep_tag(cfg_keep_tag),
        .cfg_keep_threshold(cfg_keep_threshold), .cfg_n_base(cfg_n_base), .cfg_fold(cfg_fold),
        .cfg_n_beats(cfg_n_beats), .cfg_n_x(cfg_n_x), .s_start(begins),
        .s_valid(gathered), .s_index(gathered_again), .s_entries(entries), .m_give(give),
        .m_valid(word_valid), .m_ready(word_ready), .m_data(word), .sts_saturated(sts_saturated),
        .s_scrub(s_scrub), .s_scrub_addr(s_scrub_addr),
        .s_point_valid(beat_valid && plain_q), .s_point_ready(point_ready), .s_points(beat), .sts_idle(idle)
    );

    // ---- The result
    wire        written;
    gc_vector_result #(.ADDR_W(ADDR_W), .MEM_W(MEM_W), .BURST(BURST), .PART(PART)) u_result (
        .clk(clk), .rst(rst), .start(begins && !plain_q), .cfg_out(out), .cfg_behind(cfg_index_behind),
        .cfg_n_beats(cfg_n_beats), .cfg_n_y(cfg_n_y), .cfg_n_x(cfg_n_x),
        .s_valid(word_valid), .s_ready(word_ready), .s_data(word), .m_done(written),
        .m_wreq_valid(m_wreq_valid), .m_wreq_ready(m_wreq_ready), .m_wreq_addr(m_wreq_addr), .m_wreq_len(m_wreq_len),
        .m_wdat_valid(m_wdat_valid), .m_wdat_ready(m_wdat_ready), .m_wdat_data(m_wdat_data),
        .m_wdat_strb(m_wdat_strb), .m_wdat_last(m_wdat_last), .s_wrsp_valid(s_wrsp_valid)
    );

    // ---- The end. Of a load of the table: all its beats taken and none in the making.
    reg        loads_q;
    reg [15:0] left_q;
    wire       loaded = loads_q && ~(|left_q) && idle;
    always @(posedge clk) begin
        if (begins && plain_q) loads_q <= 1'b1;
        else if (loaded)       loads_q <= 1'b0;
        if (begins)                                   left_q <= cfg_n_beats;
        else if (beat_valid && beat_ready && plain_q) left_q <= left_q - 16'd1;
        m_done <= written || loaded;
        if (rst) begin
            loads_q <= 1'b0;
            m_done  <= 1'b0;
        end
    end

    wire _unused = &{1'b0, cfg_addr, cfg_addr_b, cfg_addr_out, cfg_base, cfg_base_b, cfg_base_out, cfg_stride_y,
                     cfg_stride_x, cfg_advance_y, cfg_advance_x, pass_level_unused, drained_unused,
                     credit_unused, credit_free[0]};
endmodule

`default_nettype wire
