// SPDX-License-Identifier: Apache-2.0
// Begins a DRAM transfer: adds the selected base to the address, offers the descriptor until it is taken, and counts
// the words: m_open while there are words to come, m_last for the last one. The descriptor is offered from the second
// cycle after `start`.
`default_nettype none

module gc_transfer_start #(
    parameter ADDR_W = 48
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                start,
    input  wire [47:0]         cfg_addr,
    input  wire [4*ADDR_W-1:0] cfg_base,
    input  wire [1:0]          cfg_base_sel,
    input  wire [31:0]         cfg_words,
    output reg                 m_valid,
    input  wire                m_ready,
    output reg  [ADDR_W-1:0]   m_addr,
    input  wire                s_word,     // a word has passed
    output reg                 m_open,
    output reg                 m_last
);
    reg [31:0] left_q;

    // The high half is added with and without a carry from the low one: no carry chain is longer than half.
    localparam LOW  = ADDR_W/2;
    localparam HIGH = ADDR_W - LOW;
    wire [ADDR_W-1:0] base = cfg_base[cfg_base_sel*ADDR_W +: ADDR_W];
    wire [LOW:0]      low  = {1'b0, cfg_addr[LOW-1:0]} + {1'b0, base[LOW-1:0]};
    wire [HIGH-1:0]   high = cfg_addr[ADDR_W-1:LOW] + base[ADDR_W-1:LOW];
    wire [HIGH:0]     over = {cfg_addr[ADDR_W-1:LOW], 1'b1} + {base[ADDR_W-1:LOW], 1'b1};

    always @(posedge clk) begin
        if (start) m_addr <= {low[LOW] ? over[HIGH:1] : high, low[LOW-1:0]};
        if (start)        m_valid <= 1'b1;
        else if (m_ready) m_valid <= 1'b0;
        if (start) begin
            left_q <= cfg_words;
            m_open <= |cfg_words;
            m_last <= cfg_words == 32'd1;
        end else if (s_word) begin
            left_q <= left_q - 32'd1;
            m_open <= !m_last;
            m_last <= left_q == 32'd2;
        end
        if (rst) begin
            m_valid <= 1'b0;
            m_open  <= 1'b0;
            m_last  <= 1'b0;
        end
    end

    wire _unused_over = &{1'b0, over};
    generate
        if (ADDR_W < 48) begin : g_narrow
            wire _unused = &{1'b0, cfg_addr[47:ADDR_W]};
        end
    endgenerate
endmodule

`default_nettype wire
