// SPDX-License-Identifier: Apache-2.0
// Lines of an access on one axis: the pixel bits of each lane's s_line, and how many blocks of 2^s_fold_s lines the
// lane's line lies behind the one of lane 0. Source: doc/architecture.md, "Accesses".
`default_nettype none

module gc_skew_lines #(
    parameter GRID = 8
) (
    input  wire              clk,
    input  wire              s_valid,
    input  wire [3*GRID-1:0] s_line,
    input  wire [2:0]        s_d,        // displacement of lane 0
    input  wire [1:0]        s_fold_a,
    input  wire [1:0]        s_fold_s,
    output reg  [3*GRID-1:0] m_line,
    output reg  [3*GRID-1:0] m_blocks
);
    localparam LOW_BITS = GRID - 1;
    localparam [2:0] LOW = LOW_BITS[2:0];

    wire [2:0]        pixel = LOW & (3'b111 >> (2'd3 - s_fold_a));     // mask of the pixel bits
    wire [3*GRID-1:0] line  = s_line & {GRID{pixel}};

    always @(posedge clk) if (s_valid) m_line <= line;

    genvar i;
    generate
        for (i = 0; i < GRID; i = i + 1) begin : g_line
            always @(posedge clk) if (s_valid) m_blocks[3*i +: 3] <= blocks(s_d, line[3*i +: 3], s_fold_s);
        end
    endgenerate

    // blocks of 2^fold lines from that of lane 0 to that of lane l, 0..7: ((d modulo 2^fold) + l) >> fold. By its
    // carries, as an adder between two choices is the slower way.
    function [2:0] blocks(input [2:0] d, input [2:0] l, input [1:0] fold);
        reg c0, c1, c2;
        begin
            c0 = d[0] & l[0];
            c1 = (d[1] & l[1]) | (c0 & (d[1] | l[1]));
            c2 = (d[2] & l[2]) | (c1 & (d[2] | l[2]));
            case (fold)
                2'd0:    blocks = l;
                2'd1:    blocks = {l[2] & l[1] & c0, l[2] ^ (l[1] & c0), l[1] ^ c0};
                2'd2:    blocks = {1'b0, l[2] & c1, l[2] ^ c1};
                default: blocks = {2'b00, c2};
            endcase
        end
    endfunction
endmodule

`default_nettype wire
