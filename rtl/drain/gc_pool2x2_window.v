// SPDX-License-Identifier: Apache-2.0
// One 2x2 window: with s_pool the top left word becomes the signed maximum, the gate keeps only the first maximum
// in raster order, and every lane counts as inside only if the bottom right one is. Without s_pool the four words
// pass. One window per cycle, 2 cycles latency, free running; stage i moves when s_step[i] is high.
`default_nettype none

module gc_pool2x2_window #(
    parameter DW = 16
) (
    input  wire          clk,
    input  wire [1:0]    s_step,
    input  wire          s_pool,
    input  wire [3:0]    s_in_map,  // bit 0 top left, 1 top right, 2 bottom left, 3 bottom right
    input  wire [3:0]    s_gate,
    input  wire [DW-1:0] s_tl,      // signed
    input  wire [DW-1:0] s_tr,
    input  wire [DW-1:0] s_bl,
    input  wire [DW-1:0] s_br,
    input  wire          s1_pool,   // s_pool of the word in stage 1
    output reg  [3:0]    m_in_map,
    output reg  [3:0]    m_gate,
    output reg  [DW-1:0] m_tl,
    output reg  [DW-1:0] m_tr,
    output reg  [DW-1:0] m_bl,
    output reg  [DW-1:0] m_br
);
    // Stage 1: the larger of each row. With s_pool it stands left, so that stage 2 has two words to compare. A
    // strict comparison keeps the first of equals.
    wire right_top    = $signed(s_tr) > $signed(s_tl);
    wire right_bottom = $signed(s_br) > $signed(s_bl);

    reg [DW-1:0] tl_q;
    reg [DW-1:0] tr_q;
    reg [DW-1:0] bl_q;
    reg [DW-1:0] br_q;
    reg [3:0]    in_map_q;
    reg [3:0]    gate_q;

    always @(posedge clk) if (s_step[0]) begin
        tl_q     <= s_pool && right_top ? s_tr : s_tl;
        bl_q     <= s_pool && right_bottom ? s_br : s_bl;
        tr_q     <= s_tr;
        br_q     <= s_br;
        in_map_q <= s_pool ? {4{s_in_map[3]}} : s_in_map;
        gate_q   <= s_pool ? s_gate & {4{s_in_map[3]}} & {right_bottom, ~right_bottom, right_top, ~right_top}
                           : s_gate & s_in_map;
    end

    // Stage 2: the larger of the rows.
    wire lower = $signed(bl_q) > $signed(tl_q);

    always @(posedge clk) if (s_step[1]) begin
        m_tl     <= s1_pool && lower ? bl_q : tl_q;
        m_tr     <= tr_q;
        m_bl     <= bl_q;
        m_br     <= br_q;
        m_in_map <= in_map_q;
        m_gate   <= s1_pool ? gate_q & {{2{lower}}, {2{~lower}}} : gate_q;
    end
endmodule

`default_nettype wire
