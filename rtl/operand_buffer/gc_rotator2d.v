// SPDX-License-Identifier: Apache-2.0
// Rotates a GRID x GRID square of words by rows and columns: word (row, col) of the result is word (row + rot_y,
// col + rot_x), or with INVERSE (row - rot_y, col - rot_x), modulo GRID. One square per cycle, 2 cycles latency;
// rotations enter with their square. With MASK words whose bit of s_keep, which comes a cycle later, is not set become
// zero. A stage only moves with its valid bit. A multiplexer of four words for each two bits of the rotations: the
// lower ones of the rows, the highest of both, the lower ones of the columns.
`default_nettype none

module gc_rotator2d #(
    parameter GRID    = 8,   // 4 or 8
    parameter W       = 16,
    parameter INVERSE = 0,
    parameter MASK    = 0
) (
    input  wire                    clk,
    input  wire                    s_valid,
    input  wire [$clog2(GRID)-1:0] s_rot_y,
    input  wire [$clog2(GRID)-1:0] s_rot_x,
    input  wire [GRID*GRID*W-1:0]  s_data,
    input  wire [GRID*GRID-1:0]    s_keep,    // a cycle after the rest
    output wire [GRID*GRID*W-1:0]  m_data
);
    generate
        if (GRID != 4 && GRID != 8) begin : g_illegal_grid
            gradcore_illegal_parameter_GRID_not_4_or_8 u_stop ();
        end
    endgenerate

    localparam LOG = $clog2(GRID);

    wire [LOG-1:0]         move_y = INVERSE != 0 ? -s_rot_y : s_rot_y;
    wire [LOG-1:0]         move_x = INVERSE != 0 ? -s_rot_x : s_rot_x;
    reg                    rows_far_q;
    reg  [LOG-1:0]         move_x_q;
    reg                    valid_q;
    wire [GRID*GRID*W-1:0] rows, halves, columns;
    reg  [GRID*GRID*W-1:0] rows_q, columns_q;
    assign m_data = columns_q;

    gc_rotate_digit #(.BITS(GRID*GRID*W), .STEP(GRID*W)) u_rows (
        .s_digit(move_y[1:0]), .s_data(s_data), .m_data(rows)
    );

    genvar r, l;
    generate
        if (GRID > 4) begin : g_halves
            gc_exchange_halves #(.GRID(GRID), .W(W)) u_halves (
                .s_rows(rows_far_q), .s_columns(move_x_q[LOG-1]), .s_data(rows_q), .m_data(halves)
            );
        end else begin : g_no_halves
            assign halves = rows_q;
            wire _unused = rows_far_q;
        end
        for (r = 0; r < GRID; r = r + 1) begin : g_row
            gc_rotate_digit #(.BITS(GRID*W), .STEP(W)) u_columns (
                .s_digit(move_x_q[1:0]), .s_data(halves[GRID*W*r +: GRID*W]), .m_data(columns[GRID*W*r +: GRID*W])
            );
        end
        for (l = 0; l < GRID*GRID; l = l + 1) begin : g_word
            always @(posedge clk) if (valid_q) begin
                if (MASK != 0 && !s_keep[l]) columns_q[l*W +: W] <= {W{1'b0}};
                else                         columns_q[l*W +: W] <= columns[l*W +: W];
            end
        end
    endgenerate

    always @(posedge clk) begin
        valid_q <= s_valid;
        if (s_valid) begin
            rows_far_q <= move_y[LOG-1];
            move_x_q   <= move_x;
            rows_q     <= rows;
        end
    end

    wire _unused = &{1'b0, s_keep};
endmodule

`default_nettype wire
