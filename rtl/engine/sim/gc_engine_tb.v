// SPDX-License-Identifier: Apache-2.0
// A small engine trains one iteration of a tiny network; every weight and momentum word and LOSS are those of the
// reference trainer. Then it has to refuse an instruction.
`default_nettype none

module gc_engine_tb;
    localparam ADDR_W = 40, MEM_W = 64;

    wire                clk, rst, irq, reg_valid, reg_write;
    wire [11:0]         reg_addr;
    wire [31:0]         reg_wdata, reg_rdata;
    reg                 reg_done_q;
    wire                rreq_valid, rreq_ready, rdat_valid, rdat_last, wreq_valid, wreq_ready, wdat_valid, wdat_ready;
    wire                wdat_last, wrsp_valid;
    wire [ADDR_W-1:0]   rreq_addr, wreq_addr;
    wire [7:0]          rreq_len, wreq_len;
    wire [MEM_W-1:0]    rdat_data, wdat_data;
    wire [MEM_W/8-1:0]  wdat_strb;
    wire                forget;
    wire [4:0]          active;
    wire [5*11-1:0]     tag;

    gc_step_player #(.NAME("gc_engine_tb"), .ADDR_W(ADDR_W)) u_player (
        .clk(clk), .rst(rst), .m_reg_valid(reg_valid), .m_reg_write(reg_write), .m_reg_addr(reg_addr),
        .m_reg_wdata(reg_wdata), .s_reg_done(reg_done_q), .s_reg_rdata(reg_rdata), .irq(irq), .s_rreq_valid(rreq_valid),
        .m_rreq_ready(rreq_ready), .s_rreq_addr(rreq_addr), .s_rreq_len(rreq_len), .m_rdat_valid(rdat_valid),
        .m_rdat_data(rdat_data), .m_rdat_last(rdat_last), .s_wreq_valid(wreq_valid), .m_wreq_ready(wreq_ready),
        .s_wreq_addr(wreq_addr), .s_wdat_valid(wdat_valid), .m_wdat_ready(wdat_ready), .s_wdat_data(wdat_data),
        .s_wdat_strb(wdat_strb), .s_wdat_last(wdat_last), .m_wrsp_valid(wrsp_valid)
    );
    gc_engine #(
        .GRID(4), .COLS(4), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .ACT_DEPTH(64), .WGT_DEPTH(64), .GRAD_DEPTH(64),
        .GATE_DEPTH(64)
    ) u_engine (
        .clk(clk), .rst(rst),
        .s_reg_write(reg_valid && reg_write && !reg_done_q), .s_reg_addr(reg_addr), .s_reg_wdata(reg_wdata),
        .s_reg_strb(4'b1111), .s_reg_read(reg_valid && !reg_write && !reg_done_q),
        .m_reg_rdata(reg_rdata),
        .m_rreq_valid(rreq_valid), .m_rreq_ready(rreq_ready), .m_rreq_addr(rreq_addr), .m_rreq_len(rreq_len),
        .s_rdat_valid(rdat_valid), .s_rdat_data(rdat_data), .s_rdat_last(rdat_last), .s_rdat_resp(2'b00),
        .m_wreq_valid(wreq_valid), .m_wreq_ready(wreq_ready), .m_wreq_addr(wreq_addr), .m_wreq_len(wreq_len),
        .m_wdat_valid(wdat_valid), .m_wdat_ready(wdat_ready), .m_wdat_data(wdat_data), .m_wdat_strb(wdat_strb),
        .m_wdat_last(wdat_last),
        .s_wrsp_valid(wrsp_valid), .s_wrsp_resp(2'b00),
        .m_forget(forget),
        .irq(irq),
        .sts_active(active), .sts_tag(tag)
    );

    always @(posedge clk) reg_done_q <= reg_valid && !reg_done_q;

    wire _unused = &{1'b0, wreq_len, forget, active, tag};
endmodule

`default_nettype wire
