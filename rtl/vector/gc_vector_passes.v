// SPDX-License-Identifier: Apache-2.0
// Turns the taps of gc_window_walker into passes over a part of a pixel at one tap. A pass brings the beats of a
// source, for which a request goes to the DMA, or with m_kept finds them in gc_vector_gather, which keeps what it was
// brought in m_slot. With cfg_pair a tap whose beats are not kept has a pass before, m_fill, that brings those of the
// first source. Of each pass goes a record to whoever takes the beats: m_first is the first of a part, m_last the last
// that changes something. A part without a tap has one pass with m_void, for which nothing is read. With cfg_indexed
// there is one more behind the last, m_again. A pass every four cycles at most.
`default_nettype none

module gc_vector_passes #(
    parameter W  = 42,   // bits of an address in beats
    parameter PW = 6     // bits of a part's beats less one
) (
    input  wire          clk,
    input  wire          rst,
    input  wire          cfg_pair,
    input  wire          cfg_keep,      // what a tap brings is kept for the pixels behind
    input  wire          cfg_indexed,
    input  wire [W-1:0]  cfg_a,         // addresses of the sources, in beats
    input  wire [W-1:0]  cfg_b,
    input  wire          s_valid,
    output wire          s_ready,
    input  wire          s_inside,
    input  wire          s_end,
    input  wire [W-1:0]  s_at,
    input  wire [13:0]   s_tap,
    input  wire [3:0]    s_slot,
    input  wire          s_seen,        // the pixel before had this tap, too
    input  wire [PW-1:0] s_beats,
    output wire          m_req_valid,
    input  wire          m_req_ready,
    output wire [W-1:0]  m_addr,
    output wire          m_valid,
    input  wire          m_ready,
    output reg  [PW-1:0] m_beats,
    output reg  [13:0]   m_tap,
    output reg  [3:0]    m_slot,
    output wire          m_fill,
    output wire          m_kept,
    output wire          m_first,
    output wire          m_last,
    output reg           m_void,
    output wire          m_again,
    output wire          m_quiet,       // nothing is brought
    output wire          m_anew         // it needs nothing that the pass before leaves
);
    // The last tap that came is held until it is known whether another one follows.
    reg          held_q;
    reg          held_first_q;
    reg          held_kept_q;
    reg [3:0]    held_slot_q;
    reg [W-1:0]  held_at_q;
    reg [13:0]   held_tap_q;
    reg          end_q;         // a part's end has come, its last pass not begun
    reg          some_q;        // the part has had a tap
    reg          open_q;        // a tap is being given out
    reg [1:0]    sum_q;         // its address is being summed
    reg          fill_q;        // its pass of the first source of a pair
    reg          again_q;       // the pass behind the last
    reg          tap_first_q;
    reg          tap_last_q;
    reg          tap_kept_q;
    reg [W-1:0]  at_q;

    wire take  = s_valid && s_ready;
    wire given = m_valid && m_ready;
    wire close = end_q && !open_q;                  // the held tap is the part's last one
    wire go    = (take && s_inside && held_q) || close;
    wire more  = tap_last_q && cfg_indexed && !again_q;
    wire reads = !m_void && !tap_kept_q && !again_q;

    assign s_ready     = !open_q && !end_q;
    assign m_fill      = fill_q;
    assign m_quiet     = !reads;
    assign m_anew      = fill_q || (m_first && (m_void || !(cfg_pair || tap_kept_q)));
    assign m_kept      = tap_kept_q;
    assign m_again     = again_q;
    assign m_first     = tap_first_q && !fill_q && !again_q;
    assign m_last      = tap_last_q && !fill_q;
    assign m_valid     = open_q && ~(|sum_q) && (!reads || m_req_ready);
    assign m_req_valid = open_q && ~(|sum_q) && reads && m_ready;

    gc_vector_sum #(.W(W)) u_sum (.clk(clk), .s_a(at_q), .s_b(cfg_pair && !fill_q ? cfg_b : cfg_a), .m_sum(m_addr));

    always @(posedge clk) begin
        if (take && s_inside) begin
            held_at_q    <= s_at;
            held_tap_q   <= s_tap;
            held_slot_q  <= s_slot;
            held_kept_q  <= s_seen && cfg_keep;
            held_first_q <= !some_q;
        end
        if (take) m_beats <= s_beats;
        if (go) begin
            at_q        <= held_at_q;
            m_tap       <= held_tap_q;
            m_slot      <= held_slot_q;
            tap_kept_q  <= held_kept_q && held_q;
            tap_first_q <= held_first_q || !held_q;
            tap_last_q  <= close;
            m_void      <= !held_q;
        end
        if (go)         fill_q <= cfg_pair && held_q && !held_kept_q;
        else if (given) fill_q <= 1'b0;
        if (go)                    again_q <= 1'b0;
        else if (given && !fill_q) again_q <= more;
        if (go || given)    sum_q <= 2'd2;
        else if (|sum_q)    sum_q <= sum_q - 2'd1;
        if (go)                             open_q <= 1'b1;
        else if (given && !fill_q && !more) open_q <= 1'b0;
        if (take && s_inside) held_q <= 1'b1;
        else if (close)       held_q <= 1'b0;
        if (take) some_q <= (some_q || s_inside) && !s_end;
        if (take && s_end) end_q <= 1'b1;
        else if (close)    end_q <= 1'b0;
        if (rst) begin
            held_q <= 1'b0;
            end_q  <= 1'b0;
            some_q <= 1'b0;
            open_q <= 1'b0;
            sum_q  <= 2'd0;
        end
    end
endmodule

`default_nettype wire
