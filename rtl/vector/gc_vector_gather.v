// SPDX-License-Identifier: Apache-2.0
// Gathers the beats of the passes of a VECTOR: of each beat of a part there is an entry, one beat per cycle. A pass
// that goes on with entries that are not written yet waits for them, so that a part has a pass every LOOP cycles at
// most. With the last pass of a part its entries leave, 4 cycles after their beats. A beat is only taken while
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
    input  wire                cfg_index,
    input  wire                cfg_single,   // one source
    input  wire                s_valid,      // a pass
    output wire                s_ready,
    input  wire [PW-1:0]       s_beats,      // less one
    input  wire [13:0]         s_tap,
    input  wire                s_b,
    input  wire                s_first,
    input  wire                s_last,
    input  wire                s_void,
    input  wire                s_beat_valid,
    output wire                s_beat_ready,
    input  wire [WORDS*EW-1:0] s_beat,
    input  wire                s_credit,
    output wire                m_take,       // a credit is taken
    output wire                m_valid,
    output wire [WORDS*AW-1:0] m_entries
);
    localparam LOOP = 5;     // cycles from an entry's read to the first one that may find it written
    localparam [PW-1:0] SPAN = LOOP - 1;
    localparam [PW-1:0] ONE  = 1;

    reg [PW-1:0] index_q;
    reg [PW-1:0] gap_q;
    wire         room = (s_first || ~(|gap_q)) && (s_credit || !s_last);
    wire         go   = s_valid && room && (s_void || s_beat_valid);
    wire         done = index_q == s_beats;

    assign s_ready      = room && (s_void || s_beat_valid) && done;
    assign s_beat_ready = s_valid && room && !s_void;
    assign m_take       = go && s_last;

    always @(posedge clk) begin
        if (go) index_q <= done ? {PW{1'b0}} : index_q + ONE;
        if (go && done)  gap_q <= s_beats < SPAN ? SPAN - s_beats : {PW{1'b0}};
        else if (|gap_q) gap_q <= gap_q - ONE;
        if (rst) begin
            index_q <= {PW{1'b0}};
            gap_q   <= {PW{1'b0}};
        end
    end

    // ---- Two cycles to read the entry, two to change it
    wire [3:0]          alive;     // at the ends of the stages
    wire [4*PW-1:0]     place;
    genvar i;
    generate
        for (i = 0; i < 4; i = i + 1) begin : g_stage
            reg          alive_q;
            reg [PW-1:0] place_q;
            assign alive[i]          = alive_q;
            assign place[i*PW +: PW] = place_q;
            if (i == 0) begin : g_first
                always @(posedge clk) begin
                    alive_q <= go && !rst;
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

    localparam CW = 14 + 4;
    wire [WORDS*EW-1:0] beat;
    wire [13:0]         tap;
    wire                b, first, void_beat, low, leaves;
    gc_delay_line #(.W(WORDS*EW), .CYCLES(2), .CLEAR(0)) u_beat (
        .clk(clk), .clear(1'b0), .s_data(s_beat), .m_data(beat)
    );
    gc_delay_line #(.W(CW), .CYCLES(2), .CLEAR(0)) u_control (
        .clk(clk), .clear(1'b0), .s_data({s_tap, s_b, s_first, s_void, s_b || cfg_single}),
        .m_data({tap, b, first, void_beat, low})
    );
    gc_delay_line #(.W(1), .CYCLES(4)) u_leaves (
        .clk(clk), .clear(rst), .s_data(m_take), .m_data(leaves)
    );
    wire [31:0] tap_bits = {18'd0, tap};

    wire [WORDS*AW-1:0] entries;
    gc_ram_sdp #(.WIDTH(WORDS*AW), .DEPTH(1 << PW), .OUT_REG(1)) u_entries (
        .clk(clk), .s_wr_en(alive[3]), .s_wr_addr(place[3*PW +: PW]), .s_wr_data(m_entries),
        .s_rd_en(go), .s_rd_addr(index_q), .m_rd_data(entries)
    );
    assign m_valid = leaves;
    generate
        for (i = 0; i < WORDS; i = i + 1) begin : g_lane
            gc_vector_lane #(.DW(DW), .AW(AW)) u_lane (
                .clk(clk), .cfg_sums(cfg_sums), .cfg_most(cfg_most), .cfg_choose(cfg_choose), .cfg_index(cfg_index),
                .s_first(first), .s_void(void_beat), .s_low(low), .s_b(b), .s_tap(tap_bits[DW-1:0]),
                .s_word(beat[i*EW +: DW]), .s_entry(entries[i*AW +: AW]), .m_entry(m_entries[i*AW +: AW])
            );
        end
    endgenerate

    wire _unused = &{1'b0, beat, tap_bits};
endmodule

`default_nettype wire
