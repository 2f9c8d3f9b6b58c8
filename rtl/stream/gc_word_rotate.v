// SPDX-License-Identifier: Apache-2.0
// Rotates N words: word j of m_data is word (j + s_rot) mod N of s_data. Logic alone: a multiplexer of four words for
// each two bits of s_rot, of two for the last one if their number is odd.
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

    localparam DIGITS = (ROT_W + 1) / 2;

    genvar d;
    generate
        for (d = 0; d < DIGITS; d = d + 1) begin : g_digit
            localparam DIGIT_W = 2*d + 1 < ROT_W ? 2 : 1;
            wire [N*W-1:0] from;
            wire [N*W-1:0] to;
            if (d == 0) begin : g_first
                assign from = s_data;
            end else begin : g_next
                assign from = g_digit[d-1].to;
            end
            gc_rotate_digit #(.BITS(N*W), .STEP(W << 2*d), .DIGIT_W(DIGIT_W)) u_digit (
                .s_digit(s_rot[2*d +: DIGIT_W]), .s_data(from), .m_data(to)
            );
        end
    endgenerate

    assign m_data = g_digit[DIGITS-1].to;
endmodule

`default_nettype wire
