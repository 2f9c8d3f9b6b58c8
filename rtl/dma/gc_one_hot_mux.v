// SPDX-License-Identifier: Apache-2.0
// Selects one of N words by a one-hot code; zero when nothing is selected. Combinational.
`default_nettype none

module gc_one_hot_mux #(
    parameter N = 4,
    parameter W = 8
) (
    input  wire [N-1:0]   s_select,
    input  wire [N*W-1:0] s_data,
    output wire [W-1:0]   m_data
);
    function [W-1:0] merge(input [N-1:0] select, input [N*W-1:0] data);
        integer i;
        begin
            merge = {W{1'b0}};
            for (i = 0; i < N; i = i + 1) merge = merge | (data[i*W +: W] & {W{select[i]}});
        end
    endfunction

    assign m_data = merge(s_select, s_data);
endmodule

`default_nettype wire
