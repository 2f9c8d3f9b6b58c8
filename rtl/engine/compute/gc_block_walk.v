// SPDX-License-Identifier: Apache-2.0
// Where the blocks of a window lie in a map: the first one is cfg_by0, cfg_bx0, and from one to the next are cfg_skip_y
// and cfg_skip_x blocks that are left out. The loops over rows and columns of blocks say how a step moves them.
`default_nettype none

module gc_block_walk (
    input  wire        clk,
    input  wire        start,
    input  wire        step,
    input  wire [1:0]  s_by_move,     // restart, advance
    input  wire [1:0]  s_bx_move,
    input  wire [11:0] cfg_by0,
    input  wire [11:0] cfg_bx0,
    input  wire [3:0]  cfg_skip_y,
    input  wire [3:0]  cfg_skip_x,
    output wire [11:0] m_by,
    output wire [11:0] m_bx
);
    wire [11:0] row, column;
    gc_loop_term #(.W(12)) u_row (
        .clk(clk), .start(start), .step(step), .advance(s_by_move[0]), .restart(s_by_move[1]),
        .base(12'd0), .stride({8'd0, cfg_skip_y} + 12'd1), .m_term(row)
    );
    gc_loop_term #(.W(12)) u_column (
        .clk(clk), .start(start), .step(step), .advance(s_bx_move[0]), .restart(s_bx_move[1]),
        .base(12'd0), .stride({8'd0, cfg_skip_x} + 12'd1), .m_term(column)
    );
    assign m_by = cfg_by0 + row;
    assign m_bx = cfg_bx0 + column;
endmodule

`default_nettype wire
