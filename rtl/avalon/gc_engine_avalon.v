// SPDX-License-Identifier: Apache-2.0
// The training engine with two Avalon-MM hosts for its memory and an Avalon-MM agent for its registers; port names
// that Platform Designer infers, synchronous reset, level interrupt. A thin front: reads gain no latency, a write
// burst of n beats takes n + 1 cycles. Parameters are the engine's. Error responses end the program (doc/registers.md,
// "Errors").
`default_nettype none

module gc_engine_avalon #(
    parameter GRID       = 8,      // 4 or 8: GRID x GRID lanes
    parameter COLS       = 16,     // columns: GRID, 2 GRID .. GRID*GRID
    parameter DW         = 16,     // bits of a data word, 8..16
    parameter ACC_W      = 48,     // bits of a sum, 2*DW+4 (24 at least) to 48
    parameter MEM_W      = 512,    // bits of a memory beat, 64..512
    parameter ADDR_W     = 48,     // bits of a byte address, 32..48
    parameter BURST      = 32,     // beats of a burst, at most: a power of two, 8..128
    parameter ACT_DEPTH  = 2048,   // vectors in each operand buffer
    parameter WGT_DEPTH  = 8192,   // rows in the weight buffer
    parameter GRAD_DEPTH = 8192,   // rows in the gradient buffer
    parameter GATE_DEPTH = 16384,  // vectors in the gate buffer
    parameter DSP        = 0,      // multiply-accumulators: 0 inferred, 1 DSP48E2, 2 MULT18X18D
    parameter ULTRA      = 0,      // 1 operands 0, 2 operands 1, 4 weights, 8 gradients: sum of those in UltraRAM
    parameter HAS_VECTOR  = 1,     // 0: without the unit of VECTOR
    parameter HAS_SOFTMAX = 1,     // 0: without the softmax of LOAD
    parameter HAS_FACTOR  = 1      // 0: without the factors of COMPUTE: dropout, leaky ReLU
) (
    input  wire               csi_clock_clk,
    input  wire               rsi_reset_reset,
    input  wire [9:0]         avs_csr_address,
    input  wire               avs_csr_read,
    input  wire               avs_csr_write,
    input  wire [31:0]        avs_csr_writedata,
    input  wire [3:0]         avs_csr_byteenable,
    output wire [31:0]        avs_csr_readdata,
    output wire               avs_csr_readdatavalid,
    output wire               avs_csr_waitrequest,
    output wire [1:0]         avs_csr_response,
    output wire               avs_csr_writeresponsevalid,
    output wire [ADDR_W-1:0]  avm_read_address,
    output wire               avm_read_read,
    output wire [8:0]         avm_read_burstcount,
    input  wire               avm_read_waitrequest,
    input  wire [MEM_W-1:0]   avm_read_readdata,
    input  wire               avm_read_readdatavalid,
    input  wire [1:0]         avm_read_response,
    output wire [ADDR_W-1:0]  avm_write_address,
    output wire               avm_write_write,
    output wire [8:0]         avm_write_burstcount,
    output wire [MEM_W-1:0]   avm_write_writedata,
    output wire [MEM_W/8-1:0] avm_write_byteenable,
    input  wire               avm_write_waitrequest,
    input  wire [1:0]         avm_write_response,
    input  wire               avm_write_writeresponsevalid,
    output wire               ins_irq_irq
);
    wire clk = csi_clock_clk;
    wire rst = rsi_reset_reset;

    wire        reg_write;
    wire [11:0] reg_addr;
    wire [31:0] reg_wdata;
    wire [3:0]  reg_strb;
    wire        reg_read;
    wire [31:0] reg_rdata;
    wire               rreq_valid;
    wire               rreq_ready;
    wire [ADDR_W-1:0]  rreq_addr;
    wire [7:0]         rreq_len;
    wire               rdat_valid;
    wire [MEM_W-1:0]   rdat_data;
    wire               rdat_last;
    wire [1:0]         rdat_resp;
    wire               wreq_valid;
    wire               wreq_ready;
    wire [ADDR_W-1:0]  wreq_addr;
    wire [7:0]         wreq_len;
    wire               wdat_valid;
    wire               wdat_ready;
    wire [MEM_W-1:0]   wdat_data;
    wire [MEM_W/8-1:0] wdat_strb;
    wire               wdat_last;
    wire               wrsp_valid;
    wire [1:0]         wrsp_resp;
    wire               forget;
    wire [4:0]    active_unused;
    wire [5*11-1:0] tag_unused;

    gc_avalon_agent u_registers (
        .clk(clk), .rst(rst),
        .avs_address(avs_csr_address),
        .avs_read(avs_csr_read),
        .avs_write(avs_csr_write),
        .avs_writedata(avs_csr_writedata),
        .avs_byteenable(avs_csr_byteenable),
        .avs_readdata(avs_csr_readdata),
        .avs_readdatavalid(avs_csr_readdatavalid),
        .avs_waitrequest(avs_csr_waitrequest),
        .avs_response(avs_csr_response),
        .avs_writeresponsevalid(avs_csr_writeresponsevalid),
        .m_reg_write(reg_write), .m_reg_addr(reg_addr), .m_reg_wdata(reg_wdata), .m_reg_strb(reg_strb),
        .m_reg_read(reg_read),
        .s_reg_rdata(reg_rdata)
    );

    gc_engine #(
        .GRID(GRID), .COLS(COLS), .DW(DW), .ACC_W(ACC_W), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST),
        .ACT_DEPTH(ACT_DEPTH), .WGT_DEPTH(WGT_DEPTH), .GRAD_DEPTH(GRAD_DEPTH), .GATE_DEPTH(GATE_DEPTH), .DSP(DSP),
        .ULTRA(ULTRA), .HAS_VECTOR(HAS_VECTOR), .HAS_SOFTMAX(HAS_SOFTMAX), .HAS_FACTOR(HAS_FACTOR)
    ) u_engine (
        .clk(clk), .rst(rst),
        .s_reg_write(reg_write), .s_reg_addr(reg_addr), .s_reg_wdata(reg_wdata), .s_reg_strb(reg_strb),
        .s_reg_read(reg_read),
        .m_reg_rdata(reg_rdata),
        .m_rreq_valid(rreq_valid), .m_rreq_ready(rreq_ready), .m_rreq_addr(rreq_addr), .m_rreq_len(rreq_len),
        .s_rdat_valid(rdat_valid), .s_rdat_data(rdat_data), .s_rdat_last(rdat_last), .s_rdat_resp(rdat_resp),
        .m_wreq_valid(wreq_valid), .m_wreq_ready(wreq_ready), .m_wreq_addr(wreq_addr), .m_wreq_len(wreq_len),
        .m_wdat_valid(wdat_valid), .m_wdat_ready(wdat_ready), .m_wdat_data(wdat_data), .m_wdat_strb(wdat_strb),
        .m_wdat_last(wdat_last),
        .s_wrsp_valid(wrsp_valid), .s_wrsp_resp(wrsp_resp),
        .m_forget(forget),
        .irq(ins_irq_irq),
        .sts_active(active_unused), .sts_tag(tag_unused)
    );

    gc_avalon_master #(.ADDR_W(ADDR_W), .MEM_W(MEM_W)) u_memory (
        .clk(clk), .rst(rst || forget),
        .s_rreq_valid(rreq_valid), .s_rreq_ready(rreq_ready), .s_rreq_addr(rreq_addr), .s_rreq_len(rreq_len),
        .m_rdat_valid(rdat_valid), .m_rdat_data(rdat_data), .m_rdat_last(rdat_last), .m_rdat_resp(rdat_resp),
        .s_wreq_valid(wreq_valid), .s_wreq_ready(wreq_ready), .s_wreq_addr(wreq_addr), .s_wreq_len(wreq_len),
        .s_wdat_valid(wdat_valid), .s_wdat_ready(wdat_ready), .s_wdat_data(wdat_data), .s_wdat_strb(wdat_strb),
        .s_wdat_last(wdat_last),
        .m_wrsp_valid(wrsp_valid), .m_wrsp_resp(wrsp_resp),
        .avm_read_address(avm_read_address), .avm_read_read(avm_read_read), .avm_read_burstcount(avm_read_burstcount),
        .avm_read_waitrequest(avm_read_waitrequest), .avm_read_readdata(avm_read_readdata),
        .avm_read_readdatavalid(avm_read_readdatavalid), .avm_read_response(avm_read_response),
        .avm_write_address(avm_write_address), .avm_write_write(avm_write_write),
        .avm_write_burstcount(avm_write_burstcount), .avm_write_writedata(avm_write_writedata),
        .avm_write_byteenable(avm_write_byteenable), .avm_write_waitrequest(avm_write_waitrequest),
        .avm_write_response(avm_write_response), .avm_write_writeresponsevalid(avm_write_writeresponsevalid)
    );

    wire _unused = &{1'b0, active_unused, tag_unused};
endmodule

`default_nettype wire
