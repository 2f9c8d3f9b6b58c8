// SPDX-License-Identifier: Apache-2.0
// gc_avalon_agent. Avalon-MM: every access is answered once, in order, 2 cycles later, by readdatavalid or
// writeresponsevalid, never both; waitrequest exactly in a reset. Register port: every read and every write once, in
// order, with its address, data and byte enables, a cycle after it; no other access; the answer to a read is the
// register's data; every answer is OKAY. A reset takes no access and forgets all others. Assumed: never a read and a
// write at once.
`default_nettype none

module gc_avalon_agent_props (
    input wire        clk,
    input wire        rst,
    input wire [9:0]  address,
    input wire        read,
    input wire        write,
    input wire [31:0] writedata,
    input wire [3:0]  byteenable,
    input wire [31:0] reg_rdata
);
    wire [31:0] readdata;
    wire        readdatavalid;
    wire        waitrequest;
    wire [1:0]  response;
    wire        writeresponsevalid;
    wire        reg_write;
    wire [11:0] reg_addr;
    wire [31:0] reg_wdata;
    wire [3:0]  reg_strb;
    wire        reg_read;
    wire        started;

    gc_avalon_agent u_dut (
        .clk(clk), .rst(rst),
        .avs_address(address),
        .avs_read(read),
        .avs_write(write),
        .avs_writedata(writedata),
        .avs_byteenable(byteenable),
        .avs_readdata(readdata),
        .avs_readdatavalid(readdatavalid),
        .avs_waitrequest(waitrequest),
        .avs_response(response),
        .avs_writeresponsevalid(writeresponsevalid),
        .m_reg_write(reg_write), .m_reg_addr(reg_addr), .m_reg_wdata(reg_wdata), .m_reg_strb(reg_strb),
        .m_reg_read(reg_read),
        .s_reg_rdata(reg_rdata)
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));

    wire        taken   = (read || write) && !waitrequest;
    wire        port    = reg_read || reg_write;
    wire        answer  = readdatavalid || writeresponsevalid;
    wire [1:0]  waiting;
    wire [1:0]  answer_ahead;
    wire [2:0]  answer_word;
    wire        answer_tracked;
    wire        port_inside_unused;
    wire        port_tracked_unused;
    wire        port_ahead_unused;
    wire [48:0] port_word_unused;
    gc_stream_order #(.W(49), .MOST(1), .LATENCY(1), .HIDES(1)) u_port (
        .clk(clk), .rst(rst),
        .started(started),
        .push(taken),
        .s_data({write, address, 2'b00, write ? {byteenable, writedata} : 36'd0}),
        .pop(port),
        .m_valid(port), .m_data({reg_write, reg_addr, reg_write ? {reg_strb, reg_wdata} : 36'd0}),
        .stored(port_inside_unused),
        .tracked(port_tracked_unused),
        .ahead(port_ahead_unused),
        .word(port_word_unused)
    );
    gc_stream_order #(.W(3), .MOST(2), .LATENCY(2), .HIDES(1)) u_answer (
        .clk(clk), .rst(rst),
        .started(started),
        .push(taken),
        .s_data({write, 2'b00}),
        .pop(answer),
        .m_valid(answer), .m_data({writeresponsevalid, response}),
        .stored(waiting),
        .tracked(answer_tracked),
        .ahead(answer_ahead),
        .word(answer_word)
    );

    reg read_q;     // the register's data come now
    reg taken_q;    // taken in the last cycle
    always @(posedge clk) begin
        read_q  <= reg_read && !rst;
        taken_q <= taken && !rst;
    end

    always @* if (rst) assert (!readdatavalid && !writeresponsevalid);

    always @* if (started) begin
        assume (!(read && write));
        assert (waitrequest == rst);
        assert (!(reg_read && reg_write) && !(readdatavalid && writeresponsevalid));
        assert (readdatavalid == (read_q && !rst));
        if (readdatavalid) assert (readdata == reg_rdata);
        assert (rst || waiting == {1'b0, taken_q} + {1'b0, answer});
        cover (waiting == 2'd2 && answer_tracked && answer_ahead == 2'd1 && answer_word == 3'b100
            && readdatavalid && taken && read);
        cover (rst && port);
    end
endmodule

`default_nettype wire
