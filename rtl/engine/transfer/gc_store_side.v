// SPDX-License-Identifier: Apache-2.0
// Executes what stands in the queue of STORE: STORE (gc_store_unit) and VECTOR (gc_vector). `start` begins the one
// whose opcode it is; s_instruction is stable from then to m_done. Writers: 0 STORE, 1 VECTOR. s_scrub clears the
// table.
`default_nettype none

module gc_store_side #(
    parameter GRID     = 8,
    parameter DW       = 16,
    parameter MEM_W    = 512,
    parameter ADDR_W   = 48,
    parameter BURST    = 32,   // beats of a burst, at most
    parameter ACCESS_W = 1,    // bits of an access record: gc_engine says how many
    parameter HAS_VECTOR = 1   // 0: without gc_vector, there is no VECTOR
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    start,
    input  wire [1023:0]           s_instruction,
    input  wire [4*ADDR_W-1:0]     cfg_base,
    input  wire [31:0]             cfg_seed,
    output wire                    m_done,
    output wire                    m_bad,
    output wire [1:0]              sts_saturated,  // pulses: a beat of VECTOR, of activations, of local gradients
    input  wire                    s_scrub,
    input  wire [8:0]              s_scrub_addr,
    // buffers, read side
    output wire                    m_rd_valid,
    input  wire                    m_rd_ready,
    output wire                    m_rd_urgent, // the array is to leave the read port alone
    output wire [1:0]              m_rd_buffer, // 0, 1 operand buffer, 2 gate buffer
    output wire [ACCESS_W-1:0]     m_rd_access,
    output wire                    m_rd_mark,   // of the last image group
    input  wire                    s_rd_valid,
    input  wire                    s_rd_mark,
    input  wire [GRID*GRID*DW-1:0] s_rd_data,
    // memory
    output wire                    m_rreq_valid,
    input  wire                    m_rreq_ready,
    output wire [ADDR_W-1:0]       m_rreq_addr,
    output wire [7:0]              m_rreq_len,
    input  wire                    s_rdat_valid,
    input  wire [MEM_W-1:0]        s_rdat_data,
    output wire [1:0]              m_wreq_valid,
    input  wire [1:0]              m_wreq_ready,
    output wire [2*ADDR_W-1:0]     m_wreq_addr,
    output wire [15:0]             m_wreq_len,
    output wire [1:0]              m_wdat_valid,
    input  wire [1:0]              m_wdat_ready,
    output wire [2*MEM_W-1:0]      m_wdat_data,
    output wire [2*MEM_W/8-1:0]    m_wdat_strb,
    output wire [1:0]              m_wdat_last,
    input  wire [1:0]              s_wrsp_valid
);
    localparam [3:0] STORE = 4'd4, VECTOR = 4'd6;

    wire [3:0]  opcode;
    wire [26:0] common_unused;
    gc_decode_common u_common (
        .s_instruction(s_instruction), .m_opcode(opcode),
        .m_wait(common_unused[5:0]), .m_signal(common_unused[10:6]),
        .m_signal_read(common_unused[15:11]), .m_tag(common_unused[26:16])
    );
    wire store_done, vector_done;
    assign m_done = store_done || vector_done;

    gc_store_unit #(
        .GRID(GRID), .DW(DW), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST), .ACCESS_W(ACCESS_W)
    ) u_store (
        .clk(clk), .rst(rst), .start(start && opcode == STORE), .m_done(store_done), .m_bad(m_bad),
        .s_instruction(s_instruction), .cfg_base(cfg_base), .m_rd_urgent(m_rd_urgent),
        .m_rd_valid(m_rd_valid), .m_rd_ready(m_rd_ready), .m_rd_buffer(m_rd_buffer),
        .m_rd_access(m_rd_access), .m_rd_mark(m_rd_mark),
        .s_rd_valid(s_rd_valid), .s_rd_mark(s_rd_mark), .s_rd_data(s_rd_data),
        .m_wreq_valid(m_wreq_valid[0]), .m_wreq_ready(m_wreq_ready[0]),
        .m_wreq_addr(m_wreq_addr[0 +: ADDR_W]), .m_wreq_len(m_wreq_len[7:0]),
        .m_wdat_valid(m_wdat_valid[0]), .m_wdat_ready(m_wdat_ready[0]), .m_wdat_data(m_wdat_data[0 +: MEM_W]),
        .m_wdat_strb(m_wdat_strb[0 +: MEM_W/8]), .m_wdat_last(m_wdat_last[0]), .s_wrsp_valid(s_wrsp_valid[0])
    );

    generate if (HAS_VECTOR != 0) begin : g_vector
        wire        transpose, relu, gradient, saturated;
        wire [1:0]  rounding, base_sel, base_sel_b, base_sel_out, fold;
        wire [2:0]  operation;
        wire [4:0]  shift_a, shift_b;
        wire [5:0]  shift;
        wire [7:0]  n_ky, n_kx, step_y, step_x, phase_y, phase_x;
        wire [15:0] n_beats, n_y, n_x, first_y, first_x, height, width, multiplier, rnd_tag, n_base;
        wire [15:0] keep_threshold, keep_tag;
        wire [31:0] stride_y, stride_x, advance_y, advance_x, index_behind;
        wire [47:0] addr, addr_b, addr_out;
        gc_decode_vector u_decode (
            .s_instruction(s_instruction),
            .m_operation(operation), .m_transpose(transpose), .m_relu(relu), .m_rounding(rounding),
            .m_gradient(gradient), .m_base_sel(base_sel),
            .m_base_sel_b(base_sel_b), .m_base_sel_out(base_sel_out), .m_addr(addr), .m_addr_b(addr_b),
            .m_addr_out(addr_out), .m_stride_y(stride_y), .m_stride_x(stride_x), .m_advance_y(advance_y),
            .m_advance_x(advance_x), .m_n_beats(n_beats), .m_n_y(n_y), .m_n_x(n_x), .m_n_ky(n_ky), .m_n_kx(n_kx),
            .m_step_y(step_y), .m_step_x(step_x), .m_first_y(first_y), .m_first_x(first_x), .m_phase_y(phase_y),
            .m_phase_x(phase_x), .m_height(height), .m_width(width), .m_multiplier(multiplier), .m_shift(shift),
            .m_shift_a(shift_a), .m_shift_b(shift_b), .m_rnd_tag(rnd_tag), .m_n_base(n_base), .m_fold(fold),
            .m_index_behind(index_behind), .m_keep_threshold(keep_threshold), .m_keep_tag(keep_tag)
        );
        reg [ADDR_W-1:0] base_q, base_b_q, base_out_q;     // gc_vector adds them two cycles after `start`
        always @(posedge clk) begin
            base_q     <= cfg_base[base_sel*ADDR_W +: ADDR_W];
            base_b_q   <= cfg_base[base_sel_b*ADDR_W +: ADDR_W];
            base_out_q <= cfg_base[base_sel_out*ADDR_W +: ADDR_W];
        end
        gc_vector #(.GRID(GRID), .DW(DW), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST)) u_vector (
            .clk(clk), .rst(rst), .start(start && opcode == VECTOR), .m_done(vector_done),
            .sts_saturated(saturated), .cfg_base(base_q), .cfg_base_b(base_b_q), .cfg_base_out(base_out_q),
            .cfg_operation(operation), .cfg_transpose(transpose), .cfg_relu(relu), .cfg_rounding(rounding),
            .cfg_addr(addr), .cfg_addr_b(addr_b), .cfg_addr_out(addr_out), .cfg_stride_y(stride_y),
            .cfg_stride_x(stride_x), .cfg_advance_y(advance_y), .cfg_advance_x(advance_x), .cfg_n_beats(n_beats),
            .cfg_n_y(n_y), .cfg_n_x(n_x), .cfg_n_ky(n_ky), .cfg_n_kx(n_kx), .cfg_step_y(step_y), .cfg_step_x(step_x),
            .cfg_first_y(first_y), .cfg_first_x(first_x), .cfg_phase_y(phase_y), .cfg_phase_x(phase_x),
            .cfg_height(height), .cfg_width(width), .cfg_multiplier(multiplier), .cfg_shift(shift),
            .cfg_shift_a(shift_a), .cfg_shift_b(shift_b), .cfg_rnd_tag(rnd_tag), .cfg_n_base(n_base), .cfg_fold(fold),
            .cfg_keep_threshold(keep_threshold), .cfg_keep_tag(keep_tag),
            .cfg_index_behind(index_behind), .cfg_seed(cfg_seed),
            .s_scrub(s_scrub), .s_scrub_addr(s_scrub_addr),
            .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready),
            .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len),
            .s_rdat_valid(s_rdat_valid), .s_rdat_data(s_rdat_data),
            .m_wreq_valid(m_wreq_valid[1]), .m_wreq_ready(m_wreq_ready[1]),
            .m_wreq_addr(m_wreq_addr[ADDR_W +: ADDR_W]), .m_wreq_len(m_wreq_len[15:8]),
            .m_wdat_valid(m_wdat_valid[1]), .m_wdat_ready(m_wdat_ready[1]), .m_wdat_data(m_wdat_data[MEM_W +: MEM_W]),
            .m_wdat_strb(m_wdat_strb[MEM_W/8 +: MEM_W/8]), .m_wdat_last(m_wdat_last[1]), .s_wrsp_valid(s_wrsp_valid[1])
        );

        assign sts_saturated = {gradient, !gradient} & {2{saturated}};
    end else begin : g_no_vector
        assign {vector_done, sts_saturated}       = 3'd0;
        assign {m_rreq_valid, m_rreq_addr, m_rreq_len} = {ADDR_W+9{1'b0}};
        assign {m_wreq_valid[1], m_wreq_addr[ADDR_W +: ADDR_W], m_wreq_len[15:8]} = {ADDR_W+9{1'b0}};
        assign {m_wdat_valid[1], m_wdat_last[1]}  = 2'd0;
        assign m_wdat_data[MEM_W +: MEM_W]        = {MEM_W{1'b0}};
        assign m_wdat_strb[MEM_W/8 +: MEM_W/8]    = {MEM_W/8{1'b0}};
        wire _unused = &{1'b0, cfg_seed, s_scrub, s_scrub_addr, m_rreq_ready, s_rdat_valid, s_rdat_data,
                         m_wreq_ready[1], m_wdat_ready[1], s_wrsp_valid[1]};
    end endgenerate

    wire _unused = &{1'b0, common_unused};
endmodule

`default_nettype wire
