// SPDX-License-Identifier: Apache-2.0
// Address of the present block of a window: m_rows + m_columns. It begins at cfg_base. The blocks of the operand are
// cfg_stride_y and cfg_stride_x << cfg_shift vectors apart; cfg_skip_y and cfg_skip_x are left out between two.
// The fields stand still from `start` on, so their products are there for the first step.
`default_nettype none

module gc_operand_walk (
    input  wire        clk,
    input  wire        start,
    input  wire        step,
    input  wire [1:0]  s_by_move,     // restart, advance
    input  wire [1:0]  s_bx_move,
    input  wire [15:0] cfg_base,
    input  wire [15:0] cfg_stride_y,
    input  wire [15:0] cfg_stride_x,
    input  wire [1:0]  cfg_shift,
    input  wire [3:0]  cfg_skip_y,
    input  wire [3:0]  cfg_skip_x,
    output wire [15:0] m_rows,
    output wire [15:0] m_columns
);
    wire [15:0] rows    = ({12'd0, cfg_skip_y} + 16'd1) << cfg_shift;
    wire [15:0] columns = ({12'd0, cfg_skip_x} + 16'd1) << cfg_shift;
    reg  [15:0] row_q, column_q;      // from a computed block to the next: a multiplier and nothing behind it
    always @(posedge clk) begin
        row_q    <= cfg_stride_y * rows;
        column_q <= cfg_stride_x * columns;
    end
    gc_loop_term #(.BASED(1)) u_rows (
        .clk(clk), .start(start), .step(step), .advance(s_by_move[0]), .restart(s_by_move[1]),
        .base(cfg_base), .stride(row_q), .m_term(m_rows)
    );
    gc_loop_term u_columns (
        .clk(clk), .start(start), .step(step), .advance(s_bx_move[0]), .restart(s_bx_move[1]),
        .base(16'd0), .stride(column_q), .m_term(m_columns)
    );
endmodule

`default_nettype wire
