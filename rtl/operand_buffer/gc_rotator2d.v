// SPDX-License-Identifier: Apache-2.0
// Rotates a GRID x GRID square of words by rows, then by columns: word (row, col) of the result is word (row + rot_y,
// col + rot_x), or with INVERSE (row - rot_y, col - rot_x), modulo GRID. One square per cycle, 2 cycles latency;
// rotations enter with their square. A stage only moves with its valid bit.
`default_nettype none

module gc_rotator2d #(
    parameter GRID    = 8,
    parameter W       = 16,
    parameter INVERSE = 0
) (
    input  wire                    clk,
    input  wire                    s_valid,
    input  wire [$clog2(GRID)-1:0] s_rot_y,
    input  wire [$clog2(GRID)-1:0] s_rot_x,
    input  wire [GRID*GRID*W-1:0]  s_data,
    output wire [GRID*GRID*W-1:0]  m_data
);
    localparam LOG = $clog2(GRID);

    wire [W-1:0]   word   [0:GRID*GRID-1];
    wire [W-1:0]   turned [0:GRID*GRID-1];
    wire [LOG-1:0] move_y = INVERSE != 0 ? -s_rot_y : s_rot_y;
    reg  [LOG-1:0] move_x_q;
    reg            valid_q;

    always @(posedge clk) begin
        valid_q <= s_valid;
        if (s_valid) move_x_q <= INVERSE != 0 ? -s_rot_x : s_rot_x;
    end

    genvar r, c;
    generate
        for (r = 0; r < GRID; r = r + 1) begin : g_row
            localparam [LOG-1:0] ROW = r;
            wire [LOG-1:0] row_source = ROW + move_y;
            for (c = 0; c < GRID; c = c + 1) begin : g_col
                localparam [LOG-1:0] COL = c;
                wire [LOG-1:0] col_source = COL + move_x_q;
                reg  [W-1:0]   row_q;
                reg  [W-1:0]   col_q;
                assign word[GRID*r + c]   = s_data[(GRID*r + c)*W +: W];
                assign turned[GRID*r + c] = row_q;
                assign m_data[(GRID*r + c)*W +: W] = col_q;
                always @(posedge clk) if (s_valid) row_q <= word[{row_source, COL}];
                always @(posedge clk) if (valid_q) col_q <= turned[{ROW, col_source}];
            end
        end
    endgenerate
endmodule

`default_nettype wire
