// SPDX-License-Identifier: Apache-2.0
// Event counters of 48 bits: counter n adds one in every cycle with s_event[n] and two in every cycle with s_twice[n],
// which may be the same. All are cleared by `clear` and rst.
// The lowest 8 bits of a counter and their carry are registers. The rest is a word in memory: it takes the carry when
// its turn comes, every 64 cycles, before the low bits can overflow again (85 cycles). After a clear the first turn
// writes zeros; until its end the words read as zero.
// Read through a 64-bit window: reading the low word of a counter returns it and keeps the high word for the next
// read, so that a pair of reads is consistent while the counter runs. Data come in the cycle after s_read.
`default_nettype none

module gc_counters #(
    parameter N = 52                // 1..64
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         clear,
    input  wire [N-1:0] s_event,
    input  wire [N-1:0] s_twice,
    input  wire         s_read,
    input  wire         s_high,     // the high word of the counter read last
    input  wire [5:0]   s_index,
    output wire [31:0]  m_data
);
    localparam LOW_W = 8, WORD_W = 40;

    generate
        if (N < 1 || N > 64) begin : g_illegal_n
            gradcore_illegal_parameter_N_outside_1_to_64 u_stop ();
        end
    endgenerate

    // A turn: in the first cycle the word and its carry are read, in the second the word is written.
    reg  [5:0]        turn_q, turned_q;
    reg               first_q, first_turned_q;      // turns since the clear
    reg               more_q;
    wire [WORD_W-1:0] old;
    wire [WORD_W-1:0] sum  = old + {{(WORD_W-1){1'b0}}, more_q};
    wire [WORD_W-1:0] word = first_turned_q ? {WORD_W{1'b0}} : sum;

    wire [LOW_W-1:0]  low [0:63];
    wire [63:0]       carry;

    genvar n;
    generate
        for (n = 0; n < 64; n = n + 1) begin : g_counter
            if (n < N) begin : g_used
                localparam [5:0] ME = n;
                reg  [LOW_W-1:0] low_q;
                reg              carry_q;
                wire [LOW_W:0]   next = {1'b0, low_q} + {{(LOW_W-1){1'b0}}, s_twice[n], s_event[n]};
                always @(posedge clk) begin
                    low_q   <= next[LOW_W-1:0];
                    carry_q <= next[LOW_W] || (carry_q && !(more_q && turned_q == ME));
                    if (rst || clear) {carry_q, low_q} <= {(LOW_W+1){1'b0}};
                end
                assign low[n]   = low_q;
                assign carry[n] = carry_q;
            end else begin : g_unused
                assign low[n]   = {LOW_W{1'b0}};
                assign carry[n] = 1'b0;
            end
        end
    endgenerate

    always @(posedge clk) begin
        turn_q         <= turn_q + 6'd1;
        turned_q       <= turn_q;
        first_q        <= first_q && turn_q != 6'd63;
        first_turned_q <= first_q;
        more_q         <= carry[turn_q];
        if (rst || clear) begin
            turn_q  <= 6'd0;
            first_q <= 1'b1;
        end
    end

    gc_ram_sdp #(.WIDTH(WORD_W), .DEPTH(64)) u_turns (
        .clk(clk), .s_wr_en(1'b1), .s_wr_addr(turned_q), .s_wr_data(word), .s_rd_en(1'b1), .s_rd_addr(turn_q),
        .m_rd_data(old)
    );

    // Reading: word, carry and low bits of one moment, joined a cycle later.
    reg                asked_q, high_word_q, zero_q, up_q;
    reg  [LOW_W-1:0]   low_q;
    reg  [15:0]        high_q;
    wire [WORD_W-1:0]  kept;
    wire [WORD_W-1:0]  count = (zero_q ? {WORD_W{1'b0}} : kept) + {{(WORD_W-1){1'b0}}, up_q};

    gc_ram_sdp #(.WIDTH(WORD_W), .DEPTH(64)) u_words (
        .clk(clk), .s_wr_en(1'b1), .s_wr_addr(turned_q), .s_wr_data(word), .s_rd_en(s_read && !s_high),
        .s_rd_addr(s_index), .m_rd_data(kept)
    );

    assign m_data = high_word_q ? {16'd0, high_q} : {count[WORD_W-17:0], low_q};

    always @(posedge clk) begin
        asked_q <= s_read && !s_high;
        if (s_read) high_word_q <= s_high;
        if (s_read && !s_high) begin
            zero_q <= first_q || first_turned_q;
            up_q   <= carry[s_index];
            low_q  <= low[s_index];
        end
        if (asked_q) high_q <= count[WORD_W-1 -: 16];
        if (rst) high_q <= 16'd0;
    end
endmodule

`default_nettype wire
