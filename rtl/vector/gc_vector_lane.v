// SPDX-License-Identifier: Apache-2.0
// One word of a beat meets what has been gathered of its place: an entry of AW bits, 2 cycles latency, free running.
// The entry holds a sum (cfg_sums), or two words: of windows the largest and the number of its tap (cfg_most), else
// those of both sources. s_first: the entry begins anew; s_again: it stays.
`default_nettype none

module gc_vector_lane #(
    parameter DW = 16,
    parameter AW = 32     // at least 2*DW and DW + 14
) (
    input  wire          clk,
    input  wire          cfg_sums,
    input  wire          cfg_most,
    input  wire          cfg_choose,   // with cfg_sums: the words whose index is met
    input  wire          cfg_pair,
    input  wire          s_first,
    input  wire          s_void,       // there is no word: zero, of windows no tap
    input  wire          s_again,
    input  wire [DW-1:0] s_tap,
    input  wire [DW-1:0] s_word,       // signed
    input  wire [DW-1:0] s_word_b,     // of the second source
    input  wire          s_met,        // it is the number of the tap
    input  wire [AW-1:0] s_entry,
    output reg  [AW-1:0] m_entry
);
    localparam SW = DW + 14;           // bits of a sum
    localparam [DW-1:0] ONE = 1;

    generate
        if (DW < 8 || DW > 16) begin : g_illegal_dw
            gradcore_illegal_parameter_DW_must_be_8_to_16 u_stop ();
        end
        if (AW < 2*DW || AW < DW + 14) begin : g_illegal_aw
            gradcore_illegal_parameter_AW_too_small u_stop ();
        end
    endgenerate

    // ---- First cycle: compare, and add the low halves
    wire [SW-1:0] old  = s_entry[SW-1:0] & {SW{!s_first}};
    wire          adds = !cfg_choose || s_met;
    wire [SW-1:0] word = {{14{s_word[DW-1]}}, s_word} & {SW{adds}};
    localparam LOW = SW/2;

    reg [LOW:0]      low_q;
    reg [SW-LOW-1:0] old_q;
    reg [SW-LOW-1:0] more_q;
    reg              better_q;
    reg              void_q;
    reg [DW-1:0]     word_q;
    reg [DW-1:0]     word_b_q;
    reg [DW-1:0]     tap_q;
    reg [2*DW-1:0]   pair_q;

    always @(posedge clk) begin
        low_q     <= {1'b0, old[LOW-1:0]} + {1'b0, word[LOW-1:0]};
        old_q     <= old[SW-1:LOW];
        more_q    <= word[SW-1:LOW];
        better_q  <= s_first || (!s_again && $signed(s_word) > $signed(s_entry[2*DW-1:DW]));
        void_q    <= s_void;
        word_q    <= s_word;
        word_b_q  <= s_word_b;
        tap_q     <= s_tap;
        pair_q    <= s_entry[2*DW-1:0];
    end

    // ---- Second cycle
    wire [SW-LOW-1:0] high = old_q + more_q + {{(SW-LOW-1){1'b0}}, low_q[LOW]};
    reg  [AW-1:0]     entry;
    always @* begin
        entry = {AW{1'b0}};
        if (void_q) begin
            entry[DW-1:0] = {DW{cfg_most}};
        end else if (cfg_sums) begin
            entry[SW-1:0] = {high, low_q[LOW-1:0]};
        end else if (cfg_most) begin
            entry[2*DW-1:0] = better_q ? {word_q, tap_q} : pair_q;
        end else begin
            entry[2*DW-1:0] = cfg_pair ? {word_q, word_b_q} : {ONE, word_q};
        end
    end
    always @(posedge clk) m_entry <= entry;
endmodule

`default_nettype wire
