// SPDX-License-Identifier: Apache-2.0
// Two stages on the way of memory requests: the first takes a request, the second knows whether its 4 KiB page lies in
// a window with the right. A request that does not is never shown at m_valid; it stays, with m_refused, until a reset.
// Nothing enters the second stage while s_hold is high. One request per cycle; requests never cross 4 KiB
// (doc/streams.md), so one page is all they touch.
`default_nettype none

module gc_window_check #(
    parameter ADDR_W  = 48,
    parameter CLIENTS = 5,
    parameter WINDOWS = 4
) (
    input  wire                           clk,
    input  wire                           rst,
    input  wire [WINDOWS*(ADDR_W-12)-1:0] cfg_base,
    input  wire [WINDOWS*(ADDR_W-12)-1:0] cfg_end,
    input  wire [WINDOWS-1:0]             cfg_right,
    input  wire                           s_hold,
    input  wire                           s_valid,
    output wire                           s_ready,
    input  wire [ADDR_W-1:0]              s_addr,
    input  wire [7:0]                     s_len,
    input  wire [CLIENTS-1:0]             s_client,
    output wire                           m_valid,
    input  wire                           m_ready,
    output reg  [ADDR_W-1:0]              m_addr,
    output reg  [7:0]                     m_len,
    output reg  [CLIENTS-1:0]             m_client,
    output wire                           m_refused
);
    localparam PAGE_W = ADDR_W - 12;

    reg               valid_q;
    reg [ADDR_W-1:0]  addr_q;
    reg [7:0]         len_q;
    reg [CLIENTS-1:0] client_q;
    reg               checked_q;
    reg               refused_q;   // a cycle after checked_q
    reg [WINDOWS-1:0] allow_q;     // windows that it lies in and that have the right

    wire [PAGE_W-1:0]  page = addr_q[ADDR_W-1:12];
    wire [WINDOWS-1:0] in_window;
    wire               allowed = |allow_q;
    wire               free = !checked_q || (m_valid && m_ready);
    wire               move = valid_q && free && !s_hold;

    genvar w;
    generate
        for (w = 0; w < WINDOWS; w = w + 1) begin : g_window
            assign in_window[w] = cfg_right[w] && page >= cfg_base[w*PAGE_W +: PAGE_W]
                && page < cfg_end[w*PAGE_W +: PAGE_W];
        end
    endgenerate

    assign s_ready   = !valid_q || move;
    assign m_valid   = checked_q && allowed;
    assign m_refused = refused_q;      // and stays so until rst

    always @(posedge clk) begin
        if (s_valid && s_ready) begin
            addr_q   <= s_addr;
            len_q    <= s_len;
            client_q <= s_client;
        end
        if (move) begin
            m_addr   <= addr_q;
            m_len    <= len_q;
            m_client <= client_q;
            allow_q  <= in_window;
        end
        valid_q   <= (s_valid && s_ready) || (valid_q && !move);
        refused_q <= checked_q && !allowed;
        checked_q <= move || (checked_q && !free);
        if (rst) begin
            valid_q   <= 1'b0;
            checked_q <= 1'b0;
            refused_q <= 1'b0;
        end
    end
endmodule

`default_nettype wire
