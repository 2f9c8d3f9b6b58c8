// SPDX-License-Identifier: Apache-2.0
// Executes UPDATE: streams momentum rows from DRAM and weight rows from there or from the weight buffer, joins them
// with the rows of the gradient buffer, and streams the new ones to DRAM (doc/instructions.md, doc/numerics.md). One
// row of COLS weights per cycle at most; the memory port sets the pace. s_instruction is stable from `start` to
// m_done, which comes when the memory has confirmed the last burst of both. m_bad pulses at most two cycles after it is
// seen that n_words, n_outer x n_inner and the beats do not agree.
`default_nettype none

module gc_update_unit #(
    parameter COLS     = 16,
    parameter DW       = 16,
    parameter ACC_W    = 48,
    parameter MEM_W    = 512,
    parameter ADDR_W   = 48,
    parameter BURST    = 32    // beats of a burst, at most; of a read, half as many
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  start,
    input  wire [1023:0]         s_instruction,
    input  wire [4*ADDR_W-1:0]   cfg_base,
    input  wire [31:0]           cfg_seed,
    input  wire [15:0]           cfg_rate,
    output wire                  m_done,
    output reg                   m_bad,
    // gradient buffer, read side
    output wire                  m_grad_valid,
    input  wire                  m_grad_ready,
    output wire [15:0]           m_grad_addr,
    input  wire                  s_grad_valid,
    input  wire [COLS*ACC_W-1:0] s_grad_data,
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
    output wire                  sts_saturated   // pulse: a row with a saturated gradient, momentum or weight
);
    localparam COLS_LOG = $clog2(COLS);

    // Fields of the instruction. `resident`: weights come from the weight buffer.
    wire        momentum, resident;
    wire [1:0]  rounding, base_sel;
    wire [47:0] addr, momentum_addr;
    wire [31:0] run_beats, n_words, key;
    wire [15:0] n_outer, n_inner, base, wgt_base, wgt_inner, rnd_tag, map0;
    wire [5:0]  shift_g;
    wire [4:0]  shift_v;
    wire [3:0]  shift_d;
    wire [4:0]  shift_w;
    wire [14:0] lr_m, beta_m, decay_m, rate_m;
    gc_decode_update u_fields (
        .s_instruction(s_instruction),
        .m_momentum(momentum), .m_rounding(rounding), .m_resident(resident), .m_base_sel(base_sel),
        .m_addr(addr), .m_momentum_addr(momentum_addr),
        .m_run_beats(run_beats), .m_n_words(n_words),
        .m_n_outer(n_outer), .m_n_inner(n_inner), .m_base(base),
        .m_wgt_base(wgt_base), .m_wgt_inner(wgt_inner),
        .m_shift_g(shift_g), .m_shift_v(shift_v), .m_shift_d(shift_d), .m_shift_w(shift_w),
        .m_lr_m(lr_m), .m_beta_m(beta_m), .m_decay_m(decay_m), .m_rate_m(rate_m),
        .m_rnd_tag(rnd_tag), .m_key(key), .m_map0(map0)
    );

    // The multipliers, those with the learning rate as it is in this step: long there when the first row comes.
    reg         behind_q;                    // the learning rate stands behind the momentum
    reg  [14:0] lr_q, decay_q, rate_q;
    wire [14:0] step_rate;
    wire [14:0] step_decay;
    gc_rate_scale u_rate (
        .clk(clk), .cfg_rate(cfg_rate), .s_multiplier(behind_q ? rate_m : lr_m), .m_multiplier(step_rate)
    );
    gc_rate_scale u_decay (.clk(clk), .cfg_rate(cfg_rate), .s_multiplier(decay_m), .m_multiplier(step_decay));
    always @(posedge clk) begin
        behind_q     <= |rate_m[14:1];
        lr_q         <= behind_q ? lr_m : step_rate;
        decay_q      <= behind_q ? decay_m : step_decay;
        rate_q       <= behind_q ? step_rate : 15'd1;
    end

    // Rows on chip: gradients, and the weights where they are.
    wire                  grad_valid;
    wire [COLS*ACC_W-1:0] grad_data;
    wire                  held_valid;
    wire [COLS*DW-1:0]    held_data;
    wire                  row_ready;
    wire                  row_valid;
    wire                  used;                // a row leaves all of its streams
    wire [COLS_LOG-1:0]   grads_m_inner_unused;

    gc_row_reader #(.WIDTH(COLS*ACC_W), .COLS(COLS)) u_grads (
        .clk(clk), .rst(rst), .start(start),
        .cfg_rows(n_words), .cfg_base(base), .cfg_inner(16'd0),
        .m_ask_valid(m_grad_valid), .m_ask_ready(m_grad_ready),
        .m_addr(m_grad_addr), .m_inner(grads_m_inner_unused),
        .s_valid(s_grad_valid), .s_data(s_grad_data),
        .m_valid(grad_valid), .m_ready(used), .m_data(grad_data)
    );
    gc_row_reader #(.WIDTH(COLS*DW), .COLS(COLS)) u_held (
        .clk(clk), .rst(rst), .start(start && resident),
        .cfg_rows(n_words), .cfg_base(wgt_base), .cfg_inner(wgt_inner),
        .m_ask_valid(m_wgt_valid), .m_ask_ready(m_wgt_ready),
        .m_addr(m_wgt_addr), .m_inner(m_wgt_rot),
        .s_valid(s_wgt_valid), .s_data(s_wgt_data),
        .m_valid(held_valid), .m_ready(used && resident), .m_data(held_data)
    );

    // Weight and momentum streams, both ways. Each is one contiguous run.
    wire [1:0]         in_valid;
    wire [2*COLS*DW-1:0] in_data;
    wire [1:0]         out_ready;
    wire [2*COLS*DW-1:0] out_data;
    wire               out_valid;
    wire               out_take = out_valid && out_ready[0] && (out_ready[1] || !momentum);
    wire [1:0]         writer_done;
    wire [1:0]         reader_m_last_unused;
    wire [1:0]         reader_bad;
    wire [1:0]         writer_bad;
    wire [1:0]         reader_sts_open_unused;
    wire [1:0]         writer_sts_open_unused;
    wire [1:0]         writer_m_last_unused;
    wire [95:0]        addrs = {momentum_addr, addr};
    wire [1:0]         reads  = {momentum, !resident};
    wire [1:0]         writes = {momentum, 1'b1};

    genvar s;
    generate
        for (s = 0; s < 2; s = s + 1) begin : g_stream
            gc_word_reader #(
                .LANES(COLS), .DW(DW), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST/2),
                .BEATS(BURST > 32 ? 2*BURST : 64)
            ) u_reader (
                .clk(clk), .rst(rst), .start(start && reads[s]),
                .cfg_addr(addrs[s*48 +: 48]), .cfg_base(cfg_base), .cfg_base_sel(base_sel),
                .cfg_run_beats(run_beats), .cfg_n_words(n_words), .cfg_packed(1'b0),
                .cfg_n1(16'd1), .cfg_stride1(32'd0),
                .cfg_n2(16'd1), .cfg_stride2(32'd0),
                .m_rreq_valid(m_rreq_valid[s]), .m_rreq_ready(m_rreq_ready[s]),
                .m_rreq_addr(m_rreq_addr[s*ADDR_W +: ADDR_W]), .m_rreq_len(m_rreq_len[s*8 +: 8]),
                .s_rdat_valid(s_rdat_valid[s]), .s_rdat_data(s_rdat_data), .s_rdat_last(s_rdat_last),
                .m_valid(in_valid[s]), .m_ready(used && reads[s]), .m_data(in_data[s*COLS*DW +: COLS*DW]),
                .m_last(reader_m_last_unused[s]), .sts_open(reader_sts_open_unused[s]), .sts_bad(reader_bad[s])
            );
            gc_word_writer #(.LANES(COLS), .DW(DW), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST)) u_writer (
                .clk(clk), .rst(rst), .start(start && writes[s]),
                .cfg_addr(addrs[s*48 +: 48]), .cfg_base(cfg_base), .cfg_base_sel(base_sel),
                .cfg_run_beats(run_beats), .cfg_n_words(n_words), .cfg_packed(1'b0),
                .cfg_n1(16'd1), .cfg_stride1(32'd0),
                .cfg_n2(16'd1), .cfg_stride2(32'd0),
                .s_valid(out_take && writes[s]), .s_ready(out_ready[s]),
                .s_data(out_data[s*COLS*DW +: COLS*DW]), .m_done(writer_done[s]),
                .m_last(writer_m_last_unused[s]), .sts_open(writer_sts_open_unused[s]), .sts_bad(writer_bad[s]),
                .m_wreq_valid(m_wreq_valid[s]), .m_wreq_ready(m_wreq_ready[s]),
                .m_wreq_addr(m_wreq_addr[s*ADDR_W +: ADDR_W]), .m_wreq_len(m_wreq_len[s*8 +: 8]),
                .m_wdat_valid(m_wdat_valid[s]), .m_wdat_ready(m_wdat_ready[s]),
                .m_wdat_data(m_wdat_data[s*MEM_W +: MEM_W]), .m_wdat_strb(m_wdat_strb[s*MEM_W/8 +: MEM_W/8]),
                .m_wdat_last(m_wdat_last[s]), .s_wrsp_valid(s_wrsp_valid[s])
            );
        end
    endgenerate

    // The streams are joined to a row in a register: what follows it, follows no stream.
    localparam ROW_W = COLS*(ACC_W + 2*DW);
    reg              row_q;       // there is a row
    reg  [ROW_W-1:0] joined_q;
    reg  [31:0]      left_q;      // rows to come, with this one
    wire             free = !row_q || row_ready;
    wire             step = row_q && row_ready;
    assign row_valid = grad_valid && (resident ? held_valid : in_valid[0]) && (in_valid[1] || !momentum);
    assign used      = row_valid && free;
    always @(posedge clk) begin
        if (free) begin
            row_q    <= row_valid;
            joined_q <= {in_data[COLS*DW +: COLS*DW], resident ? held_data : in_data[0 +: COLS*DW], grad_data};
        end
        if (start)     left_q <= n_words;
        else if (step) left_q <= left_q - 32'd1;
        if (rst) row_q <= 1'b0;
    end

    // Row keys and output maps for stochastic rounding.
    wire [31:0] index;
    wire [7:0] loops_unused;
    wire loops_last;
    gc_loop_nest #(.LEVELS(2), .W(16)) u_loops (
        .clk(clk), .cfg_count({n_inner, n_outer}), .s_single(2'd0), .s_two(2'd0),
        .start(start), .step(step),
        .advance(loops_unused[1:0]), .restart(loops_unused[3:2]),
        .at_first(loops_unused[5:4]), .at_last(loops_unused[7:6]),
        .last(loops_last), .index(index)
    );

    gc_update #(.COLS(COLS), .DW(DW), .ACC_W(ACC_W)) u_update (
        .clk(clk), .rst(rst),
        .cfg_momentum(momentum), .cfg_mode(rounding),
        .cfg_shift_g(shift_g), .cfg_shift_v(shift_v), .cfg_shift_d(shift_d), .cfg_shift_w(shift_w),
        .cfg_lr_m(lr_q), .cfg_beta_m(beta_m), .cfg_decay_m(decay_q), .cfg_rate_m(rate_q),
        .cfg_seed(cfg_seed), .cfg_tag(rnd_tag),
        .s_valid(row_q), .s_ready(row_ready), .s_grad(joined_q[0 +: COLS*ACC_W]),
        .s_wgt(joined_q[COLS*ACC_W +: COLS*DW]), .s_mom(joined_q[COLS*(ACC_W+DW) +: COLS*DW]),
        .s_key(key + {16'd0, index[31:16]}), .s_of({16'd0, map0} + ({16'd0, index[15:0]} << COLS_LOG)),
        .m_valid(out_valid), .m_ready(out_ready[0] && (out_ready[1] || !momentum)),
        .m_wgt(out_data[0 +: COLS*DW]), .m_mom(out_data[COLS*DW +: COLS*DW]), .sts_saturated(sts_saturated)
    );

    // Both writers must have finished.
    reg [1:0] open_q;
    reg       step_q;
    reg       beats_q;      // a stream that is read has too few beats or too many
    reg       differs_q;    // the row is the last one of the loops or of n_words, not of both
    always @(posedge clk) begin
        if (start) open_q <= writes;
        else       open_q <= open_q & ~writer_done;
        step_q    <= step;
        differs_q <= loops_last != (left_q == 32'd1);
        beats_q   <= |reader_bad;
        m_bad     <= beats_q || |writer_bad || (step_q && differs_q);
        if (rst) begin
            step_q  <= 1'b0;
            beats_q <= 1'b0;
            open_q  <= 2'b00;
            m_bad   <= 1'b0;
        end
    end
    assign m_done = (|open_q) && ~(|(open_q & ~writer_done));

    wire _unused = &{1'b0, grads_m_inner_unused, loops_unused, reader_m_last_unused,
                     reader_sts_open_unused, writer_sts_open_unused, writer_m_last_unused};
endmodule

`default_nettype wire
