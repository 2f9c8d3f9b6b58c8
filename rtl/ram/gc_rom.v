// SPDX-License-Identifier: Apache-2.0
// Constant words: m_data is the word at s_addr of the cycle before. Word 0 stands in the lowest bits of WORDS. No data
// file is read, so whoever uses the core needs none.
`default_nettype none

module gc_rom #(
    parameter WIDTH = 16,
    parameter DEPTH = 256,
    parameter [WIDTH*DEPTH-1:0] WORDS = 0
) (
    input  wire                     clk,
    input  wire [$clog2(DEPTH)-1:0] s_addr,
    output reg  [WIDTH-1:0]         m_data
);
    generate
        if (DEPTH < 2) begin : g_illegal_depth
            gradcore_illegal_parameter_DEPTH_below_2 u_stop ();
        end
    endgenerate

    reg [WIDTH-1:0] memory [0:DEPTH-1];

    integer i;
    initial for (i = 0; i < DEPTH; i = i + 1) memory[i] = WORDS[i*WIDTH +: WIDTH];

    always @(posedge clk) m_data <= memory[s_addr];
endmodule

`default_nettype wire
