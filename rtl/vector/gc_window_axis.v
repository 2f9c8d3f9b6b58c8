// SPDX-License-Identifier: Apache-2.0
// Goes through the windows of one axis (doc/instructions.md, VECTOR): the rows of the result and the taps of each, by
// counters alone. m_tap is the tap at hand, m_inside says that it exists and that its row lies in the map, m_last_tap
// that no further one comes, m_last that the row of the result is the last, m_moves that the next one begins elsewhere
// in the map; m_row are the low bits of the tap's row, m_seen says that the row of the result before, if it is not the
// first, had a tap there, too. One command at a time; the outputs hold for it from the third cycle on. cfg_* are stable
// meanwhile.
`default_nettype none

module gc_window_axis (
    input  wire        clk,
    input  wire        cfg_transpose,
    input  wire [7:0]  cfg_taps,
    input  wire [7:0]  cfg_step,
    input  wire [7:0]  cfg_phase,
    input  wire [15:0] cfg_first,      // signed
    input  wire [15:0] cfg_size,       // of the map
    input  wire [15:0] cfg_count,      // rows of the result
    input  wire        s_first,        // command: first row, first tap
    input  wire        s_next,         // next row, first tap
    input  wire        s_again,        // the same row, first tap
    input  wire        s_tap,          // next tap
    output wire [7:0]  m_tap,
    output reg         m_inside,
    output reg         m_last_tap,
    output reg         m_last,
    output reg         m_moves,
    output wire [1:0]  m_row,
    output reg         m_seen
);
    // A row of the map, signed. From 2^17 on it stays, as no tap leads back into a map from there.
    localparam W = 19;
    localparam [W-1:0] ONE = 1;

    reg [W-1:0] row_q;      // of the first tap
    reg [7:0]   first_q;    // first tap of this row of the result
    reg [15:0]  left_q;     // rows of the result from this one on
    reg         load_q;
    reg         top_q;      // the first row of the result
    reg [W-1:0] at_q;       // row of the tap
    reg [8:0]   tap_q;

    wire [8:0]   hop   = cfg_transpose ? {1'b0, cfg_step} : 9'd1;
    wire [8:0]   ahead = tap_q + hop;
    wire [W-1:0] step  = {{(W-8){1'b0}}, cfg_transpose ? 8'd1 : cfg_step};
    wire         far   = !row_q[W-1] && row_q[W-2];

    assign m_tap = tap_q[7:0];
    assign m_row = at_q[1:0];

    always @(posedge clk) begin
        load_q <= s_first || s_next;
        if (s_first) begin
            row_q   <= {{(W-16){cfg_first[15]}}, cfg_first};
            first_q <= cfg_transpose ? cfg_phase : 8'd0;
            left_q  <= cfg_count;
            top_q   <= 1'b1;
        end else if (s_next) begin
            if (m_moves && !far) row_q <= row_q + step;
            first_q <= (m_moves || !cfg_transpose) ? 8'd0 : first_q + 8'd1;
            left_q  <= left_q - 16'd1;
            top_q   <= 1'b0;
        end
        if (load_q || s_again) begin
            at_q  <= row_q;
            tap_q <= {1'b0, first_q};
        end else if (s_tap) begin
            at_q  <= cfg_transpose ? at_q - ONE : at_q + ONE;
            tap_q <= ahead;
        end
        m_inside   <= tap_q < {1'b0, cfg_taps} && ~(|at_q[W-1:15]) && at_q[14:0] < cfg_size[14:0];
        m_last_tap <= ahead >= {1'b0, cfg_taps};
        m_last     <= left_q == 16'd1;
        // Backwards only a row of the map that the windows have moved to is new, and that is its first tap.
        m_seen     <= !top_q && (cfg_transpose ? |tap_q : tap_q + {1'b0, cfg_step} < {1'b0, cfg_taps});
        m_moves    <= !cfg_transpose || {1'b0, first_q} + 9'd1 == {1'b0, cfg_step};
    end

    wire _unused = &{1'b0, cfg_size[15]};
endmodule

`default_nettype wire
