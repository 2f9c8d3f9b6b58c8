// SPDX-License-Identifier: Apache-2.0
// Writes words of LANES data words to the DRAM side of an instruction (doc/instructions.md): sign-extends them to
// memory words, packs them into beats or takes them apart, and writes a strided descriptor. With PACKED and cfg_packed
// a word is LANES bits in memory, bit 0 of each lane. A word per cycle where the port takes it. `start` begins a
// transfer; its fields, cfg_*, are stable until m_done, which pulses when the memory has confirmed the last burst.
// sts_bad: the words do not just fill the beats. They end before the last burst, or are left over at m_done.
`default_nettype none

module gc_word_writer #(
    parameter LANES  = 64,
    parameter DW     = 16,
    parameter MEM_W  = 512,
    parameter ADDR_W = 48,
    parameter PACKED = 0,     // 1: cfg_packed counts
    parameter BURST  = 32     // beats of a burst, at most
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
    input  wire                s_valid,
    output wire                s_ready,
    input  wire [LANES*DW-1:0] s_data,
    output wire                m_done,
    output wire                m_last,       // the word is the transfer's last one
    output wire                sts_open,     // words to come
    output wire                sts_bad,
    output wire                m_wreq_valid,
    input  wire                m_wreq_ready,
    output wire [ADDR_W-1:0]   m_wreq_addr,
    output wire [7:0]          m_wreq_len,
    output wire                m_wdat_valid,
    input  wire                m_wdat_ready,
    output wire [MEM_W-1:0]    m_wdat_data,
    output wire [MEM_W/8-1:0]  m_wdat_strb,
    output wire                m_wdat_last,
    input  wire                s_wrsp_valid
);
    localparam EW     = DW == 8 ? 8 : 16;    // bits of a word in memory
    localparam WORD_W = LANES*EW;

    wire               desc_valid;
    wire               desc_ready;
    wire [ADDR_W-1:0]  desc_addr;
    wire               beat_valid;
    wire               beat_ready;
    wire [MEM_W-1:0]   beat_data;
    wire [WORD_W-1:0]  word;
    wire               starved;
    wire               empty;

    gc_transfer_start #(.ADDR_W(ADDR_W)) u_start (
        .clk(clk), .rst(rst), .start(start),
        .cfg_addr(cfg_addr), .cfg_base(cfg_base), .cfg_base_sel(cfg_base_sel), .cfg_words(cfg_n_words),
        .m_valid(desc_valid), .m_ready(desc_ready), .m_addr(desc_addr),
        .s_word(s_valid && s_ready), .m_open(sts_open), .m_last(m_last)
    );
    assign sts_bad = (m_done && (sts_open || beat_valid || !empty)) || (starved && !sts_open && !beat_valid);

    // Beats of words, and with PACKED beats of bits beside them.
    wire             bits = cfg_packed && PACKED != 0;
    wire             word_ready, full_valid;
    wire [MEM_W-1:0] full_data;
    genvar i;
    generate
        for (i = 0; i < LANES; i = i + 1) begin : g_lane
            wire [DW-1:0] value = s_data[i*DW +: DW];
            if (EW > DW) begin : g_extend
                assign word[i*EW +: EW] = {{(EW-DW){value[DW-1]}}, value};
            end else begin : g_same
                assign word[i*EW +: EW] = value;
            end
        end
        if (WORD_W >= MEM_W) begin : g_wide
            gc_stream_downsize #(.WIDTH(MEM_W), .RATIO(WORD_W/MEM_W)) u_unpack (
                .clk(clk), .rst(rst),
                .s_valid(s_valid && !bits), .s_ready(word_ready), .s_data(word),
                .m_valid(full_valid), .m_ready(beat_ready), .m_flush(1'b0), .m_data(full_data)
            );
        end else begin : g_narrow
            wire pack_m_last_unused;
            wire [$clog2(MEM_W/WORD_W):0] pack_m_words_unused;
            gc_stream_upsize #(.WIDTH(WORD_W), .RATIO(MEM_W/WORD_W)) u_pack (
                .clk(clk), .rst(rst),
                .s_valid(s_valid && !bits), .s_ready(word_ready), .s_last(m_last), .s_data(word),
                .m_valid(full_valid), .m_ready(beat_ready), .m_data(full_data),
                .m_last(pack_m_last_unused), .m_words(pack_m_words_unused)
            );
            wire _unused = &{1'b0, pack_m_last_unused, pack_m_words_unused};
        end
        if (PACKED != 0) begin : g_bits
            wire             bits_ready, bits_valid;
            wire [LANES-1:0] lane;
            wire [MEM_W-1:0] bits_data;
            wire             bits_m_last_unused;
            wire [$clog2(MEM_W/LANES):0] bits_m_words_unused;
            for (i = 0; i < LANES; i = i + 1) begin : g_bit
                assign lane[i] = s_data[i*DW];
            end
            gc_stream_upsize #(.WIDTH(LANES), .RATIO(MEM_W/LANES)) u_bits (
                .clk(clk), .rst(rst),
                .s_valid(s_valid && bits), .s_ready(bits_ready), .s_last(m_last), .s_data(lane),
                .m_valid(bits_valid), .m_ready(beat_ready), .m_data(bits_data),
                .m_last(bits_m_last_unused), .m_words(bits_m_words_unused)
            );
            assign s_ready    = bits ? bits_ready : word_ready;
            assign beat_valid = full_valid || bits_valid;
            assign beat_data  = bits ? bits_data : full_data;
            wire _unused = &{1'b0, bits_m_last_unused, bits_m_words_unused};
        end else begin : g_words
            assign s_ready    = word_ready;
            assign beat_valid = full_valid;
            assign beat_data  = full_data;
        end
    endgenerate

    gc_dma_writer #(.ADDR_W(ADDR_W), .MEM_W(MEM_W), .MAX_BURST(BURST)) u_dma (
        .clk(clk), .rst(rst),
        .s_desc_valid(desc_valid), .s_desc_ready(desc_ready), .s_addr(desc_addr),
        .s_run_beats(cfg_run_beats),
        .s_n1(cfg_n1), .s_stride1(cfg_stride1),
        .s_n2(cfg_n2), .s_stride2(cfg_stride2),
        .s_valid(beat_valid), .s_ready(beat_ready), .s_data(beat_data), .s_strb({(MEM_W/8){1'b1}}),
        .m_done(m_done), .sts_starved(starved), .sts_empty(empty),
        .m_wreq_valid(m_wreq_valid), .m_wreq_ready(m_wreq_ready), .m_wreq_addr(m_wreq_addr), .m_wreq_len(m_wreq_len),
        .m_wdat_valid(m_wdat_valid), .m_wdat_ready(m_wdat_ready),
        .m_wdat_data(m_wdat_data), .m_wdat_strb(m_wdat_strb), .m_wdat_last(m_wdat_last),
        .s_wrsp_valid(s_wrsp_valid)
    );
endmodule

`default_nettype wire
