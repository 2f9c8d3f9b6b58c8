// SPDX-License-Identifier: Apache-2.0
// gc_mem_arbiter with 3 readers, 2 writers, MEM_W 64, DEPTH 4: the native port's rules of a requester at the port;
// each request there is that of one client, who alone is told; a new one is the lowest client's; read data and
// responses go to who asked, in order (the solver tracks any one burst); write data come from the client of the burst.
// Assumed: the port's rules of the clients and of the memory.
`default_nettype none

module gc_mem_arbiter_props (
    input wire         clk,
    input wire         rst,
    input wire [2:0]   rreq_valid,
    input wire [98:0]  rreq_addr,
    input wire [23:0]  rreq_len,
    input wire [1:0]   wreq_valid,
    input wire [65:0]  wreq_addr,
    input wire [15:0]  wreq_len,
    input wire [1:0]   wdat_valid,
    input wire [127:0] wdat_data,
    input wire [15:0]  wdat_strb,
    input wire [1:0]   wdat_last,
    input wire         port_rreq_ready,
    input wire         port_rdat_valid,
    input wire [63:0]  port_rdat_data,
    input wire         port_rdat_last,
    input wire         port_wreq_ready,
    input wire         port_wdat_ready,
    input wire         port_wrsp_valid
);
    wire [2:0]  rreq_ready, rdat_valid;
    wire [63:0] rdat_data;
    wire        rdat_last;
    wire [1:0]  wreq_ready, wdat_ready, wrsp_valid;
    wire        port_rreq_valid, port_wreq_valid, port_wdat_valid, port_wdat_last;
    wire [32:0] port_rreq_addr, port_wreq_addr;
    wire [7:0]  port_rreq_len, port_wreq_len;
    wire [71:0] port_word;
    wire        started;

    gc_mem_arbiter #(.READERS(3), .WRITERS(2), .ADDR_W(33), .MEM_W(64), .DEPTH(4)) u_dut (
        .clk(clk), .rst(rst),
        .s_rreq_valid(rreq_valid), .s_rreq_ready(rreq_ready), .s_rreq_addr(rreq_addr), .s_rreq_len(rreq_len),
        .m_rdat_valid(rdat_valid), .m_rdat_data(rdat_data), .m_rdat_last(rdat_last),
        .s_wreq_valid(wreq_valid), .s_wreq_ready(wreq_ready), .s_wreq_addr(wreq_addr), .s_wreq_len(wreq_len),
        .s_wdat_valid(wdat_valid), .s_wdat_ready(wdat_ready), .s_wdat_data(wdat_data), .s_wdat_strb(wdat_strb),
        .s_wdat_last(wdat_last),
        .m_wrsp_valid(wrsp_valid),
        .m_rreq_valid(port_rreq_valid), .m_rreq_ready(port_rreq_ready), .m_rreq_addr(port_rreq_addr),
        .m_rreq_len(port_rreq_len),
        .s_rdat_valid(port_rdat_valid), .s_rdat_data(port_rdat_data), .s_rdat_last(port_rdat_last),
        .m_wreq_valid(port_wreq_valid), .m_wreq_ready(port_wreq_ready), .m_wreq_addr(port_wreq_addr),
        .m_wreq_len(port_wreq_len),
        .m_wdat_valid(port_wdat_valid), .m_wdat_ready(port_wdat_ready), .m_wdat_data(port_word[63:0]),
        .m_wdat_strb(port_word[71:64]), .m_wdat_last(port_wdat_last),
        .s_wrsp_valid(port_wrsp_valid)
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));

    wire        read_request  = port_rreq_valid && port_rreq_ready;
    wire        write_request = port_wreq_valid && port_wreq_ready;
    wire [2:0]  reads;
    wire        reads_full, writes_full;
    wire [1:0]  writes;
    wire [7:0]  left;
    wire [15:0] unanswered;
    wire [3:0]  clients_writes;
    wire [15:0] clients_left;

    gc_read_rules #(.MOST(4), .MEMORY(1)) u_port_read (
        .clk(clk), .rst(rst),
        .started(started),
        .rreq_valid(port_rreq_valid),
        .rreq_ready(port_rreq_ready),
        .rreq_addr(port_rreq_addr),
        .rreq_len(port_rreq_len),
        .rdat_valid(port_rdat_valid),
        .rdat_last(port_rdat_last),
        .bursts(reads),
        .full(reads_full)
    );
    gc_write_rules #(.MOST(2), .MEMORY(1)) u_port_write (
        .clk(clk), .rst(rst),
        .started(started),
        .wreq_valid(port_wreq_valid),
        .wreq_ready(port_wreq_ready),
        .wreq_addr(port_wreq_addr),
        .wreq_len(port_wreq_len),
        .wdat_valid(port_wdat_valid),
        .wdat_ready(port_wdat_ready),
        .wdat_word(port_word),
        .wdat_last(port_wdat_last),
        .wrsp_valid(port_wrsp_valid),
        .bursts(writes),
        .left(left),
        .full(writes_full),
        .unanswered(unanswered)
    );
    genvar i;
    generate
        for (i = 0; i < 3; i = i + 1) begin : g_reader
            gc_request_rules #(.ASSUME(1)) u_request (
                .clk(clk), .rst(rst),
                .started(started),
                .valid(rreq_valid[i]),
                .ready(rreq_ready[i]),
                .addr(rreq_addr[33*i +: 33]),
                .len(rreq_len[8*i +: 8])
            );
        end
        for (i = 0; i < 2; i = i + 1) begin : g_writer
            wire        full_unused;
            wire [15:0] unanswered_unused;
            gc_write_rules #(.MOST(2), .REQUESTER(1)) u_client (
                .clk(clk), .rst(rst),
                .started(started),
                .wreq_valid(wreq_valid[i]),
                .wreq_ready(wreq_ready[i]),
                .wreq_addr(wreq_addr[33*i +: 33]),
                .wreq_len(wreq_len[8*i +: 8]),
                .wdat_valid(wdat_valid[i]),
                .wdat_ready(wdat_ready[i]),
                .wdat_word({wdat_strb[8*i +: 8], wdat_data[64*i +: 64]}),
                .wdat_last(wdat_last[i]),
                .wrsp_valid(1'b0),
                .bursts(clients_writes[2*i +: 2]),
                .left(clients_left[8*i +: 8]),
                .full(full_unused),
                .unanswered(unanswered_unused)
            );
        end
    endgenerate

    // Who has to get the data and the response of each burst.
    wire [2:0] read_owners, read_ahead, read_owner, write_owners, write_ahead;
    wire       read_tracked, write_tracked;
    wire [1:0] write_owner;
    gc_stream_order #(.W(3), .MOST(4), .LATENCY(0)) u_read_order (
        .clk(clk), .rst(rst),
        .started(started),
        .push(read_request),
        .s_data(rreq_valid & rreq_ready),
        .pop(port_rdat_valid && port_rdat_last),
        .m_valid(port_rdat_valid), .m_data(rdat_valid),
        .stored(read_owners),
        .tracked(read_tracked),
        .ahead(read_ahead),
        .word(read_owner)
    );
    gc_stream_order #(.W(2), .MOST(4), .LATENCY(0)) u_write_order (
        .clk(clk), .rst(rst),
        .started(started),
        .push(write_request),
        .s_data(wreq_valid & wreq_ready),
        .pop(port_wrsp_valid),
        .m_valid(port_wrsp_valid), .m_data(wrsp_valid),
        .stored(write_owners),
        .tracked(write_tracked),
        .ahead(write_ahead),
        .word(write_owner)
    );

    (* hierconn *) wire [2:0] \u_dut.u_read_pick.held_q ;
    (* hierconn *) wire       \u_dut.u_read_pick.holds_q , \u_dut.u_write_pick.holds_q ;
    (* hierconn *) wire [1:0] \u_dut.u_write_pick.held_q ;
    (* hierconn *) wire [1:0] \u_dut.data_q ;
    (* hierconn *) wire [2:0] \u_dut.u_read_owners.wr_q ;
    (* hierconn *) wire [2:0] \u_dut.u_read_owners.rd_q ;
    (* hierconn *) wire [2:0] \u_dut.u_write_owners.wr_q ;
    (* hierconn *) wire [2:0] \u_dut.u_write_owners.rd_q ;
    (* hierconn *) wire [2:0] \u_dut.u_read_owners.word_q[0] , \u_dut.u_read_owners.word_q[1] ;
    (* hierconn *) wire [2:0] \u_dut.u_read_owners.word_q[2] , \u_dut.u_read_owners.word_q[3] ;
    (* hierconn *) wire [1:0] \u_dut.u_write_owners.word_q[0] , \u_dut.u_write_owners.word_q[1] ;
    (* hierconn *) wire [1:0] \u_dut.u_write_owners.word_q[2] , \u_dut.u_write_owners.word_q[3] ;
    wire [11:0] read_queue  = {\u_dut.u_read_owners.word_q[3] , \u_dut.u_read_owners.word_q[2] ,
                               \u_dut.u_read_owners.word_q[1] , \u_dut.u_read_owners.word_q[0] };
    wire [7:0]  write_queue = {\u_dut.u_write_owners.word_q[3] , \u_dut.u_write_owners.word_q[2] ,
                               \u_dut.u_write_owners.word_q[1] , \u_dut.u_write_owners.word_q[0] };
    wire [2:0]  read_place  = \u_dut.u_read_owners.rd_q + read_ahead;
    wire [2:0]  write_place = \u_dut.u_write_owners.rd_q + write_ahead;
    wire        read_holds  = \u_dut.u_read_pick.holds_q ;
    wire        write_holds = \u_dut.u_write_pick.holds_q ;
    wire [2:0]  read_held   = \u_dut.u_read_pick.held_q & {3{read_holds}};
    wire [1:0]  write_held  = \u_dut.u_write_pick.held_q & {2{write_holds}};
    wire [1:0]  sender      = \u_dut.data_q ;     // whose write beats are leaving
    wire [2:0]  reader = read_held != 0 ? read_held : rreq_valid & (~rreq_valid + 3'd1);
    wire [1:0]  writer = write_held != 0 ? write_held : wreq_valid & (~wreq_valid + 2'd1);
    reg         read_stalled_q = 1'b0;
    reg         write_stalled_q = 1'b0;
    always @(posedge clk) begin
        read_stalled_q  <= port_rreq_valid && !port_rreq_ready && !rst;
        write_stalled_q <= port_wreq_valid && !port_wreq_ready && !rst;
    end

    integer c;
    always @* if (started) begin
        assert (port_rreq_valid == (rreq_valid != 0 && !reads_full));
        assert (port_wreq_valid == (wreq_valid != 0 && write_owners != 3'd4 && writes == 0));
        assert ((rreq_valid & rreq_ready) == (read_request ? reader : 3'd0));
        assert ((wreq_valid & wreq_ready) == (write_request ? writer : 2'd0));
        for (c = 0; c < 3; c = c + 1)
            if (port_rreq_valid && reader[c]) assert (port_rreq_addr == rreq_addr[33*c +: 33]
                && port_rreq_len == rreq_len[8*c +: 8]);
        for (c = 0; c < 2; c = c + 1) begin
            if (port_wreq_valid && writer[c]) assert (port_wreq_addr == wreq_addr[33*c +: 33]
                && port_wreq_len == wreq_len[8*c +: 8]);
            if (port_wdat_valid && wdat_ready[c]) assert (port_word == {wdat_strb[8*c +: 8], wdat_data[64*c +: 64]});
        end
        assert ((wdat_valid & wdat_ready) == (port_wdat_valid && port_wdat_ready ? sender : 2'd0));
        // A choice is only held while the request stalls.
        assert ((read_held != 0) == read_stalled_q && (write_held != 0) == write_stalled_q);
        assert ((read_held != 0) == read_holds && (write_held != 0) == write_holds);
        assert ((read_held & (read_held - 3'd1)) == 0 && (write_held & (write_held - 2'd1)) == 0);
        assert ((read_held & ~rreq_valid) == 0 && (write_held & ~wreq_valid) == 0);
        assert (read_held == 0 || !reads_full);
        assert (write_held == 0 || (write_owners != 3'd4 && sender == 0));
        // Read data and responses.
        if (port_rdat_valid) assert (rdat_data == port_rdat_data && rdat_last == port_rdat_last);
        assert (port_rdat_valid || rdat_valid == 0);
        assert (port_wrsp_valid || wrsp_valid == 0);
        assert (read_owners == reads && write_owners == unanswered + writes && unanswered <= 16'd4);
        assert (\u_dut.u_read_owners.wr_q - \u_dut.u_read_owners.rd_q == read_owners);
        assert (\u_dut.u_write_owners.wr_q - \u_dut.u_write_owners.rd_q == write_owners);
        if (read_tracked)  assert (read_queue[3*read_place[1:0] +: 3] == read_owner);
        if (write_tracked) assert (write_queue[2*write_place[1:0] +: 2] == write_owner);
        // One write burst at a time, the same for the port and its client.
        assert (sender != 2'b11 && writes == (sender != 0));
        for (c = 0; c < 2; c = c + 1) begin
            assert (clients_writes[2*c +: 2] == sender[c]);
            if (sender[c]) assert (clients_left[8*c +: 8] == left);
        end
        cover (reads_full && read_tracked && read_ahead == 3'd3 && rdat_valid == 3'b100);
        cover (write_owners == 3'd3 && wrsp_valid == 2'b10 && wdat_valid == 2'b01);
    end
endmodule

`default_nettype wire
