// SPDX-License-Identifier: Apache-2.0
// Turns a COMPUTE instruction into one array step per cycle: the accesses of the row and column operands, the weight
// row and the pass marks (doc/instructions.md, "COMPUTE"). `start` begins an instruction that stays on s_instruction
// until m_done, the cycle of its last step. The last step of a pass may wait (sts_pad, gc_compute_passes). Sums that
// the instruction before has kept are not cleared by one that takes them; s_clear, between two programs, forgets them.
// Outputs are registered; there is no back-pressure.
`default_nettype none

module gc_compute_issue #(
    parameter COLS     = 16,
    parameter COLS_LOG = 4,    // log2 COLS
    parameter GROUPS   = 4,    // LANES/COLS
    parameter ACCESS_W = 1     // bits of an access record: gc_engine says how many
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                start,
    input  wire                s_clear,      // a program begins: no sums are kept
    input  wire                s_hold,       // no step in this cycle
    input  wire [1023:0]       s_instruction,
    output wire                m_done,
    output reg                 m_valid,
    output reg                 m_channel,    // WU: channel accesses, column operand from the other buffer
    output reg                 m_split,      // groups of COLS lanes take different channels
    output reg                 m_row_buf,
    output reg  [ACCESS_W-1:0] m_row,
    output reg  [ACCESS_W-1:0] m_col,
    output reg  [COLS_LOG-1:0] m_step,
    output reg  [15:0]         m_row_channels,
    output reg  [15:0]         m_col_channels,
    output reg  [15:0]         m_wgt_addr,
    output reg  [COLS_LOG-1:0] m_wgt_rot,
    output reg                 m_wgt_ramp,
    output reg                 m_first,
    output reg                 m_last,
    output reg  [COLS_LOG:0]   m_columns,
    output reg                 m_sum,
    output wire                m_pass,       // one cycle ahead of the step that ends a pass
    output wire [COLS_LOG:0]   m_pass_columns,
    output wire                m_pass_sum,
    output reg                 m_bias,  // the row operand is 2^m_bias_exp in every lane, with m_split in the first COLS
    output reg  [3:0]          m_bias_exp,
    output wire                sts_step,
    output wire                sts_pad,
    output wire                sts_yield
);
    localparam [15:0] ALL_STEPS = COLS[15:0];
    localparam [1:0]  BP = 2'd1, WU = 2'd2;

    // Fields of the instruction.
    wire [1:0]  mode, fold, row_fold, col_fold, factor;
    wire        row_buf, bias, split, keep_in, keep_out;
    wire [15:0] n_g, n_rg, n_by, n_bx, n_ky, n_kx, n_c, n_last;
    wire [11:0] by0, bx0, in_by0, in_bx0;
    wire [3:0]  skip_y, skip_x;
    wire [19:0] unused;
    gc_decode_compute u_compute (
        .s_instruction(s_instruction),
        .m_mode(mode), .m_row_buf(row_buf), .m_bias(bias), .m_split(split),
        .m_keep_in(keep_in), .m_keep_out(keep_out), .m_factor(factor),
        .m_fold(fold), .m_row_fold(row_fold), .m_col_fold(col_fold),
        .m_n_g(n_g), .m_n_rg(n_rg), .m_n_by(n_by), .m_n_bx(n_bx),
        .m_n_ky(n_ky), .m_n_kx(n_kx), .m_n_c(n_c), .m_n_last(n_last),
        .m_by0(by0), .m_bx0(bx0), .m_in_by0(in_by0), .m_in_bx0(in_bx0), .m_skip_y(skip_y), .m_skip_x(skip_x),
        .m_dst_buf(unused[0]), .m_relu(unused[1]), .m_pool(unused[2]), .m_gate_write(unused[3]), .m_scale(unused[4]),
        .m_loss(unused[6:5]), .m_grad_first(unused[7]), .m_rounding(unused[9:8]),
        .m_dst_fold(unused[11:10]), .m_gate_fold(unused[13:12]), .m_shift(unused[19:14])
    );
    wire [15:0] row_base, row_stride_y, row_stride_x, row_height, row_width, row_channels;
    wire [15:0] col_base, col_stride_y, col_stride_x, col_height, col_width, col_channels;
    wire [2:0]  row_rot_y, row_rot_x, col_rot_y, col_rot_x;
    wire [7:0]  disp_y0, disp_x0;
    wire [15:0] wgt_base, wgt_stride_g, wgt_stride_ky, wgt_stride_kx, wgt_stride_cg, bias_base;
    wire [3:0]  bias_exp;
    gc_decode_operands u_operands (
        .s_instruction(s_instruction),
        .m_row_base(row_base), .m_row_stride_y(row_stride_y), .m_row_stride_x(row_stride_x),
        .m_row_height(row_height), .m_row_width(row_width),
        .m_row_rot_y(row_rot_y), .m_row_rot_x(row_rot_x), .m_row_channels(row_channels),
        .m_col_base(col_base), .m_col_stride_y(col_stride_y), .m_col_stride_x(col_stride_x),
        .m_col_height(col_height), .m_col_width(col_width),
        .m_col_rot_y(col_rot_y), .m_col_rot_x(col_rot_x), .m_col_channels(col_channels),
        .m_disp_y0(disp_y0), .m_disp_x0(disp_x0),
        .m_wgt_base(wgt_base), .m_wgt_stride_g(wgt_stride_g), .m_wgt_stride_ky(wgt_stride_ky),
        .m_wgt_stride_kx(wgt_stride_kx), .m_wgt_stride_cg(wgt_stride_cg),
        .m_bias_base(bias_base), .m_bias_exp(bias_exp)
    );
    wire wu        = mode == WU;
    wire backward  = mode == BP;

    // The loop nest: FP and BP g by bx ky kx - c, WU rg ky kx g by bx p.
    wire [6:0]      advance;
    wire [6:0]      restart;
    wire [6:0]      at_first;
    wire [6:0]      at_last;
    wire            nest_last;
    wire [7*16-1:0] index;
    wire [7*16-1:0] count = wu ? {ALL_STEPS, n_bx, n_by, n_g, n_kx, n_ky, n_rg}
                               : {n_c, 16'd1, n_kx, n_ky, n_bx, n_by, n_g};

    // The step that moves the nest, and the one that leaves.
    wire step, pass_last, bias_now, kept;
    wire pass_first = (&at_first[6:4]) && (wu || at_first[3]) && !bias_now;
    wire sum        = wu && bias && (&at_first[3:1]);
    gc_compute_passes #(.COLS(COLS), .COLS_LOG(COLS_LOG)) u_passes (
        .clk(clk), .rst(rst), .start(start), .s_clear(s_clear), .s_hold(s_hold),
        .cfg_wu(wu), .cfg_bias(bias && !wu && !backward), .cfg_late(|factor && !wu && !keep_out),
        .cfg_keep_out(keep_out), .cfg_last(n_last[COLS_LOG:0]),
        .s_inner_last({restart[4], restart[3]}), .s_g_last({at_last[3], at_last[0]}), .s_sum(sum),
        .s_nest_last(nest_last),
        .m_done(m_done), .m_step(step), .m_emit(sts_step), .m_pass(m_pass), .m_last(pass_last),
        .m_columns(m_pass_columns), .m_bias(bias_now), .m_kept(kept), .sts_pad(sts_pad), .sts_yield(sts_yield)
    );
    assign m_pass_sum = sum;

    gc_loop_nest #(.LEVELS(7), .W(16)) u_loops (
        .clk(clk), .cfg_count(count), .s_single(7'd0), .s_two(7'd0), .start(start), .step(step),
        .advance(advance), .restart(restart), .at_first(at_first), .at_last(at_last), .last(nest_last), .index(index)
    );

    // The same loop sits at different levels in the two orders.
    wire [1:0] g_mv  = wu ? {restart[3], advance[3]} : {restart[0], advance[0]};
    wire [1:0] by_mv = wu ? {restart[4], advance[4]} : {restart[1], advance[1]};
    wire [1:0] bx_mv = wu ? {restart[5], advance[5]} : {restart[2], advance[2]};
    wire [1:0] ky_mv = wu ? {restart[1], advance[1]} : {restart[3], advance[3]};
    wire [1:0] kx_mv = wu ? {restart[2], advance[2]} : {restart[4], advance[4]};
    wire [11:0] y0   = (by0 + (wu ? index[4*16 +: 12] : index[1*16 +: 12])) << fold;
    wire [11:0] x0   = (bx0 + (wu ? index[5*16 +: 12] : index[2*16 +: 12])) << fold;
    wire [15:0] g    = wu ? index[3*16 +: 16] : index[0 +: 16];
    wire [15:0] c    = index[6*16 +: 16];

    // The input map, which FP reads by rows and WU by columns; a stride skips blocks of it.
    wire        forward = !wu && !backward;
    wire [11:0] in_by, in_bx;
    gc_block_walk u_blocks (
        .clk(clk), .start(start), .step(step), .s_by_move(by_mv), .s_bx_move(bx_mv),
        .cfg_by0(in_by0), .cfg_bx0(in_bx0), .cfg_skip_y(skip_y), .cfg_skip_x(skip_x), .m_by(in_by), .m_bx(in_bx)
    );
    wire [11:0] in_y0 = in_by << fold;
    wire [11:0] in_x0 = in_bx << fold;

    // Operand addresses.
    wire [15:0] row_by, row_bx, col_by, col_bx;
    gc_operand_walk u_row_walk (
        .clk(clk), .start(start), .step(step), .s_by_move(by_mv), .s_bx_move(bx_mv),
        .cfg_base(row_base), .cfg_stride_y(row_stride_y), .cfg_stride_x(row_stride_x), .cfg_shift(fold - row_fold),
        .cfg_skip_y(forward ? skip_y : 4'd0), .cfg_skip_x(forward ? skip_x : 4'd0), .m_rows(row_by), .m_columns(row_bx)
    );
    gc_operand_walk u_col_walk (
        .clk(clk), .start(start), .step(step), .s_by_move(by_mv), .s_bx_move(bx_mv),
        .cfg_base(col_base), .cfg_stride_y(col_stride_y), .cfg_stride_x(col_stride_x), .cfg_shift(fold - col_fold),
        .cfg_skip_y(skip_y), .cfg_skip_x(skip_x), .m_rows(col_by), .m_columns(col_bx)
    );

    // With split i = 0, 1.. stands for the channels 0..COLS-1, LANES..LANES+COLS-1, ..
    wire [15:0] c_high = c >> COLS_LOG << (COLS_LOG + $clog2(GROUPS));
    wire [15:0] c_low  = {{(16-COLS_LOG){1'b0}}, c[COLS_LOG-1:0]};
    wire [15:0] row_c = wu ? index[0 +: 16] << COLS_LOG : split ? c_high | c_low : c;
    wire [15:0] col_c = g << COLS_LOG;

    // Displacement of the tap: +1 per tap, in BP -1 (the flipped kernel).
    reg  [7:0] dy_q;
    reg  [7:0] dx_q;
    wire [7:0] tap_step = backward ? 8'hff : 8'h01;
    always @(posedge clk) begin
        if (start || (step && ky_mv[1])) dy_q <= disp_y0;
        else if (step && ky_mv[0])       dy_q <= dy_q + tap_step;
        if (start || (step && kx_mv[1])) dx_q <= disp_x0;
        else if (step && kx_mv[0])       dx_q <= dx_q + tap_step;
    end

    // Weight rows.
    wire [15:0] wgt_g, wgt_ky, wgt_kx, wgt_cg;
    wire        group_end = &c[COLS_LOG-1:0];
    gc_loop_term #(.BASED(1)) u_wgt_g (
        .clk(clk), .start(start), .step(step),
        .advance(g_mv[0]), .restart(g_mv[1]),
        .base(wgt_base), .stride(wgt_stride_g), .m_term(wgt_g)
    );
    gc_loop_term u_wgt_ky (
        .clk(clk), .start(start), .step(step),
        .advance(ky_mv[0]), .restart(ky_mv[1]),
        .base(16'd0), .stride(wgt_stride_ky), .m_term(wgt_ky)
    );
    gc_loop_term u_wgt_kx (
        .clk(clk), .start(start), .step(step),
        .advance(kx_mv[0]), .restart(kx_mv[1]),
        .base(16'd0), .stride(wgt_stride_kx), .m_term(wgt_kx)
    );
    gc_loop_term u_wgt_cg (
        .clk(clk), .start(start), .step(step),
        .advance(advance[6] && group_end), .restart(restart[6]),
        .base(16'd0), .stride(wgt_stride_cg), .m_term(wgt_cg)
    );
    wire [15:0]         wgt_addr = wgt_g + wgt_ky + wgt_kx + wgt_cg + (backward ? 16'd0 : c_low);
    wire [15:0]         row_addr = row_by + row_bx + row_c;
    wire [15:0]         col_addr = col_by + col_bx + col_c;
    wire [ACCESS_W-1:0] row;
    wire [ACCESS_W-1:0] col;
    gc_access_pack #(.ACCESS_W(ACCESS_W)) u_row (
        .s_addr({4'd0, row_addr}), .s_chan(row_c),
        .s_y0(forward ? in_y0 : y0), .s_x0(forward ? in_x0 : x0),
        .s_dy(wu ? 8'd0 : dy_q), .s_dx(wu ? 8'd0 : dx_q),
        .s_stride_y(row_stride_y), .s_stride_x(row_stride_x),
        .s_fold_a(fold), .s_fold_s(row_fold),
        .s_rot_y(row_rot_y), .s_rot_x(row_rot_x),
        .s_height(row_height[11:0]), .s_width(row_width[11:0]),
        .m_access(row)
    );
    gc_access_pack #(.ACCESS_W(ACCESS_W)) u_col (
        .s_addr({4'd0, col_addr}), .s_chan(col_c),
        .s_y0(in_y0), .s_x0(in_x0),
        .s_dy(dy_q), .s_dx(dx_q),
        .s_stride_y(col_stride_y), .s_stride_x(col_stride_x),
        .s_fold_a(fold), .s_fold_s(col_fold),
        .s_rot_y(col_rot_y), .s_rot_x(col_rot_x),
        .s_height(col_height[11:0]), .s_width(col_width[11:0]),
        .m_access(col)
    );

    always @(posedge clk) begin
        m_row          <= row;
        m_col          <= col;
        m_channel      <= wu;
        m_split        <= split;
        m_row_buf      <= row_buf;
        m_step         <= c[COLS_LOG-1:0];
        m_row_channels <= row_channels;
        m_col_channels <= col_channels;
        m_wgt_addr     <= bias_now ? bias_base + g : wgt_addr;
        m_wgt_rot      <= bias_now ? {COLS_LOG{1'b0}} : c[COLS_LOG-1:0];
        m_wgt_ramp     <= backward;
        m_first        <= pass_first && !(keep_in && kept);
        m_last         <= pass_last && !keep_out;
        m_columns      <= m_pass_columns;
        m_sum          <= sum;
        m_bias         <= bias_now;
        m_bias_exp     <= bias_exp;
        m_valid        <= sts_step;
        if (rst) m_valid <= 1'b0;
    end

    wire _unused = &{1'b0, unused, at_first[0], at_last[6:4], at_last[2:1], index, n_last,
                     row_height, row_width, col_height, col_width};
endmodule

`default_nettype wire
