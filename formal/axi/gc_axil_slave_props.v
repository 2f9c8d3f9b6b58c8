// SPDX-License-Identifier: Apache-2.0
// gc_axil_slave. AXI4-Lite: a response stays until it is taken; one for each request, none without a request, and none
// later than 5 cycles after its request and the response before it; none in a reset, not even the first. Register
// port: each write once with its own address, data and strobes; each read once with its own address, the register's
// data in the answer. Every answer is OKAY. Assumed: the master's valids stay.
`default_nettype none

module gc_axil_slave_props (
    input wire        clk,
    input wire        rst,
    input wire [11:0] awaddr,
    input wire [2:0]  awprot,
    input wire        awvalid,
    input wire [31:0] wdata,
    input wire [3:0]  wstrb,
    input wire        wvalid,
    input wire        bready,
    input wire [11:0] araddr,
    input wire [2:0]  arprot,
    input wire        arvalid,
    input wire        rready,
    input wire [31:0] reg_rdata
);
    wire        awready;
    wire        wready;
    wire [1:0]  bresp;
    wire        bvalid;
    wire        arready;
    wire [31:0] rdata;
    wire [1:0]  rresp;
    wire        rvalid;
    wire        reg_write;
    wire [11:0] reg_addr;
    wire [31:0] reg_wdata;
    wire [3:0]  reg_strb;
    wire        reg_read;
    wire        started;

    gc_axil_slave u_dut (
        .clk(clk), .rst(rst),
        .s_axil_awaddr(awaddr), .s_axil_awprot(awprot), .s_axil_awvalid(awvalid), .s_axil_awready(awready),
        .s_axil_wdata(wdata), .s_axil_wstrb(wstrb), .s_axil_wvalid(wvalid), .s_axil_wready(wready),
        .s_axil_bresp(bresp), .s_axil_bvalid(bvalid), .s_axil_bready(bready), .s_axil_araddr(araddr),
        .s_axil_arprot(arprot), .s_axil_arvalid(arvalid), .s_axil_arready(arready), .s_axil_rdata(rdata),
        .s_axil_rresp(rresp), .s_axil_rvalid(rvalid), .s_axil_rready(rready),
        .m_reg_write(reg_write), .m_reg_addr(reg_addr), .m_reg_wdata(reg_wdata), .m_reg_strb(reg_strb),
        .m_reg_read(reg_read),
        .s_reg_rdata(reg_rdata)
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));
    gc_stream_rules #(.W(12), .ASSUME(1)) u_aw (.clk(clk), .rst(rst), .valid(awvalid), .ready(awready), .data(awaddr));
    gc_stream_rules #(.W(36), .ASSUME(1)) u_w (
        .clk(clk), .rst(rst),
        .valid(wvalid),
        .ready(wready),
        .data({wstrb, wdata})
    );
    gc_stream_rules #(.W(12), .ASSUME(1)) u_ar (.clk(clk), .rst(rst), .valid(arvalid), .ready(arready), .data(araddr));
    gc_stream_rules #(.W(2), .HIDES(1)) u_b (
        .clk(clk), .rst(rst),
        .valid(bvalid && started),
        .ready(bready),
        .data(bresp)
    );
    gc_stream_rules #(.W(34), .HIDES(1)) u_r (
        .clk(clk), .rst(rst),
        .valid(rvalid && started),
        .ready(rready),
        .data({rdata, rresp})
    );

    // Requests without response, and what the register port owes them: an access for each and the answer of the last
    // one.
    reg [1:0]  aw_q;
    reg [1:0]  w_q;
    reg [1:0]  ar_q;
    reg [11:0] awaddr_q;
    reg [35:0] word_q;
    reg [11:0] araddr_q;
    reg        written_q;
    reg        read_q;        // the register was read in the last cycle
    reg        answered_q;    // .. and its data are the answer
    reg [31:0] answer_q;
    reg [2:0]  waited_q;      // cycles with a request, no response
    reg [2:0]  read_waited_q;

    always @(posedge clk) begin
        aw_q <= aw_q + (awvalid && awready) - (bvalid && bready);
        w_q  <= w_q + (wvalid && wready) - (bvalid && bready);
        ar_q <= ar_q + (arvalid && arready) - (rvalid && rready);
        if (awvalid && awready) awaddr_q <= awaddr;
        if (wvalid && wready)   word_q   <= {wstrb, wdata};
        if (arvalid && arready) araddr_q <= araddr;
        if (reg_write) written_q <= 1'b1;
        else if (bvalid && bready) written_q <= 1'b0;
        read_q <= reg_read;
        if (read_q) begin
            answered_q <= 1'b1;
            answer_q   <= reg_rdata;
        end else if (rvalid && rready) answered_q <= 1'b0;
        waited_q      <= |aw_q && |w_q && !bvalid ? waited_q + 3'd1 : 3'd0;
        read_waited_q <= |ar_q && !rvalid ? read_waited_q + 3'd1 : 3'd0;
        if (rst) begin
            aw_q          <= 2'd0;
            w_q           <= 2'd0;
            ar_q          <= 2'd0;
            written_q     <= 1'b0;
            read_q        <= 1'b0;
            answered_q    <= 1'b0;
            waited_q      <= 3'd0;
            read_waited_q <= 3'd0;
        end
    end

    (* hierconn *) wire        \u_dut.reading_q ;
    (* hierconn *) wire [11:0] \u_dut.awaddr_q ;
    (* hierconn *) wire [11:0] \u_dut.araddr_q ;
    (* hierconn *) wire        \u_dut.bvalid_q ;
    (* hierconn *) wire        \u_dut.rvalid_q ;

    always @* if (rst) assert (!bvalid && !rvalid);

    always @* if (started) begin
        if (bvalid) assert (|aw_q && |w_q && bresp == 2'b00 && written_q);
        if (rvalid) assert (|ar_q && rresp == 2'b00);
        if (rvalid) assert (answered_q && rdata == answer_q);
        if (reg_write) assert (!reg_read && |aw_q && |w_q && !bvalid && !written_q);
        if (reg_write) assert (reg_addr == awaddr_q && {reg_strb, reg_wdata} == word_q);
        if (reg_read) assert (|ar_q && !read_q && !answered_q && reg_addr == araddr_q);
        assert (waited_q < 3'd5 && read_waited_q < 3'd4);
        // What the slave holds: a request in each register, a response behind it.
        assert (aw_q == !awready + \u_dut.bvalid_q && w_q == !wready + \u_dut.bvalid_q );
        assert (ar_q == !arready + \u_dut.rvalid_q );
        assert (bvalid == (\u_dut.bvalid_q && !rst) && rvalid == (\u_dut.rvalid_q && !rst));
        assert (answered_q == \u_dut.rvalid_q && (!read_q || (!arready && !rvalid)));
        assert (\u_dut.bvalid_q || !written_q);
        assert (read_q == \u_dut.reading_q );
        if (!awready) assert (\u_dut.awaddr_q == awaddr_q);
        if (!wready) assert ({reg_strb, reg_wdata} == word_q);
        if (!arready) assert (\u_dut.araddr_q == araddr_q);
        cover (bvalid && aw_q == 2'd2 && rvalid && ar_q == 2'd2);
        cover (reg_write && reg_strb == 4'd0 && rvalid);
    end
endmodule

`default_nettype wire
