// SPDX-License-Identifier: Apache-2.0
// A byte address that is written as two 32-bit words, of each the bytes whose strobe is set. Bits below LOW do not
// exist. The value comes in the next cycle; a reset makes it zero. s_write may come late in a cycle.
`default_nettype none

module gc_address_register #(
    parameter ADDR_W = 48,     // 32..64; with 32 there is no high word
    parameter LOW    = 0
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                s_write,
    input  wire [1:0]          s_word,     // low word, high word
    input  wire [3:0]          s_strb,
    input  wire [31:0]         s_wdata,
    output reg  [ADDR_W-1:LOW] m_addr
);
    genvar i;
    generate
        for (i = LOW / 8; i < (ADDR_W + 7) / 8; i = i + 1) begin : g_byte
            localparam FIRST = i * 8 < LOW ? LOW : i * 8;
            localparam LAST  = i * 8 + 7 < ADDR_W ? i * 8 + 7 : ADDR_W - 1;
            always @(posedge clk) begin
                if (s_write && s_word[i/4] && s_strb[i%4]) m_addr[LAST:FIRST] <= s_wdata[LAST%32:FIRST%32];
                if (rst) m_addr[LAST:FIRST] <= {LAST - FIRST + 1{1'b0}};
            end
        end
    endgenerate

    wire _unused = &{1'b0, s_word, s_strb, s_wdata};    // the high word with 32 bits, bits below LOW
endmodule

`default_nettype wire
