// SPDX-License-Identifier: Apache-2.0
// Top for the VCU118 (UltraScale+ VU9P): the engine between PCI Express and one of the board's DDR4 memories.
// Everything of the vendor's is behind u_platform, a block design that platform.tcl makes: XDMA, DDR4 controller,
// interconnect. One clock, XDMA's 125 MHz; the controller's own stays inside the platform. LEDs: memory calibrated,
// PCI Express link up, interrupt waiting.
`default_nettype none

module gc_vcu118 #(
    parameter COLS       = 16,
    parameter ACT_DEPTH  = 2048,
    parameter WGT_DEPTH  = 8192,
    parameter GRAD_DEPTH = 8192,
    parameter GATE_DEPTH = 16384
) (
    input  wire        default_250mhz_clk1_clk_p,
    input  wire        default_250mhz_clk1_clk_n,
    input  wire        reset,                     // button CPU_RESET, active high
    output wire        ddr4_sdram_c1_act_n,
    output wire [16:0] ddr4_sdram_c1_adr,
    output wire [1:0]  ddr4_sdram_c1_ba,
    output wire        ddr4_sdram_c1_bg,
    output wire        ddr4_sdram_c1_ck_c,
    output wire        ddr4_sdram_c1_ck_t,
    output wire        ddr4_sdram_c1_cke,
    output wire        ddr4_sdram_c1_cs_n,
    inout  wire [7:0]  ddr4_sdram_c1_dm_n,
    inout  wire [63:0] ddr4_sdram_c1_dq,
    inout  wire [7:0]  ddr4_sdram_c1_dqs_c,
    inout  wire [7:0]  ddr4_sdram_c1_dqs_t,
    output wire        ddr4_sdram_c1_odt,
    output wire        ddr4_sdram_c1_reset_n,
    input  wire        pcie_refclk_clk_p,
    input  wire        pcie_refclk_clk_n,
    input  wire        pcie_perstn,
    input  wire [3:0]  pci_express_x4_rxn,
    input  wire [3:0]  pci_express_x4_rxp,
    output wire [3:0]  pci_express_x4_txn,
    output wire [3:0]  pci_express_x4_txp,
    output wire [2:0]  led
);
    localparam MEM_W  = 512;   // as in platform.tcl
    localparam ADDR_W = 40;

    wire               aclk, aresetn, irq;
    wire [31:0]        axil_awaddr, axil_araddr, axil_wdata, axil_rdata;
    wire [3:0]         axil_wstrb;
    wire [2:0]         axil_awprot, axil_arprot;
    wire [1:0]         axil_bresp, axil_rresp;
    wire               axil_awvalid, axil_awready, axil_wvalid, axil_wready, axil_bvalid, axil_bready;
    wire               axil_arvalid, axil_arready, axil_rvalid, axil_rready;
    wire [0:0]         mem_awid, mem_bid, mem_arid, mem_rid;
    wire [ADDR_W-1:0]  mem_awaddr, mem_araddr;
    wire [7:0]         mem_awlen, mem_arlen;
    wire [2:0]         mem_awsize, mem_arsize, mem_awprot, mem_arprot;
    wire [1:0]         mem_awburst, mem_arburst, mem_bresp, mem_rresp;
    wire [3:0]         mem_awcache, mem_arcache;
    wire [MEM_W-1:0]   mem_wdata, mem_rdata;
    wire [MEM_W/8-1:0] mem_wstrb;
    wire               mem_awlock, mem_awvalid, mem_awready, mem_wlast, mem_wvalid, mem_wready, mem_bvalid, mem_bready;
    wire               mem_arlock, mem_arvalid, mem_arready, mem_rlast, mem_rvalid, mem_rready;

    gc_vcu118_platform u_platform (
        .default_250mhz_clk1_clk_p(default_250mhz_clk1_clk_p), .default_250mhz_clk1_clk_n(default_250mhz_clk1_clk_n),
        .reset(reset),
        .ddr4_sdram_c1_act_n(ddr4_sdram_c1_act_n), .ddr4_sdram_c1_adr(ddr4_sdram_c1_adr),
        .ddr4_sdram_c1_ba(ddr4_sdram_c1_ba), .ddr4_sdram_c1_bg(ddr4_sdram_c1_bg),
        .ddr4_sdram_c1_ck_c(ddr4_sdram_c1_ck_c), .ddr4_sdram_c1_ck_t(ddr4_sdram_c1_ck_t),
        .ddr4_sdram_c1_cke(ddr4_sdram_c1_cke), .ddr4_sdram_c1_cs_n(ddr4_sdram_c1_cs_n),
        .ddr4_sdram_c1_dm_n(ddr4_sdram_c1_dm_n), .ddr4_sdram_c1_dq(ddr4_sdram_c1_dq),
        .ddr4_sdram_c1_dqs_c(ddr4_sdram_c1_dqs_c), .ddr4_sdram_c1_dqs_t(ddr4_sdram_c1_dqs_t),
        .ddr4_sdram_c1_odt(ddr4_sdram_c1_odt), .ddr4_sdram_c1_reset_n(ddr4_sdram_c1_reset_n),
        .pcie_refclk_clk_p(pcie_refclk_clk_p), .pcie_refclk_clk_n(pcie_refclk_clk_n),
        .pcie_perstn(pcie_perstn),
        .pci_express_x4_rxn(pci_express_x4_rxn), .pci_express_x4_rxp(pci_express_x4_rxp),
        .pci_express_x4_txn(pci_express_x4_txn), .pci_express_x4_txp(pci_express_x4_txp),
        .calibrated(led[0]),
        .link_up(led[1]),
        .irq(irq),
        .aclk(aclk), .aresetn(aresetn),
        .M_AXIL_awaddr(axil_awaddr), .M_AXIL_awprot(axil_awprot), .M_AXIL_awvalid(axil_awvalid),
        .M_AXIL_awready(axil_awready), .M_AXIL_wdata(axil_wdata), .M_AXIL_wstrb(axil_wstrb),
        .M_AXIL_wvalid(axil_wvalid), .M_AXIL_wready(axil_wready), .M_AXIL_bresp(axil_bresp),
        .M_AXIL_bvalid(axil_bvalid), .M_AXIL_bready(axil_bready), .M_AXIL_araddr(axil_araddr),
        .M_AXIL_arprot(axil_arprot), .M_AXIL_arvalid(axil_arvalid), .M_AXIL_arready(axil_arready),
        .M_AXIL_rdata(axil_rdata), .M_AXIL_rresp(axil_rresp), .M_AXIL_rvalid(axil_rvalid), .M_AXIL_rready(axil_rready),
        .S_AXI_awid(mem_awid), .S_AXI_awaddr(mem_awaddr), .S_AXI_awlen(mem_awlen), .S_AXI_awsize(mem_awsize),
        .S_AXI_awburst(mem_awburst), .S_AXI_awlock(mem_awlock), .S_AXI_awcache(mem_awcache), .S_AXI_awprot(mem_awprot),
        .S_AXI_awvalid(mem_awvalid), .S_AXI_awready(mem_awready), .S_AXI_wdata(mem_wdata), .S_AXI_wstrb(mem_wstrb),
        .S_AXI_wlast(mem_wlast), .S_AXI_wvalid(mem_wvalid), .S_AXI_wready(mem_wready), .S_AXI_bid(mem_bid),
        .S_AXI_bresp(mem_bresp), .S_AXI_bvalid(mem_bvalid), .S_AXI_bready(mem_bready), .S_AXI_arid(mem_arid),
        .S_AXI_araddr(mem_araddr), .S_AXI_arlen(mem_arlen), .S_AXI_arsize(mem_arsize), .S_AXI_arburst(mem_arburst),
        .S_AXI_arlock(mem_arlock), .S_AXI_arcache(mem_arcache), .S_AXI_arprot(mem_arprot), .S_AXI_arvalid(mem_arvalid),
        .S_AXI_arready(mem_arready), .S_AXI_rid(mem_rid), .S_AXI_rdata(mem_rdata), .S_AXI_rresp(mem_rresp),
        .S_AXI_rlast(mem_rlast), .S_AXI_rvalid(mem_rvalid), .S_AXI_rready(mem_rready)
    );

    gc_engine_axi #(
        .COLS(COLS), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .ACT_DEPTH(ACT_DEPTH), .WGT_DEPTH(WGT_DEPTH),
        .GRAD_DEPTH(GRAD_DEPTH), .GATE_DEPTH(GATE_DEPTH)
    ) u_engine (
        .aclk(aclk), .aresetn(aresetn),
        .irq(irq),
        .s_axil_awaddr(axil_awaddr[11:0]), .s_axil_awprot(axil_awprot), .s_axil_awvalid(axil_awvalid),
        .s_axil_awready(axil_awready), .s_axil_wdata(axil_wdata), .s_axil_wstrb(axil_wstrb),
        .s_axil_wvalid(axil_wvalid), .s_axil_wready(axil_wready), .s_axil_bresp(axil_bresp),
        .s_axil_bvalid(axil_bvalid), .s_axil_bready(axil_bready), .s_axil_araddr(axil_araddr[11:0]),
        .s_axil_arprot(axil_arprot), .s_axil_arvalid(axil_arvalid), .s_axil_arready(axil_arready),
        .s_axil_rdata(axil_rdata), .s_axil_rresp(axil_rresp), .s_axil_rvalid(axil_rvalid), .s_axil_rready(axil_rready),
        .m_axi_awid(mem_awid), .m_axi_awaddr(mem_awaddr), .m_axi_awlen(mem_awlen), .m_axi_awsize(mem_awsize),
        .m_axi_awburst(mem_awburst), .m_axi_awlock(mem_awlock), .m_axi_awcache(mem_awcache), .m_axi_awprot(mem_awprot),
        .m_axi_awvalid(mem_awvalid), .m_axi_awready(mem_awready), .m_axi_wdata(mem_wdata), .m_axi_wstrb(mem_wstrb),
        .m_axi_wlast(mem_wlast), .m_axi_wvalid(mem_wvalid), .m_axi_wready(mem_wready), .m_axi_bid(mem_bid),
        .m_axi_bresp(mem_bresp), .m_axi_bvalid(mem_bvalid), .m_axi_bready(mem_bready), .m_axi_arid(mem_arid),
        .m_axi_araddr(mem_araddr), .m_axi_arlen(mem_arlen), .m_axi_arsize(mem_arsize), .m_axi_arburst(mem_arburst),
        .m_axi_arlock(mem_arlock), .m_axi_arcache(mem_arcache), .m_axi_arprot(mem_arprot), .m_axi_arvalid(mem_arvalid),
        .m_axi_arready(mem_arready), .m_axi_rid(mem_rid), .m_axi_rdata(mem_rdata), .m_axi_rresp(mem_rresp),
        .m_axi_rlast(mem_rlast), .m_axi_rvalid(mem_rvalid), .m_axi_rready(mem_rready)
    );

    assign led[2] = irq;

    wire _unused = &{1'b0, axil_awaddr[31:12], axil_araddr[31:12]};
endmodule

`default_nettype wire
