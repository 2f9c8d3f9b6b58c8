// SPDX-License-Identifier: Apache-2.0
// Walks through the windows of a VECTOR (doc/instructions.md): row by row of the result, of each the parts of up to
// PART beats, of each its pixels, of each its taps in raster order. A word is a tap inside the map (m_inside), the end
// of a part of a pixel (m_end), or both: m_at its place in beats from the first source's address, m_tap its number,
// m_beats the part's beats less one, m_slot the low bits of its row and column in the map; with m_seen the pixel before
// had a tap there, too. A tap takes three cycles. `start` begins; cfg_* are stable until the last word has left. With
// cfg_plain there is one pixel, and it counts as inside.
`default_nettype none

module gc_window_walker #(
    parameter W    = 42,    // bits of a place in beats
    parameter PART = 64     // beats, power of two
) (
    input  wire          clk,
    input  wire          rst,
    input  wire          start,
    input  wire          cfg_plain,
    input  wire          cfg_transpose,
    input  wire [W-1:0]  cfg_stride_y,     // in beats
    input  wire [W-1:0]  cfg_stride_x,
    input  wire [W-1:0]  cfg_advance_y,
    input  wire [W-1:0]  cfg_advance_x,
    input  wire [15:0]   cfg_n_beats,
    input  wire [15:0]   cfg_n_y,
    input  wire [15:0]   cfg_n_x,
    input  wire [7:0]    cfg_n_ky,
    input  wire [7:0]    cfg_n_kx,
    input  wire [7:0]    cfg_step_y,
    input  wire [7:0]    cfg_step_x,
    input  wire [15:0]   cfg_first_y,      // signed
    input  wire [15:0]   cfg_first_x,
    input  wire [7:0]    cfg_phase_y,
    input  wire [7:0]    cfg_phase_x,
    input  wire [15:0]   cfg_height,
    input  wire [15:0]   cfg_width,
    output wire          m_valid,
    input  wire          m_ready,
    output wire          m_inside,
    output wire          m_end,
    output wire [W-1:0]  m_at,
    output wire [13:0]   m_tap,
    output wire [3:0]    m_slot,
    output wire          m_seen,
    output wire [$clog2(PART)-1:0] m_beats
);
    localparam PW = $clog2(PART);
    localparam [15:0]  MOST = PART[15:0];
    localparam [W-1:0] HOP  = PART;

    // ---- The state: 1 to 3 the cycles of a move, 0 a tap or nothing
    reg        busy_q;
    reg [1:0]  wait_q;
    reg        begin_q;
    reg [15:0] left_q;          // beats of a pixel from this part on
    reg        last_part_q;
    reg [PW-1:0] beats_q;
    reg [15:0] row_tap_q;       // number of the first tap of this row of taps

    wire       inside_y, inside_x, tap_end_y, tap_end_x, end_y, end_x, moves_y, moves_x, seen_y_unused;
    wire [7:0] tap_y, tap_x;
    wire       part_end = tap_end_y && tap_end_x;
    wire       at_tap   = busy_q && wait_q == 2'd0;
    wire       step     = at_tap && (m_ready || !m_valid);
    wire       all_x    = end_x || cfg_plain;
    wire       all_y    = end_y || cfg_plain;
    wire [2:0] level    = !tap_end_x ? 3'd0 : !tap_end_y ? 3'd1 : !all_x ? 3'd2 : !last_part_q ? 3'd3 : 3'd4;
    wire       part     = part_end && all_x;
    wire       line     = part && last_part_q;

    assign m_inside = (inside_y && inside_x) || cfg_plain;
    assign m_end    = part_end;
    assign m_valid  = at_tap && (m_inside || m_end);
    assign m_beats  = beats_q;
    assign m_tap    = row_tap_q[13:0] + {6'd0, tap_x};

    gc_window_axis u_y (
        .clk(clk), .cfg_transpose(cfg_transpose), .cfg_taps(cfg_n_ky), .cfg_step(cfg_step_y), .cfg_phase(cfg_phase_y),
        .cfg_first(cfg_first_y), .cfg_size(cfg_height), .cfg_count(cfg_n_y),
        .s_first(begin_q), .s_next(step && line), .s_again(step && part_end && !line),
        .s_tap(step && tap_end_x && !part_end),
        .m_tap(tap_y), .m_inside(inside_y), .m_last_tap(tap_end_y), .m_last(end_y), .m_moves(moves_y),
        .m_row(m_slot[3:2]), .m_seen(seen_y_unused)
    );
    gc_window_axis u_x (
        .clk(clk), .cfg_transpose(cfg_transpose), .cfg_taps(cfg_n_kx), .cfg_step(cfg_step_x), .cfg_phase(cfg_phase_x),
        .cfg_first(cfg_first_x), .cfg_size(cfg_width), .cfg_count(cfg_n_x),
        .s_first(begin_q || (step && part)), .s_next(step && part_end && !part),
        .s_again(step && tap_end_x && !part_end),
        .s_tap(step && !tap_end_x),
        .m_tap(tap_x), .m_inside(inside_x), .m_last_tap(tap_end_x), .m_last(end_x), .m_moves(moves_x),
        .m_row(m_slot[1:0]), .m_seen(m_seen)
    );
    gc_window_address #(.W(W)) u_address (
        .clk(clk), .cfg_down(cfg_transpose),
        .cfg_steps({cfg_advance_y, HOP, cfg_advance_x, cfg_stride_y, cfg_stride_x}),
        .s_clear(start), .s_move(step), .s_level(level),
        .s_stay(level == 3'd2 ? !moves_x : level == 3'd4 && !moves_y), .m_at(m_at)
    );

    always @(posedge clk) begin
        begin_q <= start;
        if (begin_q || step)      wait_q <= 2'd2;
        else if (wait_q != 2'd0)  wait_q <= wait_q - 2'd1;
        if (begin_q)                                 busy_q <= 1'b1;
        else if (step && line && all_y)              busy_q <= 1'b0;
        if (begin_q || (step && line)) left_q <= cfg_n_beats;
        else if (step && part)         left_q <= left_q - MOST;
        last_part_q <= left_q <= MOST;
        beats_q     <= left_q <= MOST ? left_q[PW-1:0] - {{(PW-1){1'b0}}, 1'b1} : {PW{1'b1}};
        row_tap_q   <= tap_y * cfg_n_kx;
        if (rst) begin
            begin_q <= 1'b0;
            busy_q  <= 1'b0;
            wait_q  <= 2'd0;
        end
    end

    wire _unused = &{1'b0, row_tap_q[15:14], seen_y_unused};
endmodule

`default_nettype wire
