// SPDX-License-Identifier: Apache-2.0
// Picks one of N words, or the word s_sum, through a tree of registered 4:1 multiplexers.
// One pick per cycle, free running. A word of s_data is taken in the cycle of its s_index and leaves
// ceil(log4(N)) cycles later, one register per level; s_sum is taken by the last level, one cycle before it leaves.
// The levels behind the first are the module itself over a quarter of the words.
`default_nettype none

module column_select #(
    parameter N       = 16,  // words, a power of two, at least 2
    parameter INDEX_W = 5,   // log2(N) + 1
    parameter W       = 48
) (
    input  wire               clk,
    input  wire [INDEX_W-1:0] s_index,  // 0..N-1, N for s_sum
    input  wire [N*W-1:0]     s_data,
    input  wire [W-1:0]       s_sum,
    output wire [W-1:0]       m_data
);
    genvar i;
    generate
        if (N > 4) begin : g_level
            wire [N/4*W-1:0]   level;
            reg  [INDEX_W-3:0] index_q;

            always @(posedge clk)
                index_q <= s_index[INDEX_W-1:2];

            for (i = 0; i < N/4; i = i + 1) begin : g_mux
                wire [4*W-1:0] way = s_data[4*i*W +: 4*W];
                reg  [W-1:0]   data_q;
                always @(posedge clk)
                    case (s_index[1:0])
                        2'd0:    data_q <= way[0*W +: W];
                        2'd1:    data_q <= way[1*W +: W];
                        2'd2:    data_q <= way[2*W +: W];
                        default: data_q <= way[3*W +: W];
                    endcase
                assign level[i*W +: W] = data_q;
            end

            column_select #(
                .N      (N/4),
                .INDEX_W(INDEX_W-2),
                .W      (W)
            ) u_next (
                .clk    (clk),
                .s_index(index_q),
                .s_data (level),
                .s_sum  (s_sum),
                .m_data (m_data)
            );
        end else begin : g_last
            // Two words are repeated to four.
            wire [4*W-1:0] way = {(4/N){s_data}};
            wire [1:0]     sel = {s_index[INDEX_W-2], s_index[0]};
            reg  [W-1:0]   data_q;

            always @(posedge clk)
                if (s_index[INDEX_W-1])
                    data_q <= s_sum;
                else
                    case (sel)
                        2'd0:    data_q <= way[0*W +: W];
                        2'd1:    data_q <= way[1*W +: W];
                        2'd2:    data_q <= way[2*W +: W];
                        default: data_q <= way[3*W +: W];
                    endcase
            assign m_data = data_q;
        end
    endgenerate
endmodule

`default_nettype wire
