// SPDX-License-Identifier: Apache-2.0
// gc_avalon_master, MEM_W 64, OUTSTANDING 4. Avalon-MM for its hosts: a command stays while waitrequest is high;
// bursts of whole beats inside 4 KiB, at most OUTSTANDING reads without all their data; a write burst has exactly
// burstcount beats, its address and burstcount in each. For the native port: every request is a burst with its address
// and length, every beat moves once, in order; data and responses of the bus with their codes, `last` where the
// request says. Nothing waits but for the bus, a read also for one of OUTSTANDING places, a write request for the
// beats of the one before. A reset forgets all bursts and shows no command; read data that nothing asks for are
// dropped. Assumed: the native port's rules of its requester; writeresponsevalid only for a burst whose last beat was
// taken, fewer than 65535 of them missing.
`default_nettype none

module gc_avalon_master_props (
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
    input wire        read_waitrequest,
    input wire [63:0] readdata,
    input wire        readdatavalid,
    input wire [1:0]  read_response,
    input wire        write_waitrequest,
    input wire [1:0]  write_response,
    input wire        writeresponsevalid
);
    wire        started;
    wire        rreq_ready;
    wire        wreq_ready;
    wire        wdat_ready;
    wire        rdat_valid;
    wire [63:0] rdat_data;
    wire        rdat_last;
    wire [1:0]  rdat_resp;
    wire        wrsp_valid;
    wire [1:0]  wrsp_resp;
    wire [32:0] read_address;
    wire        read;
    wire [8:0]  read_burstcount;
    wire [32:0] write_address;
    wire        write;
    wire [8:0]  write_burstcount;
    wire [71:0] word;

    gc_avalon_master #(.ADDR_W(33), .MEM_W(64), .OUTSTANDING(4)) u_dut (
        .clk(clk), .rst(rst),
        .s_rreq_valid(rreq_valid), .s_rreq_ready(rreq_ready), .s_rreq_addr(rreq_addr), .s_rreq_len(rreq_len),
        .m_rdat_valid(rdat_valid), .m_rdat_data(rdat_data), .m_rdat_last(rdat_last), .m_rdat_resp(rdat_resp),
        .s_wreq_valid(wreq_valid), .s_wreq_ready(wreq_ready), .s_wreq_addr(wreq_addr), .s_wreq_len(wreq_len),
        .s_wdat_valid(wdat_valid), .s_wdat_ready(wdat_ready), .s_wdat_data(wdat_word[63:0]),
        .s_wdat_strb(wdat_word[71:64]), .s_wdat_last(wdat_last),
        .m_wrsp_valid(wrsp_valid), .m_wrsp_resp(wrsp_resp),
        .avm_read_address(read_address), .avm_read_read(read), .avm_read_burstcount(read_burstcount),
        .avm_read_waitrequest(read_waitrequest), .avm_read_readdata(readdata), .avm_read_readdatavalid(readdatavalid),
        .avm_read_response(read_response),
        .avm_write_address(write_address), .avm_write_write(write), .avm_write_burstcount(write_burstcount),
        .avm_write_writedata(word[63:0]), .avm_write_byteenable(word[71:64]), .avm_write_waitrequest(write_waitrequest),
        .avm_write_response(write_response), .avm_write_writeresponsevalid(writeresponsevalid)
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));

    // ---- Reads, counted at both ends
    wire [2:0]  native_reads, bus_reads;
    wire        native_full_unused, bus_read_full;
    wire [7:0]  read_left_unused;
    wire        read_done;
    wire        expected = readdatavalid && bus_reads != 3'd0;
    wire [8:0]  read_len = read_burstcount - 9'd1;
    wire        read_taken = read && !read_waitrequest;
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
        .full(native_full_unused)
    );
    gc_request_rules #(.HIDES(1)) u_read_command (
        .clk(clk), .rst(rst),
        .started(started),
        .valid(read),
        .ready(!read_waitrequest),
        .addr(read_address),
        .len(read_len[7:0])
    );
    gc_burst_queue u_bus_read (
        .clk(clk), .rst(rst),
        .request(read_taken),
        .len(read_len[7:0]),
        .beat(expected),
        .bursts(bus_reads),
        .left(read_left_unused),
        .full(bus_read_full),
        .done(read_done)
    );

    // ---- Writes: on the bus a burst begins with its first beat and has as many as that one says
    wire [2:0]  native_writes;
    wire        native_write_full_unused;
    wire [7:0]  native_left;
    wire [15:0] native_unanswered;
    wire [8:0]  write_len = write_burstcount - 9'd1;
    wire        write_taken = write && !write_waitrequest;
    reg  [7:0]  beats_q;         // beats that the oldest read has had
    reg  [8:0]  left_q;          // beats that the burst under way lacks, 0: none is
    reg  [41:0] command_q;       // its address and burstcount
    reg  [41:0] asked_q;         // those of the last request
    reg  [15:0] unanswered_q;
    wire        first = left_q == 9'd0;
    wire [8:0]  left  = first ? write_burstcount : left_q;
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
        .full(native_write_full_unused),
        .unanswered(native_unanswered)
    );
    // From the taken request on, so that induction knows it of bursts without a beat yet.
    gc_request_rules u_write_command (
        .clk(clk), .rst(rst),
        .started(started),
        .valid(native_writes != 3'd0),
        .ready(1'b1),
        .addr(write_address),
        .len(write_len[7:0])
    );
    gc_stream_rules #(.W(114), .HIDES(1)) u_write_beat (
        .clk(clk), .rst(rst),
        .valid(write && started),
        .ready(!write_waitrequest),
        .data({write_address, write_burstcount, word})
    );
    always @(posedge clk) begin
        if (wreq_valid && wreq_ready) asked_q <= {wreq_addr, {1'b0, wreq_len} + 9'd1};
        if (expected) beats_q <= read_done ? 8'd0 : beats_q + 8'd1;
        if (write_taken) left_q <= left - 9'd1;
        if (write_taken && first) command_q <= {write_address, write_burstcount};
        unanswered_q <= unanswered_q + (write_taken && left == 9'd1) - writeresponsevalid;
        if (rst) begin
            beats_q      <= 8'd0;
            left_q       <= 9'd0;
            unanswered_q <= 16'd0;
        end
    end

    (* hierconn *) wire [31:0] \u_native_read.u_queue.lens_q ;
    (* hierconn *) wire [31:0] \u_bus_read.lens_q ;
    (* hierconn *) wire [2:0]  \u_dut.u_room.free_q ;
    (* hierconn *) wire        \u_dut.u_room.some_q ;
    (* hierconn *) wire        \u_dut.u_room.give_q ;
    (* hierconn *) wire        \u_dut.u_ends.any_q ;
    (* hierconn *) wire        \u_dut.u_ends.last_q ;
    (* hierconn *) wire        \u_dut.u_ends.more_q ;
    (* hierconn *) wire [7:0]  \u_dut.u_ends.left_q ;
    (* hierconn *) wire [1:0]  \u_dut.u_ends.wr_q ;
    (* hierconn *) wire [1:0]  \u_dut.u_ends.rd_q ;
    (* hierconn *) wire [1:0]  \u_dut.u_ends.next_q ;
    (* hierconn *) wire [8:0]  \u_dut.u_ends.word_q[0] ;
    (* hierconn *) wire [8:0]  \u_dut.u_ends.word_q[1] ;
    (* hierconn *) wire [8:0]  \u_dut.u_ends.word_q[2] ;
    (* hierconn *) wire [8:0]  \u_dut.u_ends.word_q[3] ;
    wire [35:0] ring = {\u_dut.u_ends.word_q[3] , \u_dut.u_ends.word_q[2] , \u_dut.u_ends.word_q[1] ,
                        \u_dut.u_ends.word_q[0] };
    wire [71:0] kept = {ring, ring} >> (9 * \u_dut.u_ends.rd_q );      // the burst behind the oldest one lowest
    wire [2:0]  queued = bus_reads == 3'd0 ? 3'd0 : bus_reads - 3'd1;

    always @* if (rst) assert (!read && !write);

    integer i;
    always @* if (started) begin
        assume (!writeresponsevalid || unanswered_q != 16'd0);
        assume (!(&unanswered_q) || write_waitrequest);
        if (read) assert (read_burstcount >= 9'd1 && read_burstcount <= 9'd256
            && read_address == rreq_addr && read_len == {1'b0, rreq_len});
        if (!rst) assert (read == (rreq_valid && !bus_read_full) && read_taken == (rreq_valid && rreq_ready));
        assert (rdat_valid == expected && rdat_data == readdata && rdat_resp == read_response);
        if (native_writes != 3'd0) assert (write_burstcount >= 9'd1 && write_burstcount <= 9'd256
            && {write_address, write_burstcount} == asked_q);
        if (write && !first) assert ({write_address, write_burstcount} == command_q);
        if (write) assert (word == wdat_word && wdat_last == (left == 9'd1));
        assert (wreq_ready == (native_writes == 3'd0) && native_writes <= 3'd1);
        if (!rst) assert (write == wdat_valid && write_taken == (wdat_valid && wdat_ready));
        assert (wrsp_valid == writeresponsevalid && wrsp_resp == write_response);
        // Both ends count the same bursts, and the host the same reads.
        assert (native_reads == bus_reads && bus_reads <= 3'd4 && \u_native_read.u_queue.lens_q == \u_bus_read.lens_q );
        assert (native_unanswered == unanswered_q);
        assert (native_writes != 3'd0 || first);
        if (native_writes != 3'd0) assert ({1'b0, native_left} + 9'd1 == left);
        if (!first) assert (command_q == asked_q);
        assert (\u_dut.u_room.free_q + \u_dut.u_room.give_q + bus_reads == 3'd4);
        assert (\u_dut.u_room.some_q == (\u_dut.u_room.free_q != 3'd0));
        assert (\u_dut.u_ends.any_q == (bus_reads != 3'd0) && \u_dut.u_ends.more_q == (queued != 3'd0));
        assert (\u_dut.u_ends.wr_q == \u_dut.u_ends.rd_q + queued[1:0]);
        assert (\u_dut.u_ends.next_q == \u_dut.u_ends.rd_q + 2'd1);
        if (bus_reads != 3'd0) assert (\u_bus_read.lens_q [7:0] == \u_dut.u_ends.left_q
            && \u_dut.u_ends.last_q == (\u_dut.u_ends.left_q == 8'd0));
        for (i = 1; i < 4; i = i + 1)
            if (i < bus_reads) assert (kept[9*(i-1) +: 9]
                == {\u_bus_read.lens_q [8*i +: 8] == 8'd0, \u_bus_read.lens_q [8*i +: 8]});
        cover (bus_read_full && rreq_valid && beats_q == 8'd1 && read_done && read_response[1]);
        cover (write && write_waitrequest && left == 9'd2 && !first && unanswered_q == 16'd1
            && writeresponsevalid && write_response[1]);
    end
endmodule

`default_nettype wire
