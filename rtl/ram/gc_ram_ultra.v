// SPDX-License-Identifier: Apache-2.0
// The words of a gc_ram_sdp in UltraRAM (UltraScale+), whose rows have 72 bits and enables for bytes of 9: a row holds
// 8, 4 or 2 words of up to 9, 18 or 36 bits, and a write enables the bytes of its own. A read takes 1 cycle and sees no
// write of that cycle; m_data stays until the next. Synthesis is told by an attribute.
`default_nettype none

module gc_ram_ultra #(
    parameter WIDTH = 16,
    parameter DEPTH = 4096
) (
    input  wire                     clk,
    input  wire                     s_wr_en,
    input  wire [$clog2(DEPTH)-1:0] s_wr_addr,
    input  wire [WIDTH-1:0]         s_wr_data,
    input  wire                     s_rd_en,
    input  wire [$clog2(DEPTH)-1:0] s_rd_addr,
    output wire [WIDTH-1:0]         m_data
);
    localparam AW    = $clog2(DEPTH);
    localparam LOG   = WIDTH > 36 ? 0 : WIDTH > 18 ? 1 : WIDTH > 9 ? 2 : 3;   // of the words in a row
    localparam WORDS = 1 << LOG;
    localparam SLOT  = WIDTH > 72 ? WIDTH : 72 / WORDS;                       // bits for a word
    localparam ROWS  = (DEPTH + WORDS-1) / WORDS;
    localparam ROW_W = ROWS > 1 ? $clog2(ROWS) : 1;
    localparam [2:0] SLOTS = WORDS - 1;

    (* ram_style = "ultra" *)
    reg [WORDS*SLOT-1:0] memory [0:ROWS-1];
    reg [WORDS*SLOT-1:0] row_q;
    reg [2:0]            slot_q;
    wire [AW+2:0]        wr_addr = {3'd0, s_wr_addr};
    wire [AW+2:0]        rd_addr = {3'd0, s_rd_addr};
    wire [SLOT:0]        data    = {{(SLOT+1-WIDTH){1'b0}}, s_wr_data};
    wire [WORDS*SLOT-1:0] found  = row_q >> (slot_q * SLOT);

    integer i;
    always @(posedge clk) begin
        for (i = 0; i < WORDS; i = i + 1)
            if (s_wr_en && {29'd0, wr_addr[2:0] & SLOTS} == i)
                memory[wr_addr[LOG +: ROW_W]][i*SLOT +: SLOT] <= data[SLOT-1:0];
        if (s_rd_en) begin
            row_q  <= memory[rd_addr[LOG +: ROW_W]];
            slot_q <= rd_addr[2:0] & SLOTS;
        end
    end
    assign m_data = found[WIDTH-1:0];

    wire _unused = &{1'b0, wr_addr, rd_addr, data, found};
endmodule

`default_nettype wire
