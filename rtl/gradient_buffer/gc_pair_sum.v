// SPDX-License-Identifier: Apache-2.0
// One level of an adder tree: adds N signed words in pairs, exactly, with one more bit; a single word is
// sign-extended. One cycle latency; with `enable` low the sums stay.
`default_nettype none

module gc_pair_sum #(
    parameter N = 4,   // words, a power of two
    parameter M = 2,   // sums: N > 1 ? N/2 : 1
    parameter W = 48
) (
    input  wire               clk,
    input  wire               enable,
    input  wire [N*W-1:0]     s_data,
    output wire [M*(W+1)-1:0] m_sum
);
    genvar i;
    generate
        for (i = 0; i < M; i = i + 1) begin : g_sum
            wire [W-1:0] a = s_data[i*W +: W];
            wire [W:0]   b;
            reg  [W:0]   sum_q;

            if (N > 1) begin : g_pair
                wire [W-1:0] word = s_data[(M+i)*W +: W];
                assign b = {word[W-1], word};
            end else begin : g_single
                assign b = {(W+1){1'b0}};
            end

            always @(posedge clk)
                if (enable)
                    sum_q <= {a[W-1], a} + b;
            assign m_sum[i*(W+1) +: W+1] = sum_q;
        end
    endgenerate
endmodule

`default_nettype wire
