// SPDX-License-Identifier: Apache-2.0
// Rotates N words: word j of m_data is word (j + s_rot) mod N of s_data. Logic alone: one multiplexer of two words for
// each bit of s_rot. A tool joins two bits where its LUTs have six inputs.
`default_nettype none

module gc_word_rotate #(
    parameter N = 16,  // words, a power of two
    parameter W = 16
) (
    input  wire [$clog2(N)-1:0] s_rot,
    input  wire [N*W-1:0]       s_data,
    output wire [N*W-1:0]       m_data
);
    localparam ROT_W = $clog2(N);

    generate
        if (N < 2 || (N & (N-1)) != 0) begin : g_illegal_n
            gradcore_illegal_parameter_N_must_be_a_power_of_two_above_1 u_stop ();
        end
        if (W < 1) begin : g_illegal_w
            gradcore_illegal_parameter_W_below_1 u_stop ();
        end
    endgenerate

    genvar b;
    generate
        for (b = 0; b < ROT_W; b = b + 1) begin : g_bit
            localparam MOVE = W << b;
            wire [N*W-1:0] from;
            wire [N*W-1:0] to = s_rot[b] ? {from[MOVE-1:0], from[N*W-1:MOVE]} : from;
            if (b == 0) begin : g_first
                assign from = s_data;
            end else begin : g_next
                assign from = g_bit[b-1].to;
            end
        end
    endgenerate

    assign m_data = g_bit[ROT_W-1].to;
endmodule

`default_nettype wire
