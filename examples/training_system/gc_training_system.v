// SPDX-License-Identifier: Apache-2.0
// A training system without a processor: a command player programs the engine over AXI4-Lite, the engine trains in a
// block RAM over AXI4. `done` rises when every iteration's STATUS and LOSS were those of the reference trainer,
// `failed` at the first that was not. Everything can be synthesised: with two LEDs at these outputs it is a first test
// of a board that needs no DRAM and no host.
`default_nettype none

module gc_training_system (
    input  wire        aclk,
    input  wire        aresetn,
    output wire [15:0] at,      // number of the command under way, or that failed
    output wire        done,
    output wire        failed
);
    // As ENGINE and RAM_BYTES in make_images.py.
    localparam MEM_W  = 64;
    localparam ADDR_W = 40;
    localparam BEATS  = 8192;

    wire [11:0]        awaddr, araddr;
    wire [2:0]         awprot, arprot;
    wire [31:0]        wdata, rdata;
    wire [3:0]         wstrb;
    wire [1:0]         bresp, rresp;
    wire               awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready, irq;
    wire [ADDR_W-1:0]  mem_awaddr, mem_araddr;
    wire [7:0]         mem_arlen;
    wire [MEM_W-1:0]   mem_wdata, mem_rdata;
    wire [MEM_W/8-1:0] mem_wstrb;
    wire [1:0]         mem_bresp, mem_rresp;
    wire               mem_awvalid, mem_awready, mem_wlast, mem_wvalid, mem_wready, mem_bvalid, mem_bready;
    wire               mem_arvalid, mem_arready, mem_rlast, mem_rvalid, mem_rready;

    // What this RAM needs not know: all bursts are INCR, of whole beats, with ID 0.
    wire [0:0] awid_unused, arid_unused;
    wire [7:0] awlen_unused;
    wire [2:0] awsize_unused, arsize_unused, memory_awprot_unused, memory_arprot_unused;
    wire [1:0] awburst_unused, arburst_unused;
    wire [3:0] awcache_unused, arcache_unused;
    wire       awlock_unused, arlock_unused;

    gc_command_player #(.FILE("commands.hex"), .DEPTH(256)) u_player (
        .clk(aclk), .rst(!aresetn),
        .irq(irq),
        .m_axil_awaddr(awaddr), .m_axil_awprot(awprot), .m_axil_awvalid(awvalid), .m_axil_awready(awready),
        .m_axil_wdata(wdata), .m_axil_wstrb(wstrb), .m_axil_wvalid(wvalid), .m_axil_wready(wready),
        .m_axil_bresp(bresp), .m_axil_bvalid(bvalid), .m_axil_bready(bready), .m_axil_araddr(araddr),
        .m_axil_arprot(arprot), .m_axil_arvalid(arvalid), .m_axil_arready(arready), .m_axil_rdata(rdata),
        .m_axil_rresp(rresp), .m_axil_rvalid(rvalid), .m_axil_rready(rready),
        .at(at),
        .done(done),
        .failed(failed)
    );

    gc_engine_axi #(
        .GRID(4), .COLS(4), .DW(16), .ACC_W(48), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .ACT_DEPTH(512), .WGT_DEPTH(256),
        .GRAD_DEPTH(256), .GATE_DEPTH(512)
    ) u_engine (
        .aclk(aclk), .aresetn(aresetn),
        .irq(irq),
        .s_axil_awaddr(awaddr), .s_axil_awprot(awprot), .s_axil_awvalid(awvalid), .s_axil_awready(awready),
        .s_axil_wdata(wdata), .s_axil_wstrb(wstrb), .s_axil_wvalid(wvalid), .s_axil_wready(wready),
        .s_axil_bresp(bresp), .s_axil_bvalid(bvalid), .s_axil_bready(bready), .s_axil_araddr(araddr),
        .s_axil_arprot(arprot), .s_axil_arvalid(arvalid), .s_axil_arready(arready), .s_axil_rdata(rdata),
        .s_axil_rresp(rresp), .s_axil_rvalid(rvalid), .s_axil_rready(rready),
        .m_axi_awid(awid_unused), .m_axi_awaddr(mem_awaddr), .m_axi_awlen(awlen_unused), .m_axi_awsize(awsize_unused),
        .m_axi_awburst(awburst_unused), .m_axi_awlock(awlock_unused), .m_axi_awcache(awcache_unused),
        .m_axi_awprot(memory_awprot_unused), .m_axi_awvalid(mem_awvalid), .m_axi_awready(mem_awready),
        .m_axi_wdata(mem_wdata), .m_axi_wstrb(mem_wstrb), .m_axi_wlast(mem_wlast), .m_axi_wvalid(mem_wvalid),
        .m_axi_wready(mem_wready), .m_axi_bid(1'b0), .m_axi_bresp(mem_bresp), .m_axi_bvalid(mem_bvalid),
        .m_axi_bready(mem_bready), .m_axi_arid(arid_unused), .m_axi_araddr(mem_araddr), .m_axi_arlen(mem_arlen),
        .m_axi_arsize(arsize_unused), .m_axi_arburst(arburst_unused), .m_axi_arlock(arlock_unused),
        .m_axi_arcache(arcache_unused), .m_axi_arprot(memory_arprot_unused), .m_axi_arvalid(mem_arvalid),
        .m_axi_arready(mem_arready), .m_axi_rid(1'b0), .m_axi_rdata(mem_rdata), .m_axi_rresp(mem_rresp),
        .m_axi_rlast(mem_rlast), .m_axi_rvalid(mem_rvalid), .m_axi_rready(mem_rready)
    );

    gc_axi_ram #(.FILE("memory.hex"), .DEPTH(BEATS), .MEM_W(MEM_W), .ADDR_W(ADDR_W)) u_ram (
        .clk(aclk), .rst(!aresetn),
        .s_axi_awaddr(mem_awaddr), .s_axi_awvalid(mem_awvalid), .s_axi_awready(mem_awready), .s_axi_wdata(mem_wdata),
        .s_axi_wstrb(mem_wstrb), .s_axi_wlast(mem_wlast), .s_axi_wvalid(mem_wvalid), .s_axi_wready(mem_wready),
        .s_axi_bresp(mem_bresp), .s_axi_bvalid(mem_bvalid), .s_axi_bready(mem_bready), .s_axi_araddr(mem_araddr),
        .s_axi_arlen(mem_arlen), .s_axi_arvalid(mem_arvalid), .s_axi_arready(mem_arready), .s_axi_rdata(mem_rdata),
        .s_axi_rresp(mem_rresp), .s_axi_rlast(mem_rlast), .s_axi_rvalid(mem_rvalid), .s_axi_rready(mem_rready)
    );

    wire _unused = &{1'b0, awid_unused, awlen_unused, awsize_unused, awburst_unused, awlock_unused, awcache_unused,
                     memory_awprot_unused, arid_unused, arsize_unused, arburst_unused, arlock_unused, arcache_unused,
                     memory_arprot_unused};
endmodule

`default_nettype wire
