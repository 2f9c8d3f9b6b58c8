// SPDX-License-Identifier: Apache-2.0
// A small engine on AXI trains one iteration of a tiny network; every weight and momentum word and LOSS are those of
// the reference trainer. The memory of gc_step_player answers on AXI4 as it does on the native port: data come when
// they come, so rready and bready have to be high. Write addresses wait for a cycle; a register's address comes behind
// its data.
`default_nettype none

module gc_axi_tb;
    localparam ADDR_W = 40, MEM_W = 64;

    wire                clk, rst, irq, reg_valid, reg_write, awready, wready, bvalid, arready, rvalid;
    wire [11:0]         reg_addr;
    wire [31:0]         reg_wdata, reg_rdata;
    wire [1:0]          bresp, rresp;
    reg                 aw_q, w_q, ar_q;       // that part of the access has been taken
    reg                 late_q;                // the write address waits
    wire                awvalid = reg_valid && reg_write && w_q && !aw_q;
    wire                wvalid  = reg_valid && reg_write && !w_q;
    wire                arvalid = reg_valid && !reg_write && !ar_q;
    wire                done    = bvalid || rvalid;
    wire                mem_arvalid, mem_arready, mem_rvalid, mem_rlast, mem_rready, mem_awvalid, mem_awready;
    wire                mem_wvalid, mem_wready, mem_wlast;
    wire                mem_bvalid, mem_bready;
    wire [ADDR_W-1:0]   mem_araddr, mem_awaddr;
    wire [7:0]          mem_arlen, mem_awlen;
    wire [MEM_W-1:0]    mem_rdata, mem_wdata;
    wire [MEM_W/8-1:0]  mem_wstrb;
    wire [13:0]         aw_fixed, ar_fixed;    // what is the same for every burst
    wire                odd   = aw_fixed[5:1] != {2'b01, 3'd3} || ar_fixed[5:1] != {2'b01, 3'd3};   // not INCR, 8 bytes
    wire                lost  = (mem_rvalid && !mem_rready) || (mem_bvalid && !mem_bready);
    wire                error = (bvalid && bresp != 2'b00) || (rvalid && rresp != 2'b00);

    gc_step_player #(.NAME("gc_axi_tb"), .ADDR_W(ADDR_W)) u_player (
        .clk(clk), .rst(rst), .m_reg_valid(reg_valid), .m_reg_write(reg_write), .m_reg_addr(reg_addr),
        .m_reg_wdata(reg_wdata), .s_reg_done(done), .s_reg_rdata(reg_rdata), .irq(irq), .s_rreq_valid(mem_arvalid),
        .m_rreq_ready(mem_arready), .s_rreq_addr(mem_araddr), .s_rreq_len(mem_arlen), .m_rdat_valid(mem_rvalid),
        .m_rdat_data(mem_rdata), .m_rdat_last(mem_rlast), .s_wreq_valid(mem_awvalid && late_q),
        .m_wreq_ready(mem_awready), .s_wreq_addr(mem_awaddr), .s_wdat_valid(mem_wvalid), .m_wdat_ready(mem_wready),
        .s_wdat_data(mem_wdata), .s_wdat_strb(mem_wstrb), .s_wdat_last(mem_wlast), .m_wrsp_valid(mem_bvalid)
    );
    gc_engine_axi #(
        .GRID(4), .COLS(4), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .ACT_DEPTH(64), .WGT_DEPTH(64), .GRAD_DEPTH(64),
        .GATE_DEPTH(64)
    ) u_engine (
        .aclk(clk), .aresetn(!rst), .s_axil_awaddr(reg_addr), .s_axil_awprot(3'b000), .s_axil_awvalid(awvalid),
        .s_axil_awready(awready), .s_axil_wdata(reg_wdata), .s_axil_wstrb(4'b1111), .s_axil_wvalid(wvalid),
        .s_axil_wready(wready), .s_axil_bresp(bresp), .s_axil_bvalid(bvalid), .s_axil_bready(1'b1),
        .s_axil_araddr(reg_addr), .s_axil_arprot(3'b000), .s_axil_arvalid(arvalid), .s_axil_arready(arready),
        .s_axil_rdata(reg_rdata), .s_axil_rresp(rresp), .s_axil_rvalid(rvalid), .s_axil_rready(1'b1),
        .m_axi_awid(aw_fixed[0]), .m_axi_awaddr(mem_awaddr), .m_axi_awlen(mem_awlen), .m_axi_awsize(aw_fixed[3:1]),
        .m_axi_awburst(aw_fixed[5:4]), .m_axi_awlock(aw_fixed[6]), .m_axi_awcache(aw_fixed[10:7]),
        .m_axi_awprot(aw_fixed[13:11]), .m_axi_awvalid(mem_awvalid), .m_axi_awready(mem_awready && late_q),
        .m_axi_wdata(mem_wdata), .m_axi_wstrb(mem_wstrb), .m_axi_wlast(mem_wlast), .m_axi_wvalid(mem_wvalid),
        .m_axi_wready(mem_wready), .m_axi_bid(1'b0), .m_axi_bresp(2'b00), .m_axi_bvalid(mem_bvalid),
        .m_axi_bready(mem_bready), .m_axi_arid(ar_fixed[0]), .m_axi_araddr(mem_araddr), .m_axi_arlen(mem_arlen),
        .m_axi_arsize(ar_fixed[3:1]), .m_axi_arburst(ar_fixed[5:4]), .m_axi_arlock(ar_fixed[6]),
        .m_axi_arcache(ar_fixed[10:7]), .m_axi_arprot(ar_fixed[13:11]), .m_axi_arvalid(mem_arvalid),
        .m_axi_arready(mem_arready), .m_axi_rid(1'b0), .m_axi_rdata(mem_rdata), .m_axi_rresp(2'b00),
        .m_axi_rlast(mem_rlast), .m_axi_rvalid(mem_rvalid), .m_axi_rready(mem_rready), .irq(irq)
    );

    always @(posedge clk) begin
        aw_q   <= reg_valid && !done && (aw_q || (awvalid && awready));
        w_q    <= reg_valid && !done && (w_q || (wvalid && wready));
        ar_q   <= reg_valid && !done && (ar_q || (arvalid && arready));
        late_q <= mem_awvalid && !(late_q && mem_awready);
        if (odd || lost || error) begin
            $display("gc_axi_tb: another kind of burst, an error response, or ready is low");
            $fatal;
        end
    end

    wire _unused = &{1'b0, mem_awlen, aw_fixed, ar_fixed};
endmodule

`default_nettype wire
