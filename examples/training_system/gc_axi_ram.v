// SPDX-License-Identifier: Apache-2.0
// Block RAM as an AXI4 slave: INCR bursts of whole beats, one burst at a time on each side, a beat per cycle; the
// first read data come three cycles after the address. Addresses count modulo DEPTH beats. Every response is OKAY.
// FILE holds the content at start, one beat per line.
`default_nettype none

module gc_axi_ram #(
    parameter FILE   = "memory.hex",
    parameter DEPTH  = 16384,         // beats, a power of two
    parameter MEM_W  = 64,
    parameter ADDR_W = 40
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [ADDR_W-1:0]  s_axi_awaddr,
    input  wire               s_axi_awvalid,
    output wire               s_axi_awready,
    input  wire [MEM_W-1:0]   s_axi_wdata,
    input  wire [MEM_W/8-1:0] s_axi_wstrb,
    input  wire               s_axi_wlast,
    input  wire               s_axi_wvalid,
    output wire               s_axi_wready,
    output wire [1:0]         s_axi_bresp,
    output reg                s_axi_bvalid,
    input  wire               s_axi_bready,
    input  wire [ADDR_W-1:0]  s_axi_araddr,
    input  wire [7:0]         s_axi_arlen,
    input  wire               s_axi_arvalid,
    output wire               s_axi_arready,
    output reg  [MEM_W-1:0]   s_axi_rdata,
    output wire [1:0]         s_axi_rresp,
    output reg                s_axi_rlast,
    output reg                s_axi_rvalid,
    input  wire               s_axi_rready
);
    localparam BYTES  = MEM_W / 8;
    localparam LOW    = $clog2(BYTES);
    localparam WORD_W = $clog2(DEPTH);

    reg [MEM_W-1:0]  mem [0:DEPTH-1];
    reg              writing_q;      // between a burst's address and its last beat
    reg [WORD_W-1:0] write_at_q;
    reg              reading_q;      // beats are left to be read
    reg [WORD_W-1:0] read_at_q;
    reg [7:0]        left_q;
    initial $readmemh(FILE, mem);

    wire take = reading_q && (!s_axi_rvalid || s_axi_rready);

    assign s_axi_awready = !writing_q && !s_axi_bvalid;
    assign s_axi_wready  = writing_q;
    assign s_axi_bresp   = 2'b00;
    assign s_axi_arready = !reading_q;
    assign s_axi_rresp   = 2'b00;

    integer b;
    always @(posedge clk) begin
        if (s_axi_awvalid && s_axi_awready) begin
            writing_q  <= 1'b1;
            write_at_q <= s_axi_awaddr[LOW +: WORD_W];
        end else if (s_axi_wvalid && s_axi_wready) begin
            writing_q  <= !s_axi_wlast;
            write_at_q <= write_at_q + 1'b1;
            for (b = 0; b < BYTES; b = b + 1) if (s_axi_wstrb[b]) mem[write_at_q][8*b +: 8] <= s_axi_wdata[8*b +: 8];
        end
        if (s_axi_wvalid && s_axi_wready && s_axi_wlast) s_axi_bvalid <= 1'b1;
        else if (s_axi_bready) s_axi_bvalid <= 1'b0;

        if (s_axi_arvalid && s_axi_arready) begin
            reading_q <= 1'b1;
            read_at_q <= s_axi_araddr[LOW +: WORD_W];
            left_q    <= s_axi_arlen;
        end else if (take) begin
            reading_q <= left_q != 8'd0;
            read_at_q <= read_at_q + 1'b1;
            left_q    <= left_q - 8'd1;
        end
        if (take) begin
            s_axi_rdata  <= mem[read_at_q];
            s_axi_rlast  <= left_q == 8'd0;
            s_axi_rvalid <= 1'b1;
        end else if (s_axi_rready) s_axi_rvalid <= 1'b0;

        if (rst) begin
            writing_q    <= 1'b0;
            reading_q    <= 1'b0;
            s_axi_bvalid <= 1'b0;
            s_axi_rvalid <= 1'b0;
        end
    end

    wire _unused = &{1'b0, s_axi_awaddr, s_axi_araddr};
endmodule

`default_nettype wire
