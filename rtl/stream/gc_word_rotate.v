// SPDX-License-Identifier: Apache-2.0
// Rotates N words: word j of m_data is word (j + s_rot) mod N of s_data. Combinational: a 4:1 multiplexer per word for
// every two bits of s_rot.
`default_nettype none

module gc_word_rotate #(
    parameter N = 16,  // words, a power of two, 4..64
    parameter W = 16
) (
    input  wire [$clog2(N)-1:0] s_rot,
    input  wire [N*W-1:0]       s_data,
    output wire [N*W-1:0]       m_data
);
    localparam ROT_W  = $clog2(N);
    localparam LEVELS = (ROT_W + 1) / 2;

    genvar l;
    genvar j;
    generate
        for (l = 0; l < LEVELS; l = l + 1) begin : g_level
            localparam STEP = 1 << (2*l);
            wire [1:0]     digit;
            wire [N*W-1:0] from;
            wire [N*W-1:0] to;

            if (2*l + 1 < ROT_W) begin : g_two_bits
                assign digit = s_rot[2*l +: 2];
            end else begin : g_one_bit
                assign digit = {1'b0, s_rot[2*l]};
            end

            if (l == 0) begin : g_first
                assign from = s_data;
            end else begin : g_next
                assign from = g_level[l-1].to;
            end

            for (j = 0; j < N; j = j + 1) begin : g_word
                reg [W-1:0] word;
                always @*
                    case (digit)
                        2'd0:    word = from[j*W +: W];
                        2'd1:    word = from[((j + STEP) % N)*W +: W];
                        2'd2:    word = from[((j + 2*STEP) % N)*W +: W];
                        default: word = from[((j + 3*STEP) % N)*W +: W];
                    endcase
                assign to[j*W +: W] = word;
            end
        end
    endgenerate

    assign m_data = g_level[LEVELS-1].to;
endmodule

`default_nettype wire
