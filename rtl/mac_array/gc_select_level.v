// SPDX-License-Identifier: Apache-2.0
// One level of the tree that picks one of N words: the lowest two bits of s_index pick within each four words.
// Registered, free running, the rest of the index leaves with the words. With LAST all words are zero but the one that
// the rest of the index names: what follows only joins them. With N <= 4 it passes everything on unchanged: the last
// level is not of this kind.
`default_nettype none

module gc_select_level #(
    parameter N       = 16,  // words, a power of two
    parameter M       = 4,   // words that remain: N > 4 ? N/4 : N
    parameter INDEX_W = 5,   // bits of s_index
    parameter REST_W  = 3,   // bits that remain: N > 4 ? INDEX_W-2 : INDEX_W
    parameter LAST    = 0,
    parameter W       = 48
) (
    input  wire               clk,
    input  wire [INDEX_W-1:0] s_index,
    input  wire [N*W-1:0]     s_data,
    output wire [REST_W-1:0]  m_index,
    output wire [M*W-1:0]     m_data
);
    genvar i;
    generate
        if (N > 4) begin : g_muxes
            reg [REST_W-1:0] index_q;

            always @(posedge clk)
                index_q <= s_index[INDEX_W-1:2];
            assign m_index = index_q;

            for (i = 0; i < M; i = i + 1) begin : g_word
                localparam [REST_W-1:0] I = i;
                wire [4*W-1:0] way = s_data[4*i*W +: 4*W];
                reg  [W-1:0]   data_q;
                always @(posedge clk) begin
                    case (s_index[1:0])
                        2'd0:    data_q <= way[0*W +: W];
                        2'd1:    data_q <= way[1*W +: W];
                        2'd2:    data_q <= way[2*W +: W];
                        default: data_q <= way[3*W +: W];
                    endcase
                    if (LAST != 0 && s_index[INDEX_W-1:2] != I) data_q <= {W{1'b0}};
                end
                assign m_data[i*W +: W] = data_q;
            end
        end else begin : g_wires
            wire _unused = &{1'b0, clk};
            assign m_index = s_index;
            assign m_data  = s_data;
        end
    endgenerate
endmodule

`default_nettype wire
