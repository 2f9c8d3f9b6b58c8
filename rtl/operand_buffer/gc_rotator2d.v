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

    wire [LOG-1:0]         move_y = INVERSE != 0 ? -s_rot_y : s_rot_y;
    reg  [LOG-1:0]         move_x_q;
    reg                    valid_q;
    wire [GRID*GRID*W-1:0] rows, columns;
    reg  [GRID*GRID*W-1:0] rows_q, columns_q;
    assign m_data = columns_q;

    gc_word_rotate #(.N(GRID), .W(GRID*W)) u_rows (.s_rot(move_y), .s_data(s_data), .m_data(rows));

    genvar r;
    generate
        for (r = 0; r < GRID; r = r + 1) begin : g_row
            gc_word_rotate #(.N(GRID), .W(W)) u_columns (
                .s_rot(move_x_q), .s_data(rows_q[GRID*W*r +: GRID*W]), .m_data(columns[GRID*W*r +: GRID*W])
            );
        end
    endgenerate

    always @(posedge clk) begin
        valid_q <= s_valid;
        if (s_valid) begin
            move_x_q <= INVERSE != 0 ? -s_rot_x : s_rot_x;
            rows_q   <= rows;
        end
        if (valid_q) columns_q <= columns;
    end
endmodule

`default_nettype wire
