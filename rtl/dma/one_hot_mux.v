// SPDX-License-Identifier: Apache-2.0
// Selects one of N words by a one-hot code; zero when nothing is selected. Combinational.
`default_nettype none

module one_hot_mux #(
    parameter N = 4,
    parameter W = 8
) (
    input  wire [N-1:0]   s_select,
    input  wire [N*W-1:0] s_data,
    output wire [W-1:0]   m_data
);
    wire [W-1:0] merged [0:N];

    assign merged[0] = {W{1'b0}};
    assign m_data    = merged[N];

    genvar i;
    generate
        for (i = 0; i < N; i = i + 1) begin : g_word
            assign merged[i+1] = merged[i] | (s_data[i*W +: W] & {W{s_select[i]}});
        end
    endgenerate
endmodule

`default_nettype wire
