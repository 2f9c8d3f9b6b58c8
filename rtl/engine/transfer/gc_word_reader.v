// SPDX-License-Identifier: Apache-2.0
// Reads the DRAM side of an instruction (doc/instructions.md) as words of LANES data words. The beats of a strided
// descriptor are packed to words or taken apart into them; each memory word is narrowed to DW bits. A word per cycle
// where the port delivers. With PACKED and cfg_packed a word is LANES bits in memory, bit 0 of each lane; what is in
// the other bits is not defined. `start` begins a transfer; its fields, cfg_*, are stable until the end. A new transfer
// may start once all words of the last have been taken. sts_bad: the beats do not hold just the words. They end before
// the last word, or the last word leaves some behind.
`default_nettype none

module gc_word_reader #(
    parameter LANES  = 64,
    parameter DW     = 16,
    parameter MEM_W  = 512,
    parameter ADDR_W = 48,
    parameter PACKED = 0,     // 1: cfg_packed counts
    parameter BURST  = 32,    // beats of a burst, at most
    parameter BEATS  = BURST > 32 ? 4*BURST : 128    // in flight or waiting, at most
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                start,
    input  wire [47:0]         cfg_addr,
    input  wire [4*ADDR_W-1:0] cfg_base,
    input  wire [1:0]          cfg_base_sel,
    input  wire [31:0]         cfg_run_beats,
    input  wire [15:0]         cfg_n1,
    input  wire [31:0]         cfg_stride1,
    input  wire [15:0]         cfg_n2,
    input  wire [31:0]         cfg_stride2,
    input  wire [31:0]         cfg_n_words,
    input  wire                cfg_packed,
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
        .clk(clk), .rst(rst), .start(start),
        .cfg_addr(cfg_addr), .cfg_base(cfg_base), .cfg_base_sel(cfg_base_sel), .cfg_words(cfg_n_words),
        .m_valid(desc_valid), .m_ready(desc_ready), .m_addr(desc_addr),
        .s_word(m_valid && m_ready), .m_open(sts_open), .m_last(m_last)
    );
    gc_dma_reader #(.ADDR_W(ADDR_W), .MEM_W(MEM_W), .MAX_BURST(BURST), .DEPTH(BEATS)) u_dma (
        .clk(clk), .rst(rst),
        .s_valid(desc_valid), .s_ready(desc_ready), .s_addr(desc_addr),
        .s_run_beats(cfg_run_beats),
        .s_n1(cfg_n1), .s_stride1(cfg_stride1),
        .s_n2(cfg_n2), .s_stride2(cfg_stride2),
        .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready), .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len),
        .s_rdat_valid(s_rdat_valid), .s_rdat_data(s_rdat_data),
        .m_valid(beat_valid), .m_ready(beat_ready), .m_data(beat_data), .sts_drained(drained)
    );
    wire   found;     // a word, or what the last one has left of its beat
    assign sts_bad = found ? m_ready && m_last && !drained : sts_open && !desc_valid && drained;

    // Words of words, and with PACKED words of bits beside them.
    wire bits = cfg_packed && PACKED != 0;
    wire word_valid, word_ready;
    genvar i;
    generate
        if (WORD_W >= MEM_W) begin : g_wide
            wire pack_m_last_unused;
            wire [$clog2(WORD_W/MEM_W):0] pack_m_words_unused;
            gc_stream_upsize #(.WIDTH(MEM_W), .RATIO(WORD_W/MEM_W)) u_pack (
                .clk(clk), .rst(rst),
                .s_valid(beat_valid && !bits), .s_ready(word_ready), .s_last(1'b0), .s_data(beat_data),
                .m_valid(word_valid), .m_ready(m_ready), .m_data(word),
                .m_last(pack_m_last_unused), .m_words(pack_m_words_unused)
            );
            wire _unused = &{1'b0, pack_m_last_unused, pack_m_words_unused};
        end else begin : g_narrow
            gc_stream_downsize #(.WIDTH(WORD_W), .RATIO(MEM_W/WORD_W)) u_unpack (
                .clk(clk), .rst(rst),
                .s_valid(beat_valid && !bits), .s_ready(word_ready), .s_data(beat_data),
                .m_valid(word_valid), .m_ready(m_ready), .m_flush(m_last), .m_data(word)
            );
        end
        if (PACKED != 0) begin : g_bits
            wire             bits_valid, bits_ready;
            wire [LANES-1:0] lane;
            // What the last word leaves of its beat goes with the next start: a flush would be a long path to the DMA.
            gc_stream_downsize #(.WIDTH(LANES), .RATIO(MEM_W/LANES)) u_bits (
                .clk(clk), .rst(rst || start),
                .s_valid(beat_valid && bits), .s_ready(bits_ready), .s_data(beat_data),
                .m_valid(bits_valid), .m_ready(m_ready), .m_flush(1'b0), .m_data(lane)
            );
            assign beat_ready = bits ? bits_ready : word_ready;
            assign found      = word_valid || bits_valid;
            assign m_valid    = word_valid || (bits_valid && sts_open);
            for (i = 0; i < LANES; i = i + 1) begin : g_lane
                assign m_data[i*DW]           = bits ? lane[i] : word[i*EW];
                assign m_data[i*DW+1 +: DW-1] = word[i*EW+1 +: DW-1];
            end
        end else begin : g_words
            assign beat_ready = word_ready;
            assign found      = word_valid;
            assign m_valid    = word_valid;
            for (i = 0; i < LANES; i = i + 1) begin : g_lane
                assign m_data[i*DW +: DW] = word[i*EW +: DW];
            end
        end
    endgenerate

    wire _unused = &{1'b0, s_rdat_last, word};
endmodule

`default_nettype wire
