// SPDX-License-Identifier: Apache-2.0
// The registers of the DMA windows (doc/registers.md): per window base (two words), end (two words). Bits 11:0 of an
// address are zero; in the base's place stand the rights, [0] read, [1] write. All are zero after a reset. A write
// changes the bytes whose strobe is set. m_rdata follows s_word at once; m_changed comes in the cycle after a write
// that has changed something.
`default_nettype none

module gc_window_registers #(
    parameter ADDR_W  = 48,
    parameter WINDOWS = 4      // 1..8
) (
    input  wire                           clk,
    input  wire                           rst,
    input  wire                           s_write,
    input  wire [4:0]                     s_word,      // [4:2] window, [1:0] base low, base high, end low, end high
    input  wire [3:0]                     s_strb,
    input  wire [31:0]                    s_wdata,
    output wire [31:0]                    m_rdata,
    output wire                           m_changed,
    output wire [WINDOWS*(2*ADDR_W-22)-1:0] cfg_windows  // {write rights, read rights, ends, bases}, in pages of 4 KiB
);
    localparam PAGE_W = ADDR_W - 12;
    localparam [63:0] HIGH      = (64'd1 << (ADDR_W - 32)) - 64'd1;
    localparam [31:0] HIGH_BITS = HIGH[31:0];

    generate
        if (WINDOWS < 1 || WINDOWS > 8) begin : g_illegal_windows
            gradcore_illegal_parameter_WINDOWS_must_be_1_to_8 u_stop ();
        end
    endgenerate

    wire [8*128-1:0] words;

    genvar w;
    generate
        for (w = 0; w < 8; w = w + 1) begin : g_window
            if (w < WINDOWS) begin : g_used
                wire [PAGE_W-1:0] first;
                wire [PAGE_W-1:0] behind;
                reg  [1:0]        rights_q;
                localparam [4:0] PLACE = 4 * w;
                wire [3:0]        mine = {s_word == PLACE + 5'd3, s_word == PLACE + 5'd2,
                                          s_word == PLACE + 5'd1, s_word == PLACE};

                gc_address_register #(.ADDR_W(ADDR_W), .LOW(12)) u_base (
                    .clk(clk), .rst(rst),
                    .s_write(s_write),
                    .s_word(mine[1:0]),
                    .s_strb(s_strb),
                    .s_wdata(s_wdata),
                    .m_addr(first)
                );
                gc_address_register #(.ADDR_W(ADDR_W), .LOW(12)) u_end (
                    .clk(clk), .rst(rst),
                    .s_write(s_write),
                    .s_word(mine[3:2]),
                    .s_strb(s_strb),
                    .s_wdata(s_wdata),
                    .m_addr(behind)
                );
                always @(posedge clk) begin
                    if (s_write && mine[0] && s_strb[0]) rights_q <= s_wdata[1:0];
                    if (rst) rights_q <= 2'b00;
                end
                assign cfg_windows[w*PAGE_W +: PAGE_W]           = first;
                assign cfg_windows[(WINDOWS+w)*PAGE_W +: PAGE_W] = behind;
                assign cfg_windows[2*WINDOWS*PAGE_W+w]           = rights_q[0];
                assign cfg_windows[2*WINDOWS*PAGE_W+WINDOWS+w]   = rights_q[1];
                assign words[w*128 +: 64]    = {{(64-ADDR_W){1'b0}}, first, 10'd0, rights_q};
                assign words[w*128+64 +: 64] = {{(64-ADDR_W){1'b0}}, behind, 12'd0};
            end else begin : g_unused
                assign words[w*128 +: 128] = 128'd0;
            end
        end
    endgenerate

    assign m_rdata = words[s_word*32 +: 32];

    wire [31:0] mask = {{8{s_strb[3]}}, {8{s_strb[2]}}, {8{s_strb[1]}}, {8{s_strb[0]}}};
    wire [31:0] kept = s_word[0] ? HIGH_BITS : {20'hFFFFF, 10'd0, {2{!s_word[1]}}};
    reg  [31:0] differs_q;
    reg         write_q;
    always @(posedge clk) begin
        differs_q <= (m_rdata ^ s_wdata) & kept & mask;
        write_q   <= s_write && !rst;
    end
    assign m_changed = write_q && |differs_q;
endmodule

`default_nettype wire
