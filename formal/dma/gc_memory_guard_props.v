// SPDX-License-Identifier: Apache-2.0
// gc_memory_guard with 2 windows of any place and right, 2 clients, 4 outstanding bursts a side. Nothing that no
// window allows is ever shown; what is shown stays until taken and was asked for; under an abort nothing new is shown;
// quiet means that nothing is outstanding, and then it stays so as long as the abort does; answers that nothing
// outstanding asks for are told to nobody. Assumed: windows do not change, the memory takes at most 4 bursts at a time
// on each side.
`default_nettype none

module gc_memory_guard_props (
    input wire        clk,
    input wire        rst,
    input wire        abort,
    input wire        rreq_valid,
    input wire [32:0] rreq_addr,
    input wire [7:0]  rreq_len,
    input wire        wreq_valid,
    input wire [32:0] wreq_addr,
    input wire [7:0]  wreq_len,
    input wire        wdat_valid,
    input wire        arready,
    input wire        awready,
    input wire        wready,
    input wire        rvalid,
    input wire        rlast,
    input wire        bvalid,
    input wire [1:0]  resp
);
    (* anyconst *) wire [41:0] base;
    (* anyconst *) wire [41:0] last;
    (* anyconst *) wire [1:0]  may_read;
    (* anyconst *) wire [1:0]  may_write;

    wire        started;
    wire        quiet;
    wire        rreq_ready;
    wire        wreq_ready;
    wire        wdat_ready;
    wire        arvalid;
    wire [32:0] araddr;
    wire [7:0]  arlen;
    wire        awvalid;
    wire [32:0] awaddr;
    wire [7:0]  awlen;
    wire        wvalid;
    wire        rdat_valid;
    wire        wrsp_valid;
    wire [4:0]  moves;
    wire        fault;
    wire [7:0]  code;

    gc_memory_guard #(.ADDR_W(33), .CLIENTS(2), .WINDOWS(2), .DEPTH(4)) u_dut (
        .clk(clk), .rst(rst),
        .cfg_base(base), .cfg_end(last), .cfg_read(may_read), .cfg_write(may_write),
        .s_abort(abort),
        .sts_quiet(quiet),
        .m_moves(moves),
        .m_rdat_valid(rdat_valid),
        .m_wrsp_valid(wrsp_valid),
        .s_rreq_valid(rreq_valid), .s_rreq_ready(rreq_ready), .s_rreq_addr(rreq_addr), .s_rreq_len(rreq_len),
        .s_rreq_client(2'b01),
        .s_wreq_valid(wreq_valid), .s_wreq_ready(wreq_ready), .s_wreq_addr(wreq_addr), .s_wreq_len(wreq_len),
        .s_wreq_client(2'b10),
        .s_wdat_valid(wdat_valid), .s_wdat_ready(wdat_ready),
        .m_rreq_valid(arvalid), .m_rreq_ready(arready), .m_rreq_addr(araddr), .m_rreq_len(arlen),
        .s_rdat_valid(rvalid), .s_rdat_last(rlast), .s_rdat_resp(resp),
        .m_wreq_valid(awvalid), .m_wreq_ready(awready), .m_wreq_addr(awaddr), .m_wreq_len(awlen),
        .m_wdat_valid(wvalid), .m_wdat_ready(wready),
        .s_wrsp_valid(bvalid), .s_wrsp_resp(resp),
        .m_error(fault),
        .m_code(code),
        .m_writes(),
        .m_client(),
        .m_addr()
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));
    gc_stream_rules #(.W(41)) u_reads (
        .clk(clk), .rst(rst || !started),
        .valid(arvalid),
        .ready(arready),
        .data({araddr, arlen})
    );
    gc_stream_rules #(.W(41)) u_writes (
        .clk(clk), .rst(rst || !started),
        .valid(awvalid),
        .ready(awready),
        .data({awaddr, awlen})
    );

    function [1:0] allowed(input [1:0] rights, input [20:0] page);
        allowed = rights & {page >= base[41:21] && page < last[41:21], page >= base[20:0] && page < last[20:0]};
    endfunction
    wire [1:0] may_araddr = allowed(may_read, araddr[32:12]);
    wire [1:0] may_awaddr = allowed(may_write, awaddr[32:12]);

    // Bursts without their last beat or response, beats that a write burst still lacks.
    reg [2:0] reads_q;
    reg [2:0] writes_q;
    reg [8:0] beats_q;
    reg       silent_q;      // an abort with nothing shown
    reg       quiet_q;
    reg       forgot_q;      // a reset with bursts outstanding
    wire      read_taken  = arvalid && arready;
    wire      write_taken = awvalid && awready;
    always @(posedge clk) begin
        reads_q  <= rst ? 3'd0 : reads_q + {2'd0, read_taken} - {2'd0, rdat_valid && rlast};
        writes_q <= rst ? 3'd0 : writes_q + {2'd0, write_taken} - {2'd0, wrsp_valid};
        beats_q  <= rst ? 9'd0 : write_taken ? {1'b0, awlen} + 9'd1 : beats_q - {8'd0, wvalid && wready};
        silent_q <= !rst && abort && !arvalid && !awvalid;
        quiet_q  <= !rst && abort && quiet;
        forgot_q <= rst && |reads_q && |writes_q;
    end

    (* hierconn *) wire [2:0] \u_dut.u_read_bursts.level ;
    (* hierconn *) wire [2:0] \u_dut.u_write_bursts.level ;
    (* hierconn *) wire [8:0] \u_dut.beats_q ;
    (* hierconn *) wire       \u_dut.free_q ;
    (* hierconn *) wire       \u_dut.u_reads.checked_q ;
    (* hierconn *) wire       \u_dut.u_writes.checked_q ;
    (* hierconn *) wire [1:0] \u_dut.u_reads.allow_q ;
    (* hierconn *) wire [1:0] \u_dut.u_writes.allow_q ;

    always @* if (started) begin
        assume (reads_q < 3'd4 || !arready);
        assume (writes_q < 3'd4 || !awready);
        assert (rdat_valid == (rvalid && |reads_q));
        assert (wrsp_valid == (bvalid && |writes_q));
        assert (moves == {wrsp_valid, write_taken, read_taken, wvalid && wready, rdat_valid});
        assert (!arvalid || |may_araddr);
        assert (!awvalid || |may_awaddr);
        assert (!\u_dut.u_reads.checked_q || \u_dut.u_reads.allow_q == may_araddr);
        assert (!\u_dut.u_writes.checked_q || \u_dut.u_writes.allow_q == may_awaddr);
        assert (!wvalid || |beats_q);
        assert (!silent_q || !abort || (!arvalid && !awvalid));
        assert (quiet == (!arvalid && !awvalid && ~(|reads_q) && ~(|writes_q) && ~(|beats_q)));
        assert (!quiet_q || !abort || quiet);
        assert (!fault || code == 8'd7 || code == 8'd8 || ((rdat_valid || wrsp_valid) && |resp));
        assert (\u_dut.u_read_bursts.level == reads_q && \u_dut.u_write_bursts.level == writes_q
            && \u_dut.beats_q == beats_q && \u_dut.free_q == ~(|beats_q));
        assert (reads_q <= 3'd4 && writes_q <= 3'd4);
        cover (fault && code == 8'd8 && reads_q == 3'd3);
        cover (quiet_q && abort && fault);
        cover (forgot_q && rvalid && bvalid && |resp && !rst);
    end
endmodule

`default_nettype wire
