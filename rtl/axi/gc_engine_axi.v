// SPDX-License-Identifier: Apache-2.0
// The training engine with an AXI4 master for its memory and an AXI4-Lite slave for its registers, ready for a block
// design: aclk, aresetn (synchronous, active low), level interrupt. A thin front: it adds no cycle to the memory port.
// Parameters are the engine's. Error responses end the program (doc/registers.md, "Errors").
`default_nettype none

module gc_engine_axi #(
    parameter GRID       = 8,      // 4 or 8: GRID x GRID lanes
    parameter COLS       = 16,     // columns: GRID, 2 GRID .. GRID*GRID
    parameter DW         = 16,     // bits of a data word, 8..16
    parameter ACC_W      = 48,     // bits of a sum, 2*DW+4 (24 at least) to 48
    parameter MEM_W      = 512,    // bits of a memory beat, 64..512
    parameter ADDR_W     = 48,     // bits of a byte address, 32..48
    parameter BURST      = 32,     // beats of a burst, at most: a power of two, 8..128
    parameter ACT_DEPTH  = 2048,   // vectors in each operand buffer
    parameter WGT_DEPTH  = 8192,   // rows in the weight buffer
    parameter GRAD_DEPTH = 8192,   // rows in the gradient buffer
    parameter GATE_DEPTH = 16384,  // vectors in the gate buffer
    parameter DSP        = 0,      // multiply-accumulators: 0 inferred, 1 DSP48E2, 2 MULT18X18D
    parameter ULTRA      = 0,      // 1 operands 0, 2 operands 1, 4 weights, 8 gradients: sum of those in UltraRAM
    parameter HAS_VECTOR  = 1,     // 0: without the unit of VECTOR
    parameter HAS_SOFTMAX = 1,     // 0: without the softmax of LOAD
    parameter HAS_FACTOR  = 1      // 0: without the factors of COMPUTE: dropout, leaky ReLU
) (
    input  wire               aclk,
    input  wire               aresetn,
    input  wire [11:0]        s_axil_awaddr,
    input  wire [2:0]         s_axil_awprot,
    input  wire               s_axil_awvalid,
    output wire               s_axil_awready,
    input  wire [31:0]        s_axil_wdata,
    input  wire [3:0]         s_axil_wstrb,
    input  wire               s_axil_wvalid,
    output wire               s_axil_wready,
    output wire [1:0]         s_axil_bresp,
    output wire               s_axil_bvalid,
    input  wire               s_axil_bready,
    input  wire [11:0]        s_axil_araddr,
    input  wire [2:0]         s_axil_arprot,
    input  wire               s_axil_arvalid,
    output wire               s_axil_arready,
    output wire [31:0]        s_axil_rdata,
    output wire [1:0]         s_axil_rresp,
    output wire               s_axil_rvalid,
    input  wire               s_axil_rready,
    output wire [0:0]         m_axi_awid,
    output wire [ADDR_W-1:0]  m_axi_awaddr,
    output wire [7:0]         m_axi_awlen,
    output wire [2:0]         m_axi_awsize,
    output wire [1:0]         m_axi_awburst,
    output wire               m_axi_awlock,
    output wire [3:0]         m_axi_awcache,
    output wire [2:0]         m_axi_awprot,
    output wire               m_axi_awvalid,
    input  wire               m_axi_awready,
    output wire [MEM_W-1:0]   m_axi_wdata,
    output wire [MEM_W/8-1:0] m_axi_wstrb,
    output wire               m_axi_wlast,
    output wire               m_axi_wvalid,
    input  wire               m_axi_wready,
    input  wire [0:0]         m_axi_bid,
    input  wire [1:0]         m_axi_bresp,
    input  wire               m_axi_bvalid,
    output wire               m_axi_bready,
    output wire [0:0]         m_axi_arid,
    output wire [ADDR_W-1:0]  m_axi_araddr,
    output wire [7:0]         m_axi_arlen,
    output wire [2:0]         m_axi_arsize,
    output wire [1:0]         m_axi_arburst,
    output wire               m_axi_arlock,
    output wire [3:0]         m_axi_arcache,
    output wire [2:0]         m_axi_arprot,
    output wire               m_axi_arvalid,
    input  wire               m_axi_arready,
    input  wire [0:0]         m_axi_rid,
    input  wire [MEM_W-1:0]   m_axi_rdata,
    input  wire [1:0]         m_axi_rresp,
    input  wire               m_axi_rlast,
    input  wire               m_axi_rvalid,
    output wire               m_axi_rready,
    output wire               irq
);
    wire clk = aclk;
    wire rst = !aresetn;

    wire        reg_write;
    wire [11:0] reg_addr;
    wire [31:0] reg_wdata;
    wire [3:0]  reg_strb;
    wire        reg_read;
    wire [31:0] reg_rdata;
    wire               rreq_valid;
    wire               rreq_ready;
    wire [ADDR_W-1:0]  rreq_addr;
    wire [7:0]         rreq_len;
    wire               rdat_valid;
    wire [MEM_W-1:0]   rdat_data;
    wire               rdat_last;
    wire [1:0]         rdat_resp;
    wire               wreq_valid;
    wire               wreq_ready;
    wire [ADDR_W-1:0]  wreq_addr;
    wire [7:0]         wreq_len;
    wire               wdat_valid;
    wire               wdat_ready;
    wire [MEM_W-1:0]   wdat_data;
    wire [MEM_W/8-1:0] wdat_strb;
    wire               wdat_last;
    wire               wrsp_valid;
    wire [1:0]         wrsp_resp;
    wire               forget;
    wire [4:0]    active_unused;
    wire [5*11-1:0] tag_unused;

    gc_axil_slave u_registers (
        .clk(clk), .rst(rst),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awprot(s_axil_awprot), .s_axil_awvalid(s_axil_awvalid),
        .s_axil_awready(s_axil_awready), .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb),
        .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp),
        .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready), .s_axil_araddr(s_axil_araddr),
        .s_axil_arprot(s_axil_arprot), .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
        .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid),
        .s_axil_rready(s_axil_rready),
        .m_reg_write(reg_write), .m_reg_addr(reg_addr), .m_reg_wdata(reg_wdata), .m_reg_strb(reg_strb),
        .m_reg_read(reg_read),
        .s_reg_rdata(reg_rdata)
    );

    gc_engine #(
        .GRID(GRID), .COLS(COLS), .DW(DW), .ACC_W(ACC_W), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST),
        .ACT_DEPTH(ACT_DEPTH), .WGT_DEPTH(WGT_DEPTH), .GRAD_DEPTH(GRAD_DEPTH), .GATE_DEPTH(GATE_DEPTH), .DSP(DSP),
        .ULTRA(ULTRA), .HAS_VECTOR(HAS_VECTOR), .HAS_SOFTMAX(HAS_SOFTMAX), .HAS_FACTOR(HAS_FACTOR)
    ) u_engine (
        .clk(clk), .rst(rst),
        .s_reg_write(reg_write), .s_reg_addr(reg_addr), .s_reg_wdata(reg_wdata), .s_reg_strb(reg_strb),
        .s_reg_read(reg_read),
        .m_reg_rdata(reg_rdata),
        .m_rreq_valid(rreq_valid), .m_rreq_ready(rreq_ready), .m_rreq_addr(rreq_addr), .m_rreq_len(rreq_len),
        .s_rdat_valid(rdat_valid), .s_rdat_data(rdat_data), .s_rdat_last(rdat_last), .s_rdat_resp(rdat_resp),
        .m_wreq_valid(wreq_valid), .m_wreq_ready(wreq_ready), .m_wreq_addr(wreq_addr), .m_wreq_len(wreq_len),
        .m_wdat_valid(wdat_valid), .m_wdat_ready(wdat_ready), .m_wdat_data(wdat_data), .m_wdat_strb(wdat_strb),
        .m_wdat_last(wdat_last),
        .s_wrsp_valid(wrsp_valid), .s_wrsp_resp(wrsp_resp),
        .m_forget(forget),
        .irq(irq),
        .sts_active(active_unused), .sts_tag(tag_unused)
    );

    gc_axi_master #(.ADDR_W(ADDR_W), .MEM_W(MEM_W)) u_memory (
        .clk(clk), .rst(rst || forget),
        .s_rreq_valid(rreq_valid), .s_rreq_ready(rreq_ready), .s_rreq_addr(rreq_addr), .s_rreq_len(rreq_len),
        .m_rdat_valid(rdat_valid), .m_rdat_data(rdat_data), .m_rdat_last(rdat_last), .m_rdat_resp(rdat_resp),
        .s_wreq_valid(wreq_valid), .s_wreq_ready(wreq_ready), .s_wreq_addr(wreq_addr), .s_wreq_len(wreq_len),
        .s_wdat_valid(wdat_valid), .s_wdat_ready(wdat_ready), .s_wdat_data(wdat_data), .s_wdat_strb(wdat_strb),
        .s_wdat_last(wdat_last),
        .m_wrsp_valid(wrsp_valid), .m_wrsp_resp(wrsp_resp),
        .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr), .m_axi_awlen(m_axi_awlen), .m_axi_awsize(m_axi_awsize),
        .m_axi_awburst(m_axi_awburst), .m_axi_awlock(m_axi_awlock), .m_axi_awcache(m_axi_awcache),
        .m_axi_awprot(m_axi_awprot), .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(m_axi_awready),
        .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast), .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(m_axi_wready), .m_axi_bid(m_axi_bid), .m_axi_bresp(m_axi_bresp), .m_axi_bvalid(m_axi_bvalid),
        .m_axi_bready(m_axi_bready), .m_axi_arid(m_axi_arid), .m_axi_araddr(m_axi_araddr), .m_axi_arlen(m_axi_arlen),
        .m_axi_arsize(m_axi_arsize), .m_axi_arburst(m_axi_arburst), .m_axi_arlock(m_axi_arlock),
        .m_axi_arcache(m_axi_arcache), .m_axi_arprot(m_axi_arprot), .m_axi_arvalid(m_axi_arvalid),
        .m_axi_arready(m_axi_arready), .m_axi_rid(m_axi_rid), .m_axi_rdata(m_axi_rdata), .m_axi_rresp(m_axi_rresp),
        .m_axi_rlast(m_axi_rlast), .m_axi_rvalid(m_axi_rvalid), .m_axi_rready(m_axi_rready)
    );

    wire _unused = &{1'b0, active_unused, tag_unused};
endmodule

`default_nettype wire
