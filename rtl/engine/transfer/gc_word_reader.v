// SPDX-License-Identifier: Apache-2.0
// Reads the DRAM side of an instruction (doc/instructions.md) as words of LANES data words: strided descriptor, beats packed to or taken apart into
// words, memory words narrowed to DW bits. With PACKED and cfg_packed a word is LANES bits in memory; the others of each lane are not defined. A word per cycle where the port delivers. `start` begins a transfer with a stable instruction; a
// new transfer may start once all words of the last have been taken. sts_bad when the beats do not hold just the words: they end before
// the last word, or the last word leaves some behind.
`default_nettype none

module gc_word_reader #(
    parameter LANES  = 64,
    parameter DW     = 16,
    parameter MEM_W  = 512,
    parameter ADDR_W = 48,
    parameter PACKED = 0,     // 1: cfg_packed counts
    parameter BEATS  = 128    // in flight or waiting, at most
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                start,
    input  wire [1023:0]       s_instruction,
    input  wire                cfg_packed,   // stable from start to the last word
    input  wire [47:0]         cfg_addr,
    input  wire [4*ADDR_W-1:0] cfg_base,
    output wire                m_rreq_valid,
    input  wire                m_rreq_ready,
    output wire [ADDR_W-1:0]   m_rreq_addr,
    output wire [7:0]          m_rreq_len,
    input  wire                s_rdat_valid,
    input  wire [MEM_W-1:0]    s_rdat_data,
    input  wire                s_rdat_last,
    output wire                m_valid,
    input  wire                m_ready,
    output wire [LANES*DW-1:0] m_data,
    output wire                m_last,
    output wire                sts_open,     // words to come
    output wire                sts_bad
);
    localparam EW     = DW == 8 ? 8 : 16;    // bits of a word in memory
    localparam WORD_W = LANES*EW;

    wire               desc_valid;
    wire [ADDR_W-1:0]  desc_addr;
    wire               desc_ready;
    wire               beat_valid;
    wire               beat_ready;
    wire [MEM_W-1:0]   beat_data;
    wire [WORD_W-1:0]  word;
    wire               drained;

    gc_transfer_start #(.ADDR_W(ADDR_W)) u_start (
        .clk(clk), .rst(rst), .start(start), .cfg_addr(cfg_addr), .cfg_base(cfg_base), .cfg_base_sel(s_instruction[2*16+8 +: 2]),
        .cfg_words(s_instruction[25*16 +: 32]), .m_valid(desc_valid), .m_ready(desc_ready), .m_addr(desc_addr),
        .s_word(m_valid && m_ready), .m_open(sts_open), .m_last(m_last)
    );
    gc_dma_reader #(.ADDR_W(ADDR_W), .MEM_W(MEM_W), .DEPTH(BEATS), .MAX_BURST(BEATS/4)) u_dma (
        .clk(clk), .rst(rst), .s_valid(desc_valid), .s_ready(desc_ready), .s_addr(desc_addr),
        .s_run_beats(s_instruction[6*16 +: 32]), .s_n1(s_instruction[8*16 +: 16]), .s_stride1(s_instruction[9*16 +: 32]),
        .s_n2(s_instruction[11*16 +: 16]), .s_stride2(s_instruction[12*16 +: 32]),
        .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready), .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len),
        .s_rdat_valid(s_rdat_valid), .s_rdat_data(s_rdat_data),
        .m_valid(beat_valid), .m_ready(beat_ready), .m_data(beat_data), .sts_drained(drained)
    );
    assign sts_bad = m_valid ? m_ready && m_last && !drained : sts_open && !desc_valid && drained;

    // Words of words, and with PACKED words of bits beside them.
    wire bits = cfg_packed && PACKED != 0;
    wire word_valid;
    wire word_ready;
    genvar i;
    generate
        if (WORD_W >= MEM_W) begin : g_wide
            wire pack_m_last_unused;
            wire [$clog2(WORD_W/MEM_W):0] pack_m_words_unused;
            gc_stream_upsize #(.WIDTH(MEM_W), .RATIO(WORD_W/MEM_W)) u_pack (
                .clk(clk), .rst(rst), .s_valid(beat_valid && !bits), .s_ready(word_ready), .s_last(1'b0), .s_data(beat_data),
                .m_valid(word_valid), .m_ready(m_ready), .m_last(pack_m_last_unused), .m_words(pack_m_words_unused), .m_data(word)
            );
            wire _unused = &{1'b0, pack_m_last_unused, pack_m_words_unused};
        end else begin : g_narrow
            gc_stream_downsize #(.WIDTH(WORD_W), .RATIO(MEM_W/WORD_W)) u_unpack (
                .clk(clk), .rst(rst), .s_valid(beat_valid && !bits), .s_ready(word_ready), .s_data(beat_data),
                .m_valid(word_valid), .m_ready(m_ready), .m_flush(m_last), .m_data(word)
            );
        end
        if (PACKED != 0) begin : g_bits
            wire             bits_valid;
            wire             bits_ready;
            wire [LANES-1:0] lane;
            gc_stream_downsize #(.WIDTH(LANES), .RATIO(MEM_W/LANES)) u_bits (
                .clk(clk), .rst(rst), .s_valid(beat_valid && bits), .s_ready(bits_ready), .s_data(beat_data),
                .m_valid(bits_valid), .m_ready(m_ready), .m_flush(m_last), .m_data(lane)
            );
            assign beat_ready = bits ? bits_ready : word_ready;
            assign m_valid    = word_valid || bits_valid;
            for (i = 0; i < LANES; i = i + 1) begin : g_lane
                assign m_data[i*DW]           = bits ? lane[i] : word[i*EW];
                assign m_data[i*DW+1 +: DW-1] = word[i*EW+1 +: DW-1];
            end
        end else begin : g_words
            assign beat_ready = word_ready;
            assign m_valid    = word_valid;
            for (i = 0; i < LANES; i = i + 1) begin : g_lane
                assign m_data[i*DW +: DW] = word[i*EW +: DW];
            end
        end
    endgenerate

    wire _unused = &{1'b0, s_rdat_last, s_instruction, word};
endmodule

`default_nettype wire
