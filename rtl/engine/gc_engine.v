// SPDX-License-Identifier: Apache-2.0
// The training engine: fetches a program from memory and runs it on five units (load, weight load, compute, store,
// update) that work in parallel and are ordered by tokens alone (doc/architecture.md, doc/instructions.md). Controlled
// through the register port (doc/registers.md), one native memory port (doc/streams.md), one level interrupt.
// Bit-exact with gradcore.reference.
`default_nettype none

module gc_engine #(
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
    input  wire               clk,
    input  wire               rst,
    input  wire               s_reg_write,
    input  wire [11:0]        s_reg_addr,
    input  wire [31:0]        s_reg_wdata,
    input  wire [3:0]         s_reg_strb,
    input  wire               s_reg_read,
    output wire [31:0]        m_reg_rdata,
    output wire               m_rreq_valid,
    input  wire               m_rreq_ready,
    output wire [ADDR_W-1:0]  m_rreq_addr,
    output wire [7:0]         m_rreq_len,
    input  wire               s_rdat_valid,
    input  wire [MEM_W-1:0]   s_rdat_data,
    input  wire               s_rdat_last,
    input  wire [1:0]         s_rdat_resp,
    output wire               m_wreq_valid,
    input  wire               m_wreq_ready,
    output wire [ADDR_W-1:0]  m_wreq_addr,
    output wire [7:0]         m_wreq_len,
    output wire               m_wdat_valid,
    input  wire               m_wdat_ready,
    output wire [MEM_W-1:0]   m_wdat_data,
    output wire [MEM_W/8-1:0] m_wdat_strb,
    output wire               m_wdat_last,
    input  wire               s_wrsp_valid,
    input  wire [1:0]         s_wrsp_resp,
    output wire               m_forget,
    output wire               irq,
    output wire [4:0]         sts_active,  // load, wload, compute, store, update: an instruction is being executed
    output wire [5*11-1:0]    sts_tag      // and its tag
);
generate if (GRID != 4 && GRID != 8) begin : g_illegal_grid
    gradcore_illegal_parameter_GRID_must_be_4_or_8 u_stop ();
end else if (COLS < GRID || COLS > GRID*GRID || (COLS & (COLS-1)) != 0) begin : g_illegal_cols
    gradcore_illegal_parameter_COLS_must_be_a_power_of_two_from_GRID_to_GRID_squared u_stop ();
end else if (DW < 8 || DW > 16) begin : g_illegal_dw
    gradcore_illegal_parameter_DW_must_be_8_to_16 u_stop ();
end else if (ACC_W < 24 || ACC_W < 2*DW+4 || ACC_W > 48) begin : g_illegal_acc_w
    gradcore_illegal_parameter_ACC_W_must_be_24_to_48_and_at_least_2_DW_plus_4 u_stop ();
end else if (MEM_W < 64 || MEM_W > 512 || (MEM_W & (MEM_W-1)) != 0) begin : g_illegal_mem_w
    gradcore_illegal_parameter_MEM_W_must_be_a_power_of_two_from_64_to_512 u_stop ();
end else if (ADDR_W < 32 || ADDR_W > 48) begin : g_illegal_addr_w
    gradcore_illegal_parameter_ADDR_W_must_be_32_to_48 u_stop ();
end else if (BURST < 8 || BURST > 128 || (BURST & (BURST-1)) != 0) begin : g_illegal_burst
    gradcore_illegal_parameter_BURST_must_be_a_power_of_two_from_8_to_128 u_stop ();
end else if (ACT_DEPTH < 64 || ACT_DEPTH > 65536 || (ACT_DEPTH & (ACT_DEPTH-1)) != 0) begin : g_illegal_act_depth
    gradcore_illegal_parameter_ACT_DEPTH_must_be_a_power_of_two_from_64_to_65536 u_stop ();
end else if (WGT_DEPTH < 16 || WGT_DEPTH > 65536 || (WGT_DEPTH & (WGT_DEPTH-1)) != 0) begin : g_illegal_wgt_depth
    gradcore_illegal_parameter_WGT_DEPTH_must_be_a_power_of_two_from_16_to_65536 u_stop ();
end else if (GRAD_DEPTH < 16 || GRAD_DEPTH > 65536 || (GRAD_DEPTH & (GRAD_DEPTH-1)) != 0) begin : g_illegal_grad_depth
    gradcore_illegal_parameter_GRAD_DEPTH_must_be_a_power_of_two_from_16_to_65536 u_stop ();
end else if (GATE_DEPTH < 64 || GATE_DEPTH > 1048576 || (GATE_DEPTH & (GATE_DEPTH-1)) != 0) begin : g_illegal_gate_depth
    gradcore_illegal_parameter_GATE_DEPTH_must_be_a_power_of_two_from_64_to_1048576 u_stop ();
end else if ((HAS_VECTOR | HAS_SOFTMAX | HAS_FACTOR) >> 1 != 0) begin : g_illegal_has
    gradcore_illegal_parameter_HAS_VECTOR_HAS_SOFTMAX_HAS_FACTOR_must_be_0_or_1 u_stop ();
// the rest of the file: nothing is elaborated with an illegal parameter, so nothing else complains
end else begin : g_engine
    localparam LANES    = GRID*GRID, COLS_LOG = $clog2(COLS);
    // Bits of an access record: address, coordinates, displacements, channel, strides, folds, rotations.
    localparam ACCESS_W = 20 + 4*12 + 2*8 + 16 + 2*16 + 2*2 + 2*3;
    localparam READ     = 8;         // latency of operand, weight and gate reads
    localparam LOAD = 0, WLOAD = 1, COMPUTE = 2, STORE = 3, UPDATE = 4, UNITS = 5;
    localparam R        = 6;         // memory readers: fetch, load, wload, update weights, update momentum, vector
    localparam W        = 4;         // memory writers: store, vector, update weights, update momentum
    localparam WINDOWS  = 4;         // DMA windows
    localparam DEEPER   = ACT_DEPTH > WGT_DEPTH ? ACT_DEPTH : WGT_DEPTH;
    localparam DEEP     = GRAD_DEPTH > GATE_DEPTH ? GRAD_DEPTH : GATE_DEPTH;
    localparam DEEPEST  = DEEPER > DEEP ? DEEPER : DEEP;
    localparam SCRUB_W  = $clog2(DEEPEST > 512 ? DEEPEST : 512);   // 512: pairs of points of VECTOR's table

    // ---- Memory clients, client n at bit n, flattened buses
    wire [R-1:0]         rreq_valid, rreq_ready, rdat_valid;
    wire [R*ADDR_W-1:0]  rreq_addr;
    wire [R*8-1:0]       rreq_len;
    wire [MEM_W-1:0]     rdat_data;
    wire [W-1:0]         wreq_valid, wreq_ready, wdat_valid, wdat_ready, wdat_last, wrsp_valid;
    wire [W*ADDR_W-1:0]  wreq_addr;
    wire [W*8-1:0]       wreq_len;
    wire [W*MEM_W-1:0]   wdat_data;
    wire [W*MEM_W/8-1:0] wdat_strb;
    wire [WINDOWS*(2*ADDR_W-22)-1:0] windows;
    wire [ADDR_W+R+9:0]  fault;
    wire                 rdat_last, abort, quiet, core_rst;
    wire [4:0]           moves;
    wire                 memory_rst, queue_rst, resetting;
    wire [UNITS:0]       unit_rst;    // the last one: of the buffers
    gc_resets #(.UNITS(UNITS+1)) u_resets (.clk(clk), .s_all(rst), .s_core(core_rst),
        .m_memory(memory_rst), .m_control(queue_rst), .m_unit(unit_rst), .m_busy(resetting));
    gc_memory_port #(.READERS(R), .WRITERS(W), .ADDR_W(ADDR_W), .MEM_W(MEM_W), .WINDOWS(WINDOWS)) u_memory (
        .clk(clk), .rst(memory_rst), .cfg_windows(windows), .s_abort(abort), .sts_quiet(quiet), .m_moves(moves),
        .m_fault(fault), .s_rreq_valid(rreq_valid), .s_rreq_ready(rreq_ready), .s_rreq_addr(rreq_addr),
        .s_rreq_len(rreq_len), .m_rdat_valid(rdat_valid), .m_rdat_data(rdat_data), .m_rdat_last(rdat_last),
        .s_wreq_valid(wreq_valid), .s_wreq_ready(wreq_ready), .s_wreq_addr(wreq_addr), .s_wreq_len(wreq_len),
        .s_wdat_valid(wdat_valid), .s_wdat_ready(wdat_ready), .s_wdat_data(wdat_data), .s_wdat_strb(wdat_strb),
        .s_wdat_last(wdat_last), .m_wrsp_valid(wrsp_valid), .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready),
        .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len), .s_rdat_valid(s_rdat_valid), .s_rdat_data(s_rdat_data),
        .s_rdat_last(s_rdat_last), .s_rdat_resp(s_rdat_resp), .m_wreq_valid(m_wreq_valid), .m_wreq_ready(m_wreq_ready),
        .m_wreq_addr(m_wreq_addr), .m_wreq_len(m_wreq_len), .m_wdat_valid(m_wdat_valid), .m_wdat_ready(m_wdat_ready),
        .m_wdat_data(m_wdat_data), .m_wdat_strb(m_wdat_strb), .m_wdat_last(m_wdat_last), .s_wrsp_valid(s_wrsp_valid),
        .s_wrsp_resp(s_wrsp_resp)
    );

    // ---- Control: registers, fetch, queues, tokens
    wire                  program_start, scrub, scrubbing, compute_room, read_done, written, step, pad, yield, overflow;
    wire [4*ADDR_W-1:0]   base;
    wire [31:0]           seed;
    wire [15:0]           rate;
    wire [UNITS*1024-1:0] instruction;
    wire [UNITS-1:0]      starts, done, read_signal, written_signal;
    wire [3:0]            mismatch;   // load, wload, store, update: lengths do not agree
    wire [5:0]            saturated;  // compute 2, update, store 2, load
    wire [63:0]           loss, loss_load;
    gc_control #(
        .ADDR_W(ADDR_W), .MEM_W(MEM_W), .BURST(BURST), .GRID(GRID), .COLS(COLS), .DW(DW), .ACC_W(ACC_W),
        .WINDOWS(WINDOWS), .ACT_DEPTH(ACT_DEPTH), .WGT_DEPTH(WGT_DEPTH), .GRAD_DEPTH(GRAD_DEPTH),
        .GATE_DEPTH(GATE_DEPTH), .HAS_VECTOR(HAS_VECTOR), .HAS_SOFTMAX(HAS_SOFTMAX), .HAS_FACTOR(HAS_FACTOR)
    ) u_control (
        .clk(clk), .rst(rst), .s_rst(queue_rst), .core_rst(core_rst), .irq(irq), .cfg_windows(windows), .m_abort(abort),
        .m_forget(m_forget), .s_quiet(quiet), .s_moves(moves), .s_fault(fault), .s_compute_room(compute_room),
        .s_reg_write(s_reg_write), .s_reg_addr(s_reg_addr), .s_reg_wdata(s_reg_wdata), .s_reg_strb(s_reg_strb),
        .s_reg_read(s_reg_read), .m_reg_rdata(m_reg_rdata), .m_rreq_valid(rreq_valid[0]), .m_rreq_ready(rreq_ready[0]),
        .m_rreq_addr(rreq_addr[0 +: ADDR_W]), .m_rreq_len(rreq_len[0 +: 8]), .s_rdat_valid(rdat_valid[0]),
        .s_rdat_data(rdat_data), .s_rdat_last(rdat_last), .m_scrub(scrub), .s_scrubbing(scrubbing),
        .m_program_start(program_start), .cfg_base(base), .cfg_seed(seed), .cfg_rate(rate), .m_start(starts),
        .m_instruction(instruction), .s_done(done), .s_mismatch(mismatch), .s_read(read_done),
        .s_read_signal(read_signal), .s_written(written), .s_written_signal(written_signal), .s_step(step), .s_pad(pad),
        .s_yield(yield), .s_overflow(overflow), .s_saturated(saturated), .s_loss({loss_load, loss}),
        .sts_active(sts_active), .sts_tag(sts_tag)
    );

    // ---- Scrub: a reset of the units in between begins it anew
    wire scrub_valid;
    wire [SCRUB_W-1:0] scrub_addr;
    gc_scrub #(.ADDR_W(SCRUB_W)) u_scrub (
        .clk(clk), .rst(rst), .s_start(scrub || (scrubbing && resetting)), .m_busy(scrubbing),
        .m_valid(scrub_valid), .m_addr(scrub_addr)
    );

    // ---- Load
    wire                load_gate_valid, load_gate_ready, load_gate_back;
    wire [2:0]          load_wr_valid, load_wr_ready;
    wire [ACCESS_W-1:0] load_gate_access, load_wr_access, load_wr_gate_access;
    wire [LANES*DW-1:0] load_wr_data;
    wire [LANES-1:0]    load_wr_gate, gate_rd_data;
    gc_load_unit #(
        .GRID(GRID), .DW(DW), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST), .ACCESS_W(ACCESS_W),
        .HAS_SOFTMAX(HAS_SOFTMAX)
    ) u_load (
        .clk(clk), .rst(unit_rst[LOAD]), .start(starts[LOAD]), .m_done(done[LOAD]), .m_bad(mismatch[0]),
        .s_instruction(instruction[LOAD*1024 +: 1024]), .cfg_base(base), .m_rreq_valid(rreq_valid[1]),
        .m_rreq_ready(rreq_ready[1]), .m_rreq_addr(rreq_addr[ADDR_W +: ADDR_W]), .m_rreq_len(rreq_len[8 +: 8]),
        .s_rdat_valid(rdat_valid[1]), .s_rdat_data(rdat_data), .s_rdat_last(rdat_last), .m_gate_valid(load_gate_valid),
        .m_gate_ready(load_gate_ready), .m_gate_access(load_gate_access), .s_gate_valid(load_gate_back),
        .s_gate_data(gate_rd_data), .m_wr_valid(load_wr_valid), .m_wr_ready(load_wr_ready),
        .m_wr_access(load_wr_access), .m_wr_data(load_wr_data), .m_wr_gate_access(load_wr_gate_access),
        .m_wr_gate(load_wr_gate), .s_clear(program_start), .sts_saturated(saturated[5]), .sts_loss(loss_load)
    );

    // ---- Weight load and weight buffer
    wire                wgt_rd_valid, wgt_rd_ramp, cmp_rd_split, upd_wgt_valid, upd_wgt_ready, upd_wgt_back;
    wire [15:0]         wgt_rd_addr, upd_wgt_addr;
    wire [COLS_LOG-1:0] wgt_rd_rot, upd_wgt_rot;
    wire [LANES*DW-1:0] wgt_rd_data;
    wire [COLS*DW-1:0]  upd_wgt_data;
    gc_weight_unit #(
        .COLS(COLS), .COLS_LOG(COLS_LOG), .LANES(LANES), .DW(DW), .DEPTH(WGT_DEPTH), .READ(READ), .MEM_W(MEM_W),
        .ADDR_W(ADDR_W), .BURST(BURST), .ULTRA(ULTRA >> 2 & 1)
    ) u_weights (
        .clk(clk), .rst(unit_rst[WLOAD]), .start(starts[WLOAD]), .m_done(done[WLOAD]), .m_bad(mismatch[1]),
        .s_instruction(instruction[WLOAD*1024 +: 1024]), .cfg_base(base), .m_rreq_valid(rreq_valid[2]),
        .m_rreq_ready(rreq_ready[2]), .m_rreq_addr(rreq_addr[2*ADDR_W +: ADDR_W]), .m_rreq_len(rreq_len[16 +: 8]),
        .s_rdat_valid(rdat_valid[2]), .s_rdat_data(rdat_data), .s_rdat_last(rdat_last), .s_rd_valid(wgt_rd_valid),
        .s_rd_addr(wgt_rd_addr), .s_rd_rot(wgt_rd_rot), .s_rd_ramp(wgt_rd_ramp), .s_rd_split(cmp_rd_split),
        .m_rd_data(wgt_rd_data), .s_b_valid(upd_wgt_valid), .s_b_ready(upd_wgt_ready), .s_b_addr(upd_wgt_addr),
        .s_b_rot(upd_wgt_rot), .m_b_valid(upd_wgt_back), .m_b_data(upd_wgt_data), .s_scrub(scrub_valid),
        .s_scrub_addr(scrub_addr[$clog2(WGT_DEPTH)-1:0])
    );

    // ---- Compute
    wire                   cmp_rd_valid, cmp_rd_channel, cmp_rd_row_buf, cmp_gate_rd_valid, grad_valid, grad_first;
    wire [2:0]             cmp_wr_valid;
    wire                   hold;         // STORE is to read a buffer in the next cycle
    wire                   draining_unused;
    wire [ACCESS_W-1:0]    cmp_rd_row, cmp_rd_col, dst_access, cmp_gate_rd_access, cmp_gate_wr_access;
    wire [COLS_LOG-1:0]    cmp_rd_step;
    wire [15:0]            cmp_rd_row_channels, cmp_rd_col_channels, grad_addr;
    wire [LANES*DW-1:0]    rd_data0, rd_data1, dst_data;
    wire [LANES-1:0]       dst_enable, cmp_gate_wr_data;
    wire [LANES*ACC_W-1:0] grad_acc;
    gc_compute_unit #(
        .GRID(GRID), .COLS(COLS), .COLS_LOG(COLS_LOG), .DW(DW), .ACC_W(ACC_W), .ACCESS_W(ACCESS_W), .READ(READ),
        .DSP(DSP), .HAS_FACTOR(HAS_FACTOR)
    ) u_compute (
        .clk(clk), .rst(unit_rst[COMPUTE]), .start(starts[COMPUTE]), .m_done(done[COMPUTE]), .m_room(compute_room),
        .s_instruction(instruction[COMPUTE*1024 +: 1024]), .cfg_seed(seed), .s_hold(hold), .m_read(read_done),
        .m_read_signal(read_signal), .m_written(written), .m_written_signal(written_signal), .m_rd_valid(cmp_rd_valid),
        .m_rd_channel(cmp_rd_channel), .m_rd_split(cmp_rd_split), .m_rd_step(cmp_rd_step),
        .m_rd_row_buf(cmp_rd_row_buf), .m_rd_row(cmp_rd_row), .m_rd_row_channels(cmp_rd_row_channels),
        .m_rd_col(cmp_rd_col), .m_rd_col_channels(cmp_rd_col_channels), .s_rd_data0(rd_data0), .s_rd_data1(rd_data1),
        .m_wr_valid(cmp_wr_valid), .m_dst_access(dst_access), .m_dst_enable(dst_enable), .m_dst_data(dst_data),
        .m_wgt_valid(wgt_rd_valid), .m_wgt_addr(wgt_rd_addr), .m_wgt_rot(wgt_rd_rot), .m_wgt_ramp(wgt_rd_ramp),
        .s_wgt_data(wgt_rd_data), .m_gate_rd_valid(cmp_gate_rd_valid), .m_gate_rd_access(cmp_gate_rd_access),
        .s_gate_rd_data(gate_rd_data), .m_gate_wr_access(cmp_gate_wr_access), .m_gate_wr_data(cmp_gate_wr_data),
        .m_grad_valid(grad_valid), .m_grad_first(grad_first), .m_grad_addr(grad_addr), .m_grad_acc(grad_acc),
        .s_clear(program_start), .sts_loss(loss), .sts_step(step), .sts_pad(pad), .sts_yield(yield),
        .sts_saturated(saturated[1:0]), .sts_draining(draining_unused)
    );

    // ---- Operand buffers and gate buffer
    wire                str_rd_valid, str_rd_ready, str_rd_mark, str_rd_urgent, str_back, str_back_mark;
    wire [1:0]          str_rd_buffer;
    wire [ACCESS_W-1:0] str_rd_access;
    wire [LANES*DW-1:0] str_back_data;
    gc_buffers #(
        .GRID(GRID), .COLS(COLS), .COLS_LOG(COLS_LOG), .DW(DW), .ACT_DEPTH(ACT_DEPTH), .GATE_DEPTH(GATE_DEPTH),
        .SCRUB_W(SCRUB_W), .ULTRA(ULTRA), .ACCESS_W(ACCESS_W)
    ) u_buffers (
        .clk(clk), .rst(unit_rst[UNITS]), .s_scrub(scrub_valid), .s_scrub_addr(scrub_addr), .s_cmp_valid(cmp_rd_valid),
        .s_cmp_channel(cmp_rd_channel), .s_cmp_split(cmp_rd_split), .s_cmp_step(cmp_rd_step),
        .s_cmp_row_buf(cmp_rd_row_buf), .s_cmp_row(cmp_rd_row), .s_cmp_row_channels(cmp_rd_row_channels),
        .s_cmp_col(cmp_rd_col), .s_cmp_col_channels(cmp_rd_col_channels), .m_data0(rd_data0), .m_data1(rd_data1),
        .s_wr_valid(cmp_wr_valid), .s_dst_access(dst_access), .s_dst_enable(dst_enable), .s_dst_data(dst_data),
        .s_str_valid(str_rd_valid), .s_str_ready(str_rd_ready), .s_str_buffer(str_rd_buffer),
        .s_str_access(str_rd_access), .s_str_mark(str_rd_mark), .s_str_urgent(str_rd_urgent), .m_hold(hold),
        .m_str_valid(str_back), .m_str_mark(str_back_mark), .m_str_data(str_back_data), .s_load_valid(load_wr_valid),
        .s_load_ready(load_wr_ready), .s_load_access(load_wr_access), .s_load_data(load_wr_data),
        .s_load_gate_access(load_wr_gate_access), .s_load_gate(load_wr_gate), .s_gate_rd_valid(cmp_gate_rd_valid),
        .s_gate_rd_access(cmp_gate_rd_access), .m_gate_data(gate_rd_data), .s_gate_wr_access(cmp_gate_wr_access),
        .s_gate_wr_data(cmp_gate_wr_data), .s_scale_valid(load_gate_valid), .s_scale_ready(load_gate_ready),
        .s_scale_access(load_gate_access), .m_scale_valid(load_gate_back)
    );

    // ---- Store and vector
    gc_store_side #(
        .GRID(GRID), .DW(DW), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST), .ACCESS_W(ACCESS_W),
        .HAS_VECTOR(HAS_VECTOR)
    ) u_store (
        .clk(clk), .rst(unit_rst[STORE]), .start(starts[STORE]), .m_done(done[STORE]), .m_bad(mismatch[2]),
        .sts_saturated(saturated[4:3]), .s_instruction(instruction[STORE*1024 +: 1024]), .cfg_base(base),
        .cfg_seed(seed), .m_rd_urgent(str_rd_urgent), .s_scrub(scrub_valid), .s_scrub_addr(scrub_addr[8:0]),
        .m_rd_valid(str_rd_valid), .m_rd_ready(str_rd_ready), .m_rd_buffer(str_rd_buffer), .m_rd_access(str_rd_access),
        .m_rd_mark(str_rd_mark), .s_rd_valid(str_back), .s_rd_mark(str_back_mark), .s_rd_data(str_back_data),
        .m_rreq_valid(rreq_valid[5]), .m_rreq_ready(rreq_ready[5]), .m_rreq_addr(rreq_addr[5*ADDR_W +: ADDR_W]),
        .m_rreq_len(rreq_len[40 +: 8]), .s_rdat_valid(rdat_valid[5]), .s_rdat_data(rdat_data),
        .m_wreq_valid(wreq_valid[1:0]), .m_wreq_ready(wreq_ready[1:0]), .m_wreq_addr(wreq_addr[0 +: 2*ADDR_W]),
        .m_wreq_len(wreq_len[0 +: 16]), .m_wdat_valid(wdat_valid[1:0]), .m_wdat_ready(wdat_ready[1:0]),
        .m_wdat_data(wdat_data[0 +: 2*MEM_W]), .m_wdat_strb(wdat_strb[0 +: 2*MEM_W/8]), .m_wdat_last(wdat_last[1:0]),
        .s_wrsp_valid(wrsp_valid[1:0])
    );

    // ---- Gradients and update
    gc_update_side #(
        .GRID(GRID), .COLS(COLS), .DW(DW), .ACC_W(ACC_W), .DEPTH(GRAD_DEPTH), .MEM_W(MEM_W), .ADDR_W(ADDR_W),
        .BURST(BURST), .ULTRA(ULTRA >> 3 & 1)
    ) u_update (
        .clk(clk), .rst(unit_rst[UPDATE]), .start(starts[UPDATE]), .m_done(done[UPDATE]), .m_bad(mismatch[3]),
        .s_instruction(instruction[UPDATE*1024 +: 1024]), .cfg_base(base), .cfg_seed(seed), .cfg_rate(rate),
        .s_clear(program_start), .s_scrub(scrub_valid), .s_scrub_addr(scrub_addr[$clog2(GRAD_DEPTH)-1:0]),
        .s_grad_valid(grad_valid), .s_grad_addr(grad_addr), .s_grad_first(grad_first), .s_grad_acc(grad_acc),
        .m_wgt_valid(upd_wgt_valid), .m_wgt_ready(upd_wgt_ready), .m_wgt_addr(upd_wgt_addr), .m_wgt_rot(upd_wgt_rot),
        .s_wgt_valid(upd_wgt_back), .s_wgt_data(upd_wgt_data), .m_rreq_valid(rreq_valid[4:3]),
        .m_rreq_ready(rreq_ready[4:3]), .m_rreq_addr(rreq_addr[3*ADDR_W +: 2*ADDR_W]), .m_rreq_len(rreq_len[24 +: 16]),
        .s_rdat_valid(rdat_valid[4:3]), .s_rdat_data(rdat_data), .s_rdat_last(rdat_last),
        .m_wreq_valid(wreq_valid[3:2]), .m_wreq_ready(wreq_ready[3:2]), .m_wreq_addr(wreq_addr[2*ADDR_W +: 2*ADDR_W]),
        .m_wreq_len(wreq_len[16 +: 16]), .m_wdat_valid(wdat_valid[3:2]), .m_wdat_ready(wdat_ready[3:2]),
        .m_wdat_data(wdat_data[2*MEM_W +: 2*MEM_W]), .m_wdat_strb(wdat_strb[2*MEM_W/8 +: 2*MEM_W/8]),
        .m_wdat_last(wdat_last[3:2]), .s_wrsp_valid(wrsp_valid[3:2]), .sts_overflow(overflow),
        .sts_saturated(saturated[2])
    );
    wire _unused = &{1'b0, draining_unused};
end endgenerate
endmodule

`default_nettype wire
