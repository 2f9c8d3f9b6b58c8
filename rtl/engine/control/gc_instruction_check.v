// SPDX-License-Identifier: Apache-2.0
// Says whether an instruction has a field that no program may have: a count of zero, an address that is no multiple of
// the beat, a choice that does not exist, a set bit that has no name (doc/instructions.md, "Refused instructions").
// The verdict on s_instruction comes two cycles later: one to look at its parts, one to join what was found. Equal to
// gradcore.isa.rules.problem and, for the unnamed bits, gradcore.isa.instruction.decode. Unknown opcodes are
// gc_dispatch's business.
`default_nettype none

module gc_instruction_check #(
    parameter GRID  = 8,
    parameter COLS  = 16,
    parameter MEM_W = 512,
    parameter WGT_DEPTH = 8192,
    parameter HAS_VECTOR  = 1,
    parameter HAS_SOFTMAX = 1,
    parameter HAS_FACTOR  = 1
) (
    input  wire          clk,
    input  wire [1023:0] s_instruction,
    output reg           m_bad
);
    localparam [3:0]  END        = 4'd0;
    localparam [3:0]  LOAD       = 4'd1;
    localparam [3:0]  LOADW      = 4'd2;
    localparam [3:0]  COMPUTE    = 4'd3;
    localparam [3:0]  STORE      = 4'd4;
    localparam [3:0]  UPDATE     = 4'd5;
    localparam [3:0]  VECTOR     = 4'd6;
    localparam [2:0]  SUM        = 3'd2;     // operations of VECTOR
    localparam [2:0]  CHOOSE     = 3'd3;
    localparam [2:0]  ADD        = 3'd6;
    localparam [1:0]  WU         = 2'd2;     // a mode
    localparam        BEAT       = $clog2(MEM_W/8);
    localparam        SMALL      = GRID == 4;    // fold 3 is beyond the grid
    localparam [15:0] ALL        = COLS[15:0];
    localparam        SPLIT      = COLS < GRID*GRID && WGT_DEPTH >= GRID*GRID;

    // Fields. STORE's vectors stand for those of LOAD, LOADW's rows for those of UPDATE: their places are the same.
    wire [3:0]  opcode;
    wire [26:0] common_unused;
    gc_decode_common u_common (
        .s_instruction(s_instruction), .m_opcode(opcode),
        .m_wait(common_unused[5:0]), .m_signal(common_unused[10:6]),
        .m_signal_read(common_unused[15:11]), .m_tag(common_unused[26:16])
    );
    wire [47:0] addr, momentum_addr;
    wire [31:0] run_beats, n_words, stride1, stride2;
    wire [15:0] n1, n2;
    wire [1:0]  base_sel_unused;
    gc_decode_dram u_dram (
        .s_instruction(s_instruction),
        .m_base_sel(base_sel_unused), .m_addr(addr),
        .m_run_beats(run_beats), .m_n_words(n_words),
        .m_n1(n1), .m_stride1(stride1),
        .m_n2(n2), .m_stride2(stride2)
    );
    wire [1:0]  buffer, vector_fold;
    wire [15:0] n_b, n_y, n_x, n_c;
    wire [11:0] height, width;
    wire [6:0]  n_valid;
    wire        bits;
    wire [90:0] store_unused;
    gc_decode_store u_vectors (
        .s_instruction(s_instruction),
        .m_buffer(buffer), .m_packed(bits), .m_fold(vector_fold),
        .m_n_b(n_b), .m_n_y(n_y), .m_n_x(n_x), .m_n_c(n_c),
        .m_height(height), .m_width(width), .m_n_valid(n_valid),
        .m_base(store_unused[15:0]), .m_stride_b(store_unused[31:16]), .m_stride_y(store_unused[47:32]),
        .m_stride_x(store_unused[63:48]), .m_urgent(store_unused[64]), .m_gate_base(store_unused[84:65]),
        .m_rot_y(store_unused[87:85]), .m_rot_x(store_unused[90:88])
    );
    wire         derive, upsample, scale_load, softmax;
    wire [15:0]  classes;
    wire [210:0] load_unused;   // its n_valid is that of STORE
    gc_decode_load u_load (
        .s_instruction(s_instruction),
        .m_derive(derive), .m_upsample(upsample), .m_scale(scale_load), .m_softmax(softmax), .m_classes(classes),
        .m_buffer(load_unused[1:0]), .m_packed(load_unused[2]), .m_fold(load_unused[4:3]),
        .m_pool_bit(load_unused[6:5]), .m_n_b(load_unused[22:7]), .m_n_y(load_unused[38:23]),
        .m_n_x(load_unused[54:39]), .m_n_c(load_unused[70:55]), .m_base(load_unused[86:71]),
        .m_stride_b(load_unused[102:87]), .m_stride_y(load_unused[118:103]), .m_stride_x(load_unused[134:119]),
        .m_stride_qy(load_unused[150:135]), .m_stride_qx(load_unused[166:151]), .m_gate_base(load_unused[186:167]),
        .m_rot_y(load_unused[189:187]), .m_rot_x(load_unused[192:190]), .m_n_valid(load_unused[199:193]),
        .m_u_shift(load_unused[205:200]), .m_loss_shift(load_unused[210:206])
    );
    wire [15:0] n_outer, n_inner, base_unused;
    gc_decode_loadw u_rows (
        .s_instruction(s_instruction),
        .m_n_outer(n_outer), .m_n_inner(n_inner),
        .m_base(base_unused)
    );
    wire         momentum, resident;
    wire [15:0]  wgt_inner;
    wire [323:0] update_unused;
    gc_decode_update u_update (
        .s_instruction(s_instruction),
        .m_momentum(momentum), .m_momentum_addr(momentum_addr),
        .m_resident(resident), .m_wgt_inner(wgt_inner),
        .m_rounding(update_unused[1:0]), .m_base_sel(update_unused[3:2]), .m_addr(update_unused[51:4]),
        .m_run_beats(update_unused[83:52]), .m_n_words(update_unused[115:84]),
        .m_n_outer(update_unused[131:116]), .m_n_inner(update_unused[147:132]), .m_base(update_unused[163:148]),
        .m_wgt_base(update_unused[179:164]),
        .m_shift_g(update_unused[185:180]), .m_shift_v(update_unused[190:186]), .m_shift_w(update_unused[195:191]),
        .m_lr_m(update_unused[210:196]), .m_beta_m(update_unused[225:211]),
        .m_rnd_tag(update_unused[241:226]), .m_key(update_unused[273:242]), .m_map0(update_unused[289:274]),
        .m_shift_d(update_unused[293:290]), .m_decay_m(update_unused[308:294]), .m_rate_m(update_unused[323:309])
    );
    wire [1:0]  mode, loss, factor, fold, row_fold, col_fold, dst_fold, gate_fold;
    wire        split, keep_in, keep_out, pool;
    wire [15:0] n_g, n_rg, n_by, n_bx, n_ky, n_kx, n_red, n_last;
    wire [3:0]  skip_y, skip_x;
    wire [62:0] compute_unused;
    gc_decode_compute u_compute (
        .s_instruction(s_instruction),
        .m_mode(mode), .m_loss(loss), .m_split(split), .m_keep_in(keep_in), .m_keep_out(keep_out),
        .m_factor(factor), .m_pool(pool),
        .m_fold(fold), .m_row_fold(row_fold), .m_col_fold(col_fold), .m_dst_fold(dst_fold), .m_gate_fold(gate_fold),
        .m_n_g(n_g), .m_n_rg(n_rg), .m_n_by(n_by), .m_n_bx(n_bx),
        .m_n_ky(n_ky), .m_n_kx(n_kx), .m_n_c(n_red), .m_n_last(n_last),
        .m_row_buf(compute_unused[0]), .m_dst_buf(compute_unused[1]), .m_bias(compute_unused[2]),
        .m_relu(compute_unused[3]), .m_gate_write(compute_unused[4]),
        .m_scale(compute_unused[5]), .m_grad_first(compute_unused[6]),
        .m_rounding(compute_unused[8:7]), .m_shift(compute_unused[14:9]),
        .m_by0(compute_unused[26:15]), .m_bx0(compute_unused[38:27]),
        .m_in_by0(compute_unused[50:39]), .m_in_bx0(compute_unused[62:51]),
        .m_skip_y(skip_y), .m_skip_x(skip_x)
    );
    wire        vec_transpose;
    wire [1:0]  vec_fold;
    wire [2:0]  vec_operation;
    wire [4:0]  vec_shift_a, vec_shift_b;
    wire [5:0]  vec_shift;
    wire [7:0]  vec_n_ky, vec_n_kx, vec_step_y, vec_step_x, vec_phase_y, vec_phase_x;
    wire [15:0] vec_n_beats, vec_n_y, vec_n_x, vec_height, vec_width, vec_threshold;
    wire [31:0] vec_stride_y, vec_stride_x, vec_advance_y, vec_advance_x, vec_index_behind;
    wire [47:0] vec_addr, vec_addr_b, vec_addr_out;
    wire [105:0] vec_unused;
    gc_decode_vector u_vector (
        .s_instruction(s_instruction),
        .m_operation(vec_operation), .m_transpose(vec_transpose), .m_relu(vec_unused[0]),
        .m_rounding(vec_unused[56:55]), .m_gradient(vec_unused[89]),
        .m_base_sel(vec_unused[2:1]), .m_base_sel_b(vec_unused[4:3]), .m_base_sel_out(vec_unused[6:5]),
        .m_addr(vec_addr), .m_addr_b(vec_addr_b), .m_addr_out(vec_addr_out), .m_stride_y(vec_stride_y),
        .m_stride_x(vec_stride_x), .m_advance_y(vec_advance_y), .m_advance_x(vec_advance_x), .m_n_beats(vec_n_beats),
        .m_n_y(vec_n_y), .m_n_x(vec_n_x), .m_n_ky(vec_n_ky), .m_n_kx(vec_n_kx), .m_step_y(vec_step_y),
        .m_step_x(vec_step_x), .m_first_y(vec_unused[22:7]), .m_first_x(vec_unused[38:23]), .m_phase_y(vec_phase_y),
        .m_phase_x(vec_phase_x), .m_height(vec_height), .m_width(vec_width), .m_multiplier(vec_unused[54:39]),
        .m_shift(vec_shift), .m_shift_a(vec_shift_a), .m_shift_b(vec_shift_b),
        .m_rnd_tag(vec_unused[72:57]), .m_n_base(vec_unused[88:73]), .m_fold(vec_fold),
        .m_index_behind(vec_index_behind), .m_keep_threshold(vec_threshold), .m_keep_tag(vec_unused[105:90])
    );
    wire spare_end, spare_load, spare_loadw, spare_compute, spare_store, spare_update, spare_vector;
    gc_decode_spare u_spare (       // of the cycle before, as the parts below
        .clk(clk), .s_instruction(s_instruction),
        .m_end(spare_end), .m_load(spare_load), .m_loadw(spare_loadw),
        .m_compute(spare_compute), .m_store(spare_store), .m_update(spare_update),
        .m_vector(spare_vector)
    );

    wire wu = mode == WU;

    wire bad_transfer = |addr[BEAT-1:0] || ~(|run_beats) || ~(|n_words);
    wire bad_strides  = ~(|n1) || ~(|n2) || |stride1[BEAT-1:0] || |stride2[BEAT-1:0];
    wire bad_update   = (momentum && |momentum_addr[BEAT-1:0]) || (resident && ~(|wgt_inner));
    wire bad_vectors  = ~(|n_b) || ~(|n_y) || ~(|n_x) || ~(|n_c) || (SMALL && &vector_fold);
    wire bad_map      = ~(|height) || ~(|width) || ~(|n_valid);
    wire bad_buffer   = &buffer || (bits && !buffer[1]) || (opcode == STORE && buffer[1] && !bits);
    wire bad_derive   = derive && (buffer[1] || upsample || scale_load);
    wire one_block    = ~(|n_b[15:1]) && ~(|n_y[15:1]) && ~(|n_x[15:1]);
    wire bad_softmax  = softmax && (HAS_SOFTMAX == 0 || buffer[1] || upsample || scale_load || derive || !one_block
                                 || ~(|n_valid) || ~(|classes) || classes > n_c);
    wire bad_rows     = ~(|n_outer) || ~(|n_inner);
    wire bad_choices  = &mode || &loss || ~(|n_last) || n_last > ALL;
    wire bad_split    = split && (|mode || !SPLIT);
    wire one_pass     = ~(|n_g[15:1]) && ~(|n_by[15:1]) && ~(|n_bx[15:1]);
    wire bad_keep     = (keep_in || keep_out) && (wu || !one_pass);
    wire bad_factor   = (|factor && (HAS_FACTOR == 0 || |loss)) || (&factor && pool);
    wire bad_skip     = |{skip_y, skip_x} && |fold;
    wire bad_folds    = SMALL && (&fold || &row_fold || &col_fold || &dst_fold || &gate_fold);
    wire bad_counts   = ~(|n_g) || ~(|n_by) || ~(|n_bx) || ~(|n_ky) || ~(|n_kx) || (wu ? ~(|n_rg) : ~(|n_red));
    wire vec_beats    = |{vec_addr[BEAT-1:0], vec_addr_b[BEAT-1:0], vec_addr_out[BEAT-1:0], vec_stride_y[BEAT-1:0],
                          vec_stride_x[BEAT-1:0], vec_advance_y[BEAT-1:0], vec_advance_x[BEAT-1:0],
                          vec_index_behind[BEAT-1:0]};
    wire vec_counts   = ~(|vec_n_beats) || ~(|vec_n_y) || ~(|vec_n_x) || ~(|vec_n_ky) || ~(|vec_n_kx)
                     || ~(|vec_step_y) || ~(|vec_step_x) || ~(|vec_height) || ~(|vec_width);
    wire vec_large    = (vec_n_ky[7] && |vec_n_ky[6:0]) || (vec_n_kx[7] && |vec_n_kx[6:0])
                     || (vec_step_y[7] && |vec_step_y[6:0]) || (vec_step_x[7] && |vec_step_x[6:0])
                     || vec_height[15] || vec_width[15] || (SMALL && &vec_fold) || &vec_shift[5:4];
    wire vec_window   = |{vec_n_ky[7:1], vec_n_kx[7:1], vec_step_y[7:1], vec_step_x[7:1], vec_transpose};
    wire vec_back     = !vec_operation[1] || vec_phase_y >= vec_step_y || vec_phase_x >= vec_step_x;
    wire vec_kind     = vec_operation[2] ? vec_window : vec_transpose ? vec_back : vec_operation == CHOOSE;
    wire vec_indices  = |vec_index_behind && |vec_operation;
    wire vec_drops    = |vec_threshold && vec_operation != SUM;
    wire vec_shifts   = vec_operation == ADD && (vec_shift_a[4] || vec_shift_b[4]);

    // What was found, by opcode.
    reg [15:0] is_q;              // one bit for each opcode
    reg       transfer_q, strides_q, update_q, vectors_q, map_q, load_q, rows_q;
    reg [1:0] compute_q;
    reg [2:0] vector_q;
    wire vectors  = is_q[LOAD] || is_q[STORE];
    wire rows     = is_q[LOADW] || is_q[UPDATE];
    always @(posedge clk) begin
        is_q       <= 16'd1 << opcode;
        transfer_q <= bad_transfer;
        strides_q  <= bad_strides;
        update_q   <= bad_update;
        vectors_q  <= bad_vectors || bad_buffer;
        map_q      <= bad_map;
        load_q     <= bad_derive || bad_softmax;
        rows_q     <= bad_rows;
        compute_q  <= {bad_counts || bad_choices, bad_split || bad_keep || bad_factor || bad_skip || bad_folds};
        vector_q   <= {vec_beats || vec_counts, vec_large || vec_shifts, vec_kind || vec_indices || vec_drops};
        m_bad      <= (is_q[END] && spare_end)
                   || (is_q[LOAD] && (spare_load || load_q)) || (is_q[LOADW] && spare_loadw)
                   || (is_q[STORE] && (spare_store || map_q))
                   || (is_q[UPDATE] && (spare_update || update_q))
                   || (is_q[COMPUTE] && (spare_compute || |compute_q))
                   || (is_q[VECTOR] && (HAS_VECTOR == 0 || spare_vector || |vector_q))
                   || (vectors && vectors_q) || (rows && rows_q)
                   || ((vectors || rows) && transfer_q) || ((vectors || is_q[LOADW]) && strides_q);
    end

    wire _unused = &{1'b0, is_q[15:7], common_unused, base_sel_unused, store_unused, load_unused, base_unused,
                     update_unused, compute_unused, addr, stride1, stride2, momentum_addr, vec_unused, vec_addr,
                     vec_addr_b, vec_addr_out, vec_stride_y, vec_stride_x, vec_advance_y, vec_advance_x, vec_shift,
                     vec_shift_a, vec_shift_b};
endmodule

`default_nettype wire
