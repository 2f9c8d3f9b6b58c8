// SPDX-License-Identifier: Apache-2.0
// Gathers the beats of the passes of a VECTOR: of each beat of a part there is an entry, one beat per cycle. What a
// pass brings is kept in one of 16 slots, or with cfg_pair 8 of each source, where a pass with s_kept finds it. One
// that goes on with entries or slots that are not written yet waits for them, so that a part has a pass every LOOP
// cycles at most. With a last pass of a part its entries leave, 5 cycles after their beats. A beat is only taken while
// s_credit, which says that what it may give has a place.
`default_nettype none

module gc_vector_gather #(
    parameter WORDS = 32,
    parameter DW    = 16,
    parameter EW    = 16,    // bits of a word in memory
    parameter AW    = 32,
    parameter PW    = 6
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                cfg_sums,
    input  wire                cfg_most,
    input  wire                cfg_choose,
    input  wire                cfg_pair,     // two sources
    input  wire                s_valid,      // a pass
    output wire                s_ready,
    input  wire [PW-1:0]       s_beats,      // less one
    input  wire [13:0]         s_tap,
    input  wire [3:0]          s_slot,
    input  wire                s_fill,       // it brings the first source of a pair
    input  wire                s_kept,
    input  wire                s_first,
    input  wire                s_last,
    input  wire                s_void,
    input  wire                s_again,      // the entries leave once more
    input  wire                s_quiet,      // no beat comes
    input  wire                s_anew,       // it needs nothing that the pass before leaves
    input  wire                s_beat_valid,
    output wire                s_beat_ready,
    input  wire [WORDS*EW-1:0] s_beat,
    input  wire                s_credit,
    output wire                m_take,       // a credit is taken
    output wire                m_valid,
    output wire                m_again,
    output wire [WORDS*AW-1:0] m_entries
);
    localparam LOOP = 5;     // cycles from an entry's read to the first one that may find it written
    localparam [PW-1:0] SPAN = LOOP - 1;
    localparam [PW-1:0] ONE  = 1;

    reg [PW-1:0] index_q;
    reg [PW-1:0] gap_q;
    reg          near_q;     // it is not zero
    wire         room  = (s_anew || !near_q) && (s_credit || !s_last);
    wire         go    = s_valid && room && (s_quiet || s_beat_valid);
    wire         done  = index_q == s_beats;

    assign s_ready      = room && (s_quiet || s_beat_valid) && done;
    assign s_beat_ready = s_valid && room && !s_quiet;
    assign m_take       = go && s_last;

    always @(posedge clk) begin
        if (go) index_q <= done ? {PW{1'b0}} : index_q + ONE;
        if (go && done)  gap_q <= s_beats < SPAN ? SPAN - s_beats : {PW{1'b0}};
        else if (near_q) gap_q <= gap_q - ONE;
        near_q <= go && done ? s_beats < SPAN : |gap_q[PW-1:1];
        if (rst) begin
            index_q <= {PW{1'b0}};
            gap_q   <= {PW{1'b0}};
            near_q  <= 1'b0;
        end
    end

    // ---- Three cycles to choose the words, meanwhile two to read the entry, then two to change it
    localparam STAGES = 5;
    wire [STAGES-1:0]    alive;     // at the ends of the stages
    wire [STAGES*PW-1:0] place;
    genvar i;
    generate
        for (i = 0; i < STAGES; i = i + 1) begin : g_stage
            reg          alive_q;
            reg [PW-1:0] place_q;
            assign alive[i]          = alive_q;
            assign place[i*PW +: PW] = place_q;
            if (i == 0) begin : g_first
                always @(posedge clk) begin
                    alive_q <= go && !s_fill && !rst;
                    place_q <= index_q;
                end
            end else begin : g_next
                always @(posedge clk) begin
                    alive_q <= alive[i-1] && !rst;
                    place_q <= place[(i-1)*PW +: PW];
                end
            end
        end
    endgenerate

    // ---- What is kept: the lower memory has the first source of a pair, or of four rows of the map the first two
    reg                 keep_low_q, keep_high_q;
    reg  [PW+2:0]       keep_at_q;
    wire [PW+2:0]       at   = {s_slot[2:0], index_q};
    wire                here = go && !s_quiet;
    wire                high = cfg_pair ? !s_fill : s_slot[3];
    wire [WORDS*EW-1:0] beat_kept, kept_low, kept_high;
    gc_delay_line #(.W(WORDS*EW), .CYCLES(1), .CLEAR(0)) u_keep (
        .clk(clk), .clear(1'b0), .s_data(s_beat), .m_data(beat_kept)
    );
    always @(posedge clk) begin
        keep_at_q   <= at;
        keep_low_q  <= here && !high && !rst;
        keep_high_q <= here && high && !rst;
    end
    gc_ram_sdp #(.WIDTH(WORDS*EW), .DEPTH(8 << PW), .OUT_REG(1)) u_low (
        .clk(clk), .s_wr_en(keep_low_q), .s_wr_addr(keep_at_q), .s_wr_data(beat_kept),
        .s_rd_en(go), .s_rd_addr(at), .m_rd_data(kept_low)
    );
    gc_ram_sdp #(.WIDTH(WORDS*EW), .DEPTH(8 << PW), .OUT_REG(1)) u_high (
        .clk(clk), .s_wr_en(keep_high_q), .s_wr_addr(keep_at_q), .s_wr_data(beat_kept),
        .s_rd_en(go), .s_rd_addr(at), .m_rd_data(kept_high)
    );

    localparam CW = 14 + 5, RW = 14 + 3;
    wire [WORDS*EW-1:0] beat;
    wire [13:0]         early_tap, tap;
    wire                early_first, early_void, early_again, kept, from_high, first, void_beat, again;
    wire [31:0]         early_bits = {18'd0, early_tap};
    wire [31:0]         tap_bits   = {18'd0, tap};
    gc_delay_line #(.W(WORDS*EW), .CYCLES(1), .CLEAR(0)) u_beat (
        .clk(clk), .clear(1'b0), .s_data(beat_kept), .m_data(beat)
    );
    gc_delay_line #(.W(CW), .CYCLES(2), .CLEAR(0)) u_control (
        .clk(clk), .clear(1'b0), .s_data({s_tap, s_first, s_void, s_again, s_kept, s_slot[3]}),
        .m_data({early_tap, early_first, early_void, early_again, kept, from_high})
    );
    gc_delay_line #(.W(RW), .CYCLES(1), .CLEAR(0)) u_late (
        .clk(clk), .clear(1'b0), .s_data({early_tap, early_first, early_void, early_again}),
        .m_data({tap, first, void_beat, again})
    );
    gc_delay_line #(.W(2), .CYCLES(STAGES)) u_leaves (
        .clk(clk), .clear(rst), .s_data({m_take, m_take && s_again}), .m_data({m_valid, m_again})
    );

    // ---- The entries
    wire [WORDS*AW-1:0] entries;
    gc_ram_sdp #(.WIDTH(WORDS*AW), .DEPTH(1 << PW), .OUT_REG(1)) u_entries (
        .clk(clk), .s_wr_en(alive[STAGES-1]), .s_wr_addr(place[(STAGES-1)*PW +: PW]), .s_wr_data(m_entries),
        .s_rd_en(alive[0]), .s_rd_addr(place[0 +: PW]), .m_rd_data(entries)
    );
    generate
        for (i = 0; i < WORDS; i = i + 1) begin : g_lane
            wire [DW-1:0] new_word  = beat[i*EW +: DW];
            wire [DW-1:0] low_word  = kept_low[i*EW +: DW];
            wire [DW-1:0] high_word = kept_high[i*EW +: DW];
            wire [DW-1:0] second    = kept ? high_word : new_word;
            reg  [DW-1:0] word_q, word_b_q;
            reg           met_q;
            always @(posedge clk) begin
                word_q   <= cfg_pair || (kept && !from_high) ? low_word : second;
                word_b_q <= second;
                met_q    <= second == early_bits[DW-1:0];
            end
            gc_vector_lane #(.DW(DW), .AW(AW)) u_lane (
                .clk(clk), .cfg_sums(cfg_sums), .cfg_most(cfg_most), .cfg_choose(cfg_choose), .cfg_pair(cfg_pair),
                .s_first(first), .s_void(void_beat), .s_again(again), .s_tap(tap_bits[DW-1:0]),
                .s_word(word_q), .s_word_b(word_b_q), .s_met(met_q),
                .s_entry(entries[i*AW +: AW]), .m_entry(m_entries[i*AW +: AW])
            );
        end
    endgenerate

    wire _unused = &{1'b0, beat, kept_low, kept_high, early_bits, tap_bits};
endmodule

`default_nettype wire
