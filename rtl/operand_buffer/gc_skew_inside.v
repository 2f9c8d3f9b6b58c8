// SPDX-License-Identifier: Apache-2.0
// Which lanes of an access lie in the map on one axis. Lane 0 has the line s_start + s_d; lane i has the line that lies
// s_line behind it. s_line comes a cycle after s_valid and the rest, as gc_skew_lines gives it; m_inside belongs to
// that cycle. Source: doc/architecture.md, "Accesses".
`default_nettype none

module gc_skew_inside #(
    parameter GRID = 8
) (
    input  wire              clk,
    input  wire              s_valid,
    input  wire [11:0]       s_start,
    input  wire [7:0]        s_d,        // signed
    input  wire [11:0]       s_end,      // first line behind the map
    input  wire [3*GRID-1:0] s_line,
    output wire [GRID-1:0]   m_inside
);
    reg [13:0] first_q;     // line of lane 0, signed
    reg [13:0] past_q;      // how far it is behind the map

    always @(posedge clk) if (s_valid) begin
        first_q <= {2'b00, s_start} + {{6{s_d[7]}}, s_d};
        past_q  <= {2'b00, s_start} + {{6{s_d[7]}}, s_d} - {2'b00, s_end};
    end

    genvar i;
    generate
        for (i = 0; i < GRID; i = i + 1) begin : g_lane
            assign m_inside[i] = in_map(first_q, past_q, s_line[3*i +: 3]);
        end
    endgenerate

    // Line l from lane 0's is in the map: l is added to both, and only -8 to -1 can change their sign by it.
    function in_map(input [13:0] first, input [13:0] past, input [2:0] l);
        in_map = (!first[13] || (&first[12:3] && reaches(first[2:0], l)))
              && past[13] && !(&past[12:3] && reaches(past[2:0], l));
    endfunction

    function reaches(input [2:0] a, input [2:0] b);    // a + b is 8 or more
        reaches = (a[2] & b[2]) | ((a[2] | b[2]) & ((a[1] & b[1]) | ((a[1] | b[1]) & a[0] & b[0])));
    endfunction
endmodule

`default_nettype wire
