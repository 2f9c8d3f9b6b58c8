// SPDX-License-Identifier: Apache-2.0
// The gradient buffer and the unit that executes UPDATE. COMPUTE adds its sums, UPDATE reads when it gets a turn.
// s_scrub makes a row of gradients zero, while neither runs; s_clear clears sts_overflow.
`default_nettype none

module gc_update_side #(
    parameter GRID     = 8,
    parameter COLS     = 16,
    parameter DW       = 16,
    parameter ACC_W    = 48,
    parameter DEPTH    = 8192,  // rows of gradients
    parameter MEM_W    = 512,
    parameter ADDR_W   = 48,
    parameter BURST    = 32,    // of gc_update_unit
    parameter ULTRA    = 0      // of gc_gradient_buffer
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  start,
    input  wire [1023:0]         s_instruction,
    input  wire [4*ADDR_W-1:0]   cfg_base,
    input  wire [31:0]           cfg_seed,
    input  wire [15:0]           cfg_rate,
    output wire                  m_done,
    output wire                  m_bad,
    input  wire                  s_clear,
    input  wire                  s_scrub,
    input  wire [$clog2(DEPTH)-1:0] s_scrub_addr,
    // COMPUTE
    input  wire                  s_grad_valid,
    input  wire [15:0]           s_grad_addr,
    input  wire                  s_grad_first,
    input  wire [GRID*GRID*ACC_W-1:0] s_grad_acc,
    // weight buffer, second read port
    output wire                  m_wgt_valid,
    input  wire                  m_wgt_ready,
    output wire [15:0]           m_wgt_addr,
    output wire [$clog2(COLS)-1:0] m_wgt_rot,
    input  wire                  s_wgt_valid,
    input  wire [COLS*DW-1:0]    s_wgt_data,
    // memory: weights at index 0, momentum at index 1 of each bus
    output wire [1:0]            m_rreq_valid,
    input  wire [1:0]            m_rreq_ready,
    output wire [2*ADDR_W-1:0]   m_rreq_addr,
    output wire [2*8-1:0]        m_rreq_len,
    input  wire [1:0]            s_rdat_valid,
    input  wire [MEM_W-1:0]      s_rdat_data,
    input  wire                  s_rdat_last,
    output wire [1:0]            m_wreq_valid,
    input  wire [1:0]            m_wreq_ready,
    output wire [2*ADDR_W-1:0]   m_wreq_addr,
    output wire [2*8-1:0]        m_wreq_len,
    output wire [1:0]            m_wdat_valid,
    input  wire [1:0]            m_wdat_ready,
    output wire [2*MEM_W-1:0]    m_wdat_data,
    output wire [2*MEM_W/8-1:0]  m_wdat_strb,
    output wire [1:0]            m_wdat_last,
    input  wire [1:0]            s_wrsp_valid,
    output wire                  sts_overflow,
    output wire                  sts_saturated   // pulse: a row with a saturated gradient, momentum or weight
);
    localparam ROW_W = $clog2(DEPTH);

    wire                  rd_valid, rd_ready, back, idle_unused;
    wire [15:0]           rd_addr;
    wire [COLS*ACC_W-1:0] row;
    gc_gradient_buffer #(.GRID(GRID), .COLS(COLS), .ACC_W(ACC_W), .DEPTH(DEPTH), .ULTRA(ULTRA)) u_gradients (
        .clk(clk), .rst(rst), .s_clear(s_clear), .s_scrub(s_scrub), .s_scrub_addr(s_scrub_addr),
        .s_valid(s_grad_valid), .s_addr(s_grad_addr[ROW_W-1:0]), .s_first(s_grad_first), .s_acc(s_grad_acc),
        .s_rd_valid(rd_valid), .s_rd_ready(rd_ready), .s_rd_addr(rd_addr[ROW_W-1:0]), .m_rd_valid(back),
        .m_rd_data(row), .sts_idle(idle_unused), .sts_overflow(sts_overflow)
    );

    gc_update_unit #(
        .COLS(COLS), .DW(DW), .ACC_W(ACC_W), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST)
    ) u_unit (
        .clk(clk), .rst(rst), .start(start), .m_done(m_done), .m_bad(m_bad), .s_instruction(s_instruction),
        .cfg_base(cfg_base), .cfg_seed(cfg_seed), .cfg_rate(cfg_rate), .m_grad_valid(rd_valid),
        .m_grad_ready(rd_ready), .m_grad_addr(rd_addr), .s_grad_valid(back), .s_grad_data(row),
        .m_wgt_valid(m_wgt_valid), .m_wgt_ready(m_wgt_ready), .m_wgt_addr(m_wgt_addr), .m_wgt_rot(m_wgt_rot),
        .s_wgt_valid(s_wgt_valid), .s_wgt_data(s_wgt_data), .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready),
        .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len), .s_rdat_valid(s_rdat_valid), .s_rdat_data(s_rdat_data),
        .s_rdat_last(s_rdat_last), .m_wreq_valid(m_wreq_valid), .m_wreq_ready(m_wreq_ready),
        .m_wreq_addr(m_wreq_addr), .m_wreq_len(m_wreq_len), .m_wdat_valid(m_wdat_valid),
        .m_wdat_ready(m_wdat_ready), .m_wdat_data(m_wdat_data), .m_wdat_strb(m_wdat_strb),
        .m_wdat_last(m_wdat_last), .s_wrsp_valid(s_wrsp_valid), .sts_saturated(sts_saturated)
    );

    wire _unused = &{1'b0, s_grad_addr, rd_addr, idle_unused};
endmodule

`default_nettype wire
