// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite slave for the native register port: one transfer at a time on each side, a write when address and data are
// both there, the response in the next cycle; a read in three cycles. Byte strobes go to the register port, so a write
// without any does nothing. Every access answers OKAY. VALIDs are low in a reset from its first moment on (AXI
// A3.1.2).
`default_nettype none

module gc_axil_slave (
    input  wire        clk,
    input  wire        rst,
    input  wire [11:0] s_axil_awaddr,
    input  wire [2:0]  s_axil_awprot,
    input  wire        s_axil_awvalid,
    output wire        s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire [3:0]  s_axil_wstrb,
    input  wire        s_axil_wvalid,
    output wire        s_axil_wready,
    output wire [1:0]  s_axil_bresp,
    output wire        s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire [11:0] s_axil_araddr,
    input  wire [2:0]  s_axil_arprot,
    input  wire        s_axil_arvalid,
    output wire        s_axil_arready,
    output reg  [31:0] s_axil_rdata,
    output wire [1:0]  s_axil_rresp,
    output wire        s_axil_rvalid,
    input  wire        s_axil_rready,
    // native register port; one access at a time, reads go first
    output wire        m_reg_write,
    output wire [11:0] m_reg_addr,
    output wire [31:0] m_reg_wdata,
    output wire [3:0]  m_reg_strb,
    output wire        m_reg_read,
    input  wire [31:0] s_reg_rdata
);
    // Addresses and data are caught in registers, so that no ready depends on a valid.
    reg        aw_q;
    reg [11:0] awaddr_q;
    reg        w_q;
    reg [31:0] wdata_q;
    reg [3:0]  wstrb_q;
    reg        ar_q;
    reg [11:0] araddr_q;
    reg        reading_q;      // the register's data come in this cycle
    reg        bvalid_q;
    reg        rvalid_q;

    wire write = aw_q && w_q && !bvalid_q && !m_reg_read;

    assign s_axil_awready = !aw_q;
    assign s_axil_wready  = !w_q;
    assign s_axil_arready = !ar_q;
    assign s_axil_bvalid  = bvalid_q && !rst;
    assign s_axil_rvalid  = rvalid_q && !rst;
    assign s_axil_bresp   = 2'b00;
    assign s_axil_rresp   = 2'b00;
    assign m_reg_read     = ar_q && !reading_q && !rvalid_q;
    assign m_reg_write    = write;
    assign m_reg_addr     = m_reg_read ? araddr_q : awaddr_q;
    assign m_reg_wdata    = wdata_q;
    assign m_reg_strb     = wstrb_q;

    always @(posedge clk) begin
        if (s_axil_awvalid && s_axil_awready) begin
            aw_q     <= 1'b1;
            awaddr_q <= s_axil_awaddr;
        end else if (write) aw_q <= 1'b0;
        if (s_axil_wvalid && s_axil_wready) begin
            w_q     <= 1'b1;
            wdata_q <= s_axil_wdata;
            wstrb_q <= s_axil_wstrb;
        end else if (write) w_q <= 1'b0;
        if (write) bvalid_q <= 1'b1;
        else if (s_axil_bready) bvalid_q <= 1'b0;

        if (s_axil_arvalid && s_axil_arready) begin
            ar_q     <= 1'b1;
            araddr_q <= s_axil_araddr;
        end else if (reading_q) ar_q <= 1'b0;
        reading_q <= m_reg_read;
        if (reading_q) begin
            rvalid_q     <= 1'b1;
            s_axil_rdata <= s_reg_rdata;
        end else if (s_axil_rready) rvalid_q <= 1'b0;

        if (rst) begin
            aw_q      <= 1'b0;
            w_q       <= 1'b0;
            ar_q      <= 1'b0;
            reading_q <= 1'b0;
            bvalid_q  <= 1'b0;
            rvalid_q  <= 1'b0;
        end
    end

    wire _unused = &{1'b0, s_axil_awprot, s_axil_arprot};
endmodule

`default_nettype wire
