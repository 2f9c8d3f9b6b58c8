// SPDX-License-Identifier: Apache-2.0
// gc_axi_master, MEM_W 64, with at most 4 bursts under way on each side. AXI4 for its requester: AR, AW, W stay until
// taken, bursts of whole beats inside 4 KiB, WLAST on the last beat, no W before its AW is offered, RREADY and BREADY
// always high, ID 0; no VALID in a reset, not even the first. For the native port: data and responses of the bus with
// their codes, all of them and no others. Assumed: the native port's rules of its requester, AXI4's of the slave.
`default_nettype none

module gc_axi_master_props (
    input wire        clk,
    input wire        rst,
    input wire        rreq_valid,
    input wire [32:0] rreq_addr,
    input wire [7:0]  rreq_len,
    input wire        wreq_valid,
    input wire [32:0] wreq_addr,
    input wire [7:0]  wreq_len,
    input wire        wdat_valid,
    input wire [71:0] wdat_word,
    input wire        wdat_last,
    input wire        arready,
    input wire        awready,
    input wire        wready,
    input wire        rvalid,
    input wire [63:0] rdata,
    input wire [1:0]  rresp,
    input wire        rlast,
    input wire        bvalid,
    input wire [1:0]  bresp
);
    wire        started;
    wire        rreq_ready;
    wire        wreq_ready;
    wire        wdat_ready;
    wire        rdat_valid;
    wire [63:0] rdat_data;
    wire        rdat_last;
    wire        wrsp_valid;
    wire        arvalid;
    wire [32:0] araddr;
    wire [7:0]  arlen;
    wire [13:0] ar_constants;
    wire        awvalid;
    wire [32:0] awaddr;
    wire [7:0]  awlen;
    wire [13:0] aw_constants;
    wire        wvalid;
    wire [71:0] word;
    wire        wlast;
    wire        rready;
    wire        bready;
    wire [1:0]  rdat_resp;
    wire [1:0]  wrsp_resp;

    gc_axi_master #(.ADDR_W(33), .MEM_W(64)) u_dut (
        .clk(clk), .rst(rst),
        .s_rreq_valid(rreq_valid), .s_rreq_ready(rreq_ready), .s_rreq_addr(rreq_addr), .s_rreq_len(rreq_len),
        .m_rdat_valid(rdat_valid), .m_rdat_data(rdat_data), .m_rdat_last(rdat_last), .m_rdat_resp(rdat_resp),
        .s_wreq_valid(wreq_valid), .s_wreq_ready(wreq_ready), .s_wreq_addr(wreq_addr), .s_wreq_len(wreq_len),
        .s_wdat_valid(wdat_valid), .s_wdat_ready(wdat_ready), .s_wdat_data(wdat_word[63:0]),
        .s_wdat_strb(wdat_word[71:64]), .s_wdat_last(wdat_last),
        .m_wrsp_valid(wrsp_valid), .m_wrsp_resp(wrsp_resp),
        .m_axi_awid(aw_constants[0]), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen), .m_axi_awsize(aw_constants[3:1]),
        .m_axi_awburst(aw_constants[5:4]), .m_axi_awlock(aw_constants[6]), .m_axi_awcache(aw_constants[10:7]),
        .m_axi_awprot(aw_constants[13:11]), .m_axi_awvalid(awvalid), .m_axi_awready(awready), .m_axi_wdata(word[63:0]),
        .m_axi_wstrb(word[71:64]), .m_axi_wlast(wlast), .m_axi_wvalid(wvalid), .m_axi_wready(wready), .m_axi_bid(1'b0),
        .m_axi_bresp(bresp), .m_axi_bvalid(bvalid), .m_axi_bready(bready), .m_axi_arid(ar_constants[0]),
        .m_axi_araddr(araddr), .m_axi_arlen(arlen), .m_axi_arsize(ar_constants[3:1]), .m_axi_arburst(ar_constants[5:4]),
        .m_axi_arlock(ar_constants[6]), .m_axi_arcache(ar_constants[10:7]), .m_axi_arprot(ar_constants[13:11]),
        .m_axi_arvalid(arvalid), .m_axi_arready(arready), .m_axi_rid(1'b0), .m_axi_rdata(rdata), .m_axi_rresp(rresp),
        .m_axi_rlast(rlast), .m_axi_rvalid(rvalid), .m_axi_rready(rready)
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));

    wire [2:0]  native_reads, bus_reads, native_writes, bus_writes;
    wire        native_read_full, bus_read_full, native_write_full, bus_write_full;
    wire [7:0]  native_left, bus_left;
    wire [15:0] native_unanswered, bus_unanswered;
    gc_read_rules #(.REQUESTER(1)) u_native_read (
        .clk(clk), .rst(rst),
        .started(started),
        .rreq_valid(rreq_valid),
        .rreq_ready(rreq_ready),
        .rreq_addr(rreq_addr),
        .rreq_len(rreq_len),
        .rdat_valid(rdat_valid),
        .rdat_last(rdat_last),
        .bursts(native_reads),
        .full(native_read_full)
    );
    gc_read_rules #(.MEMORY(1), .HIDES(1)) u_bus_read (
        .clk(clk), .rst(rst),
        .started(started),
        .rreq_valid(arvalid),
        .rreq_ready(arready),
        .rreq_addr(araddr),
        .rreq_len(arlen),
        .rdat_valid(rvalid && rready),
        .rdat_last(rlast),
        .bursts(bus_reads),
        .full(bus_read_full)
    );
    gc_write_rules #(.REQUESTER(1)) u_native_write (
        .clk(clk), .rst(rst),
        .started(started),
        .wreq_valid(wreq_valid),
        .wreq_ready(wreq_ready),
        .wreq_addr(wreq_addr),
        .wreq_len(wreq_len),
        .wdat_valid(wdat_valid),
        .wdat_ready(wdat_ready),
        .wdat_word(wdat_word),
        .wdat_last(wdat_last),
        .wrsp_valid(wrsp_valid),
        .bursts(native_writes),
        .left(native_left),
        .full(native_write_full),
        .unanswered(native_unanswered)
    );
    // On the bus a burst counts from its offer on: its beats need not wait until its address is taken.
    reg waiting_q;
    always @(posedge clk) waiting_q <= awvalid && !awready && !rst;
    gc_request_rules #(.HIDES(1)) u_bus_address (
        .clk(clk), .rst(rst),
        .started(started),
        .valid(awvalid),
        .ready(awready),
        .addr(awaddr),
        .len(awlen)
    );
    gc_write_rules #(.MEMORY(1), .HIDES(1)) u_bus_write (
        .clk(clk), .rst(rst),
        .started(started),
        .wreq_valid(awvalid && !waiting_q),
        .wreq_ready(1'b1),
        .wreq_addr(awaddr),
        .wreq_len(awlen),
        .wdat_valid(wvalid),
        .wdat_ready(wready),
        .wdat_word(word),
        .wdat_last(wlast),
        .wrsp_valid(bvalid && bready),
        .bursts(bus_writes),
        .left(bus_left),
        .full(bus_write_full),
        .unanswered(bus_unanswered)
    );

    (* hierconn *) wire [31:0] \u_native_read.u_queue.lens_q ;
    (* hierconn *) wire [31:0] \u_bus_read.u_queue.lens_q ;
    (* hierconn *) wire [31:0] \u_native_write.u_queue.lens_q ;
    (* hierconn *) wire [31:0] \u_bus_write.u_queue.lens_q ;

    always @* if (rst) assert (!arvalid && !awvalid && !wvalid);

    always @* if (started) begin
        assume (!bus_read_full || !arready);
        assume (!native_write_full || !wreq_valid);
        assume (bus_unanswered < 16'd16 || !wready);
        // ID 0, 8 bytes a beat, INCR, no lock, normal bufferable, no protection.
        assert (ar_constants == {3'd0, 4'b0011, 1'b0, 2'b01, 3'd3, 1'b0} && aw_constants == ar_constants);
        assert (rready && bready);
        if (rdat_valid) assert (rdat_data == rdata && rdat_resp == rresp);
        if (wrsp_valid) assert (wrsp_resp == bresp);
        if (wvalid) assert (word == wdat_word);
        if (arvalid) assert (araddr == rreq_addr && arlen == rreq_len);
        if (wreq_valid && wreq_ready && !rst) assert (awvalid && awaddr == wreq_addr && awlen == wreq_len);
        // Both ends count the same bursts.
        assert (native_reads == bus_reads && \u_native_read.u_queue.lens_q == \u_bus_read.u_queue.lens_q );
        assert (native_writes == bus_writes && \u_native_write.u_queue.lens_q == \u_bus_write.u_queue.lens_q );
        assert (native_unanswered == bus_unanswered);
        assert (wreq_ready == !waiting_q);
        cover (waiting_q && wvalid && wready);
        cover (rresp[1] && bus_reads == 3'd3 && bus_unanswered == 16'd1 && rlast && rvalid);
    end
endmodule

`default_nettype wire
