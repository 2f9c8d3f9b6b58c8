// SPDX-License-Identifier: Apache-2.0
// The native memory port (doc/streams.md) as an AXI4 master: constants are added, nothing takes a cycle. INCR bursts
// of whole beats that never cross 4 KiB, one ID, so the responses keep their order. Read data and write responses are
// always taken. A write address that is not taken at once is kept here, because its data must not wait for it: a slave
// may take an address only when its data are offered. VALIDs are low in a reset from its first moment on (AXI A3.1.2).
`default_nettype none

module gc_axi_master #(
    parameter ADDR_W = 48,
    parameter MEM_W  = 512
) (
    input  wire               clk,
    input  wire               rst,
    // native memory port
    input  wire               s_rreq_valid,
    output wire               s_rreq_ready,
    input  wire [ADDR_W-1:0]  s_rreq_addr,
    input  wire [7:0]         s_rreq_len,
    output wire               m_rdat_valid,
    output wire [MEM_W-1:0]   m_rdat_data,
    output wire               m_rdat_last,
    output wire [1:0]         m_rdat_resp,
    input  wire               s_wreq_valid,
    output wire               s_wreq_ready,
    input  wire [ADDR_W-1:0]  s_wreq_addr,
    input  wire [7:0]         s_wreq_len,
    input  wire               s_wdat_valid,
    output wire               s_wdat_ready,
    input  wire [MEM_W-1:0]   s_wdat_data,
    input  wire [MEM_W/8-1:0] s_wdat_strb,
    input  wire               s_wdat_last,
    output wire               m_wrsp_valid,
    output wire [1:0]         m_wrsp_resp,
    // AXI4
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
    output wire               m_axi_rready
);
    localparam SIZE = $clog2(MEM_W/8);
    localparam [1:0] INCR       = 2'b01;
    localparam [3:0] BUFFERABLE = 4'b0011;   // normal, non-cacheable, bufferable

    assign m_axi_arid    = 1'b0;
    assign m_axi_araddr  = s_rreq_addr;
    assign m_axi_arlen   = s_rreq_len;
    assign m_axi_arsize  = SIZE[2:0];
    assign m_axi_arburst = INCR;
    assign m_axi_arlock  = 1'b0;
    assign m_axi_arcache = BUFFERABLE;
    assign m_axi_arprot  = 3'b000;
    assign m_axi_arvalid = s_rreq_valid && !rst;
    assign s_rreq_ready  = m_axi_arready;
    assign m_rdat_valid  = m_axi_rvalid;
    assign m_rdat_data   = m_axi_rdata;
    assign m_rdat_last   = m_axi_rlast;
    assign m_rdat_resp   = m_axi_rresp;
    assign m_axi_rready  = 1'b1;

    reg              aw_q;
    reg [ADDR_W-1:0] awaddr_q;
    reg [7:0]        awlen_q;
    always @(posedge clk) begin
        aw_q <= m_axi_awvalid && !m_axi_awready;
        if (!aw_q) {awaddr_q, awlen_q} <= {s_wreq_addr, s_wreq_len};
        if (rst) aw_q <= 1'b0;
    end

    assign m_axi_awid    = 1'b0;
    assign m_axi_awaddr  = aw_q ? awaddr_q : s_wreq_addr;
    assign m_axi_awlen   = aw_q ? awlen_q : s_wreq_len;
    assign m_axi_awsize  = SIZE[2:0];
    assign m_axi_awburst = INCR;
    assign m_axi_awlock  = 1'b0;
    assign m_axi_awcache = BUFFERABLE;
    assign m_axi_awprot  = 3'b000;
    assign m_axi_awvalid = (aw_q || s_wreq_valid) && !rst;
    assign s_wreq_ready  = !aw_q;
    assign m_axi_wdata   = s_wdat_data;
    assign m_axi_wstrb   = s_wdat_strb;
    assign m_axi_wlast   = s_wdat_last;
    assign m_axi_wvalid  = s_wdat_valid && !rst;
    assign s_wdat_ready  = m_axi_wready;
    assign m_wrsp_valid  = m_axi_bvalid;
    assign m_wrsp_resp   = m_axi_bresp;
    assign m_axi_bready  = 1'b1;

    wire _unused = &{1'b0, m_axi_bid, m_axi_rid};
endmodule

`default_nettype wire
