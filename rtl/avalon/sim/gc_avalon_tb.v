// SPDX-License-Identifier: Apache-2.0
// A small engine on Avalon-MM trains one iteration of a tiny network; every weight and momentum word and LOSS are those
// of the reference trainer.
`default_nettype none

module gc_avalon_tb;
    localparam ADDR_W = 40, MEM_W = 64;

    wire                clk, rst, irq, reg_valid, reg_write, csr_wait, csr_read_valid, csr_write_valid;
    wire [11:0]         reg_addr;
    wire [31:0]         reg_wdata, reg_rdata;
    wire [1:0]          csr_response;
    reg                 taken_q;               // the access waits for its answer
    wire                done = csr_read_valid || csr_write_valid;
    wire                read, read_ready, read_data_valid, read_last, write, wreq_ready, wdat_ready, answer;
    wire [ADDR_W-1:0]   read_addr, write_addr;
    wire [8:0]          read_count, write_count;
    wire [7:0]          read_len;
    wire [MEM_W-1:0]    read_data, write_data;
    wire [MEM_W/8-1:0]  write_strb;
    reg  [8:0]          left_q;                // beats of the write burst, 0 before its command

    gc_step_player #(.NAME("gc_avalon_tb"), .ADDR_W(ADDR_W)) u_player (
        .clk(clk), .rst(rst), .m_reg_valid(reg_valid), .m_reg_write(reg_write), .m_reg_addr(reg_addr),
        .m_reg_wdata(reg_wdata), .s_reg_done(done), .s_reg_rdata(reg_rdata), .irq(irq), .s_rreq_valid(read),
        .m_rreq_ready(read_ready), .s_rreq_addr(read_addr), .s_rreq_len(read_len), .m_rdat_valid(read_data_valid),
        .m_rdat_data(read_data), .m_rdat_last(read_last), .s_wreq_valid(write && left_q == 9'd0),
        .m_wreq_ready(wreq_ready), .s_wreq_addr(write_addr), .s_wdat_valid(write && left_q != 9'd0),
        .m_wdat_ready(wdat_ready), .s_wdat_data(write_data), .s_wdat_strb(write_strb), .s_wdat_last(left_q == 9'd1),
        .m_wrsp_valid(answer)
    );
    gc_engine_avalon #(
        .GRID(4), .COLS(4), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .ACT_DEPTH(64), .WGT_DEPTH(64), .GRAD_DEPTH(64),
        .GATE_DEPTH(64)
    ) u_engine (
        .csi_clock_clk(clk), .rsi_reset_reset(rst), .avs_csr_address(reg_addr[11:2]),
        .avs_csr_read(reg_valid && !reg_write && !taken_q), .avs_csr_write(reg_valid && reg_write && !taken_q),
        .avs_csr_writedata(reg_wdata), .avs_csr_byteenable(4'b1111), .avs_csr_readdata(reg_rdata),
        .avs_csr_readdatavalid(csr_read_valid), .avs_csr_waitrequest(csr_wait), .avs_csr_response(csr_response),
        .avs_csr_writeresponsevalid(csr_write_valid), .avm_read_address(read_addr), .avm_read_read(read),
        .avm_read_burstcount(read_count), .avm_read_waitrequest(!read_ready), .avm_read_readdata(read_data),
        .avm_read_readdatavalid(read_data_valid), .avm_read_response(2'b00), .avm_write_address(write_addr),
        .avm_write_write(write), .avm_write_burstcount(write_count), .avm_write_writedata(write_data),
        .avm_write_byteenable(write_strb), .avm_write_waitrequest(left_q == 9'd0 || !wdat_ready),
        .avm_write_response(2'b00), .avm_write_writeresponsevalid(answer), .ins_irq_irq(irq)
    );

    assign read_len = read_count[7:0] - 8'd1;

    always @(posedge clk) begin
        taken_q <= reg_valid && !done && (taken_q || !csr_wait);
        if (left_q != 9'd0) left_q <= left_q - {8'd0, write && wdat_ready};
        else if (write && wreq_ready) left_q <= write_count;
        if (rst) left_q <= 9'd0;
        if (done && csr_response != 2'b00) begin
            $display("gc_avalon_tb: an error response");
            $fatal;
        end
    end

    wire _unused = &{1'b0, reg_addr[1:0], read_last, read_count[8]};
endmodule

`default_nettype wire
