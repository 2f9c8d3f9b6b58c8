// SPDX-License-Identifier: Apache-2.0
// Says where each drained column of a COMPUTE instruction goes, and what happens to it on the way: destination and gate
// accesses (FP, BP) or gradient row (WU). An instruction is pushed when it is issued. Each of its passes then arrives
// as one pulse of s_pass with the number of its columns, and gives one registered word per column: column j in the
// j+1st cycle after the pulse (the sum column as j = COLS). Passes come in order and no closer than their columns. The
// pass of an instruction that keeps its sums counts as one column and gives no word, only m_final. No back-pressure.
`default_nettype none

module gc_compute_places #(
    parameter COLS     = 16,
    parameter COLS_LOG = 4,
    parameter ACCESS_W = 1     // bits of an access record: gc_engine says how many
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                s_push,
    output wire                s_room,         // s_push is allowed
    input  wire [1023:0]       s_instruction,
    input  wire                s_pass,
    input  wire [COLS_LOG:0]   s_columns,
    input  wire                s_sum,
    output reg                 m_valid,
    output reg                 m_final,        // last word of its instruction, or its end without a word
    output reg                 m_wu,           // the fields of its instruction
    output reg  [4:0]          m_signal,
    output reg                 m_backward,
    output reg                 m_dst_buf,
    output reg                 m_relu,
    output reg                 m_pool,
    output reg                 m_gate_write,
    output reg                 m_scale,
    output reg  [1:0]          m_loss,
    output reg                 m_grad_first,
    output reg  [1:0]          m_rounding,
    output reg                 m_split,
    output reg  [1:0]          m_fold,
    output reg  [5:0]          m_shift,
    output reg  [15:0]         m_t_pos,
    output reg  [15:0]         m_t_neg,
    output reg  [4:0]          m_loss_shift,
    output reg  [15:0]         m_n_valid,
    output reg  [15:0]         m_rnd_tag,
    output reg  [15:0]         m_map0,
    output reg  [15:0]         m_n_base,
    output reg  [1:0]          m_factor,
    output reg  [4:0]          m_factor_shift,
    output reg  [15:0]         m_factor_0,
    output reg  [15:0]         m_factor_1,
    output reg  [15:0]         m_keep_threshold,
    output reg  [15:0]         m_factor_tag,
    output reg  [15:0]         m_keep_tag,
    output reg  [15:0]         m_grad_addr,
    output reg  [ACCESS_W-1:0] m_dst,
    output reg  [ACCESS_W-1:0] m_gate,         // also the coordinates of the computed map
    output reg                 sts_busy
);
    localparam [COLS_LOG:0] SUM_INDEX = COLS[COLS_LOG:0];
    localparam [COLS_LOG:0] ONE       = 1;

    // Instructions in flight: issued, not yet drained.
    wire queued;
    wire pop;
    wire [1023:0] instruction;
    wire [3:0]    new_single, new_two, single, two;    // of the loops over its passes
    wire          new_wu, wu;
    wire [63:0]   new_count, count;
    wire [6:0]    new_lie;
    wire          half;                     // as gc_pass_counts says
    wire [1:0]    dst_a, dst_up, gate_up;
    gc_pass_counts u_new_counts (
        .s_instruction(s_instruction), .m_wu(new_wu), .m_count(new_count), .m_single(new_single), .m_two(new_two),
        .m_half(new_lie[0]), .m_dst_a(new_lie[2:1]), .m_dst_up(new_lie[4:3]), .m_gate_up(new_lie[6:5])
    );
    gc_register_queue #(.WIDTH(1024+80), .DEPTH(4)) u_queue (
        .clk(clk), .rst(rst),
        .s_push(s_push), .s_data({new_lie, new_wu, new_count, new_single, new_two, s_instruction}), .m_room(s_room),
        .m_valid(queued), .s_pop(pop),
        .m_data({gate_up, dst_up, dst_a, half, wu, count, single, two, instruction})
    );

    // Its fields.
    wire [4:0]  signal;
    wire [25:0] common_unused;
    gc_decode_common u_common (
        .s_instruction(instruction), .m_signal(signal),
        .m_opcode(common_unused[3:0]), .m_wait(common_unused[9:4]),
        .m_signal_read(common_unused[14:10]), .m_tag(common_unused[25:15])
    );
    wire [1:0]  mode, loss, rounding, fold, dst_fold, gate_fold, factor;
    wire        dst_buf, relu, pool, gate_write, scale, grad_first, split, keep_out;
    wire [5:0]  shift;
    wire [3:0]  skip_y, skip_x;
    wire [11:0] by0, bx0, in_by0, in_bx0;
    wire [134:0] compute_unused;
    gc_decode_compute u_compute (
        .s_instruction(instruction),
        .m_mode(mode), .m_dst_buf(dst_buf), .m_relu(relu), .m_pool(pool), .m_gate_write(gate_write),
        .m_scale(scale), .m_loss(loss), .m_grad_first(grad_first), .m_rounding(rounding), .m_split(split),
        .m_fold(fold), .m_dst_fold(dst_fold), .m_gate_fold(gate_fold), .m_shift(shift),
        .m_n_g(compute_unused[54:39]), .m_n_rg(compute_unused[70:55]), .m_n_by(compute_unused[86:71]),
        .m_n_bx(compute_unused[102:87]), .m_n_ky(compute_unused[118:103]), .m_n_kx(compute_unused[134:119]),
        .m_by0(by0), .m_bx0(bx0), .m_in_by0(in_by0), .m_in_bx0(in_bx0),
        .m_row_buf(compute_unused[0]), .m_bias(compute_unused[1]),
        .m_row_fold(compute_unused[3:2]), .m_col_fold(compute_unused[5:4]),
        .m_n_c(compute_unused[21:6]), .m_n_last(compute_unused[37:22]),
        .m_keep_in(compute_unused[38]), .m_keep_out(keep_out), .m_factor(factor),
        .m_skip_y(skip_y), .m_skip_x(skip_x)
    );
    wire [15:0] dst_base, dst_stride_y, dst_stride_x, dst_height, dst_width;
    wire [15:0] gate_stride_y, gate_stride_x, height, width;
    wire [19:0] gate_base;
    wire [2:0]  dst_rot_y, dst_rot_x, gate_rot_y, gate_rot_x;
    wire [15:0] grad_base, grad_stride_rg, grad_stride_ky, grad_stride_kx, grad_bias_base;
    wire [15:0] t_pos, t_neg, n_valid, rnd_tag, map0, n_base;
    wire [4:0]  loss_shift;
    wire [4:0]  factor_shift;
    wire [15:0] factor_0, factor_1, keep_threshold, factor_tag, keep_tag;
    gc_decode_results u_results (
        .s_instruction(instruction),
        .m_dst_base(dst_base), .m_dst_stride_y(dst_stride_y), .m_dst_stride_x(dst_stride_x),
        .m_dst_height(dst_height), .m_dst_width(dst_width),
        .m_dst_rot_y(dst_rot_y), .m_dst_rot_x(dst_rot_x),
        .m_gate_base(gate_base), .m_gate_stride_y(gate_stride_y), .m_gate_stride_x(gate_stride_x),
        .m_height(height), .m_width(width),
        .m_gate_rot_y(gate_rot_y), .m_gate_rot_x(gate_rot_x),
        .m_grad_base(grad_base), .m_grad_bias_base(grad_bias_base), .m_grad_stride_rg(grad_stride_rg),
        .m_grad_stride_ky(grad_stride_ky), .m_grad_stride_kx(grad_stride_kx),
        .m_t_pos(t_pos), .m_t_neg(t_neg), .m_loss_shift(loss_shift),
        .m_n_valid(n_valid), .m_rnd_tag(rnd_tag), .m_map0(map0), .m_n_base(n_base),
        .m_factor_shift(factor_shift), .m_factor_0(factor_0), .m_factor_1(factor_1),
        .m_keep_threshold(keep_threshold), .m_factor_tag(factor_tag), .m_keep_tag(keep_tag)
    );

    // Columns of the current pass.
    reg              run_q;
    reg [COLS_LOG:0] j_q;
    reg [COLS_LOG:0] columns_q;
    reg              sum_q;
    wire             is_sum   = j_q == SUM_INDEX;
    wire             valid    = run_q && !keep_out && (is_sum || j_q < columns_q);
    reg              end_q;      // it is the last one
    wire             pass_end = run_q && end_q;

    always @(posedge clk) begin
        if (s_pass)        run_q <= 1'b1;
        else if (pass_end) run_q <= 1'b0;
        if (s_pass) begin
            j_q       <= {(COLS_LOG+1){1'b0}};
            columns_q <= s_columns;
            sum_q     <= s_sum;
            end_q     <= !s_sum && s_columns == ONE;
        end else if (run_q) begin
            j_q   <= j_q + ONE;
            end_q <= j_q + ONE == (sum_q ? SUM_INDEX : columns_q - ONE);
        end
        if (rst) run_q <= 1'b0;
    end

    // Passes of the instruction: FP and BP g by bx -, WU rg ky kx g. The nest returns to zero by itself.
    wire [3:0]      advance;
    wire [3:0]      restart;
    wire            nest_last;
    wire [4*16-1:0] index;
    wire [7:0]      loops_unused;
    gc_loop_nest #(.LEVELS(4), .W(16), .COUNT_LATE(1)) u_loops (
        .clk(clk), .cfg_count(count), .s_single(single), .s_two(two),
        .start(rst), .step(pass_end),
        .advance(advance), .restart(restart),
        .at_first(loops_unused[3:0]), .at_last(loops_unused[7:4]),
        .last(nest_last), .index(index)
    );
    assign pop = pass_end && nest_last;

    // Results of FP lie in the output map, those of BP in the input map.
    wire        backward = mode[0];
    wire [11:0] by, bx;
    gc_block_walk u_blocks (
        .clk(clk), .start(rst), .step(pass_end),
        .s_by_move({restart[1], advance[1]}), .s_bx_move({restart[2], advance[2]}),
        .cfg_by0(backward ? in_by0 : by0), .cfg_bx0(backward ? in_bx0 : bx0),
        .cfg_skip_y(backward ? skip_y : 4'd0), .cfg_skip_x(backward ? skip_x : 4'd0), .m_by(by), .m_bx(bx)
    );
    // The sum column, j = COLS, has no channel.
    wire [15:0] chan      = {index[0 +: 16-COLS_LOG], j_q[COLS_LOG-1:0]};
    wire [15:0] grad_chan = {index[3*16 +: 16-COLS_LOG], j_q[COLS_LOG-1:0]};

    wire [15:0] dst_by;
    wire [15:0] dst_bx;
    wire [19:0] gate_by;
    wire [19:0] gate_bx;
    wire [15:0] grad_row;
    gc_loop_term u_dst_by (
        .clk(clk), .start(rst), .step(pass_end),
        .advance(advance[1] && (!half || by[0])), .restart(restart[1]),
        .base(16'd0), .stride(dst_stride_y << dst_up), .m_term(dst_by)
    );
    gc_loop_term u_dst_bx (
        .clk(clk), .start(rst), .step(pass_end),
        .advance(advance[2] && (!half || bx[0])), .restart(restart[2]),
        .base(16'd0), .stride(dst_stride_x << dst_up), .m_term(dst_bx)
    );
    gc_loop_term #(.W(20)) u_gate_by (
        .clk(clk), .start(rst), .step(pass_end),
        .advance(advance[1]), .restart(restart[1]),
        .base(20'd0), .stride({4'd0, gate_stride_y} << gate_up), .m_term(gate_by)
    );
    gc_loop_term #(.W(20)) u_gate_bx (
        .clk(clk), .start(rst), .step(pass_end),
        .advance(advance[2]), .restart(restart[2]),
        .base(20'd0), .stride({4'd0, gate_stride_x} << gate_up), .m_term(gate_bx)
    );
    gc_loop_sum #(.LEVELS(3)) u_grad_row (
        .clk(clk), .start(rst), .step(pass_end), .advance(advance[2:0]), .restart(restart[2:0]),
        .stride({grad_stride_kx, grad_stride_ky, grad_stride_rg}), .m_sum(grad_row)
    );

    wire [11:0] y0       = by << fold;
    wire [11:0] x0       = bx << fold;
    wire [11:0] dst_y0   = half ? {1'b0, by[11:1]} << fold : by << dst_a;
    wire [11:0] dst_x0   = half ? {1'b0, bx[11:1]} << fold : bx << dst_a;
    wire [7:0]  dst_dy   = half ? {7'd0, by[0]} << dst_a : 8'd0;
    wire [7:0]  dst_dx   = half ? {7'd0, bx[0]} << dst_a : 8'd0;
    wire [15:0] dst_addr = dst_base + dst_by + dst_bx + chan;

    wire [ACCESS_W-1:0] dst;
    wire [ACCESS_W-1:0] gate;
    gc_access_pack #(.ACCESS_W(ACCESS_W)) u_dst (
        .s_addr({4'd0, dst_addr}), .s_chan(chan),
        .s_y0(dst_y0), .s_x0(dst_x0),
        .s_dy(dst_dy), .s_dx(dst_dx),
        .s_stride_y(dst_stride_y), .s_stride_x(dst_stride_x),
        .s_fold_a(dst_a), .s_fold_s(dst_fold),
        .s_rot_y(dst_rot_y), .s_rot_x(dst_rot_x),
        .s_height(dst_height[11:0]), .s_width(dst_width[11:0]),
        .m_access(dst)
    );
    gc_access_pack #(.ACCESS_W(ACCESS_W)) u_gate (
        .s_addr(gate_base + gate_by + gate_bx + {4'd0, chan}), .s_chan(chan),
        .s_y0(y0), .s_x0(x0),
        .s_dy(8'd0), .s_dx(8'd0),
        .s_stride_y(gate_stride_y), .s_stride_x(gate_stride_x),
        .s_fold_a(fold), .s_fold_s(gate_fold),
        .s_rot_y(gate_rot_y), .s_rot_x(gate_rot_x),
        .s_height(height[11:0]), .s_width(width[11:0]),
        .m_access(gate)
    );

    always @(posedge clk) begin
        m_wu         <= wu;
        m_signal     <= signal;
        m_backward   <= backward;
        m_dst_buf    <= dst_buf;
        m_relu       <= relu;
        m_pool       <= pool;
        m_gate_write <= gate_write;
        m_scale      <= scale;
        m_loss       <= loss;
        m_grad_first <= grad_first;
        m_rounding   <= rounding;
        m_split      <= split;
        m_fold       <= fold;
        m_shift      <= shift;
        m_t_pos      <= t_pos;
        m_t_neg      <= t_neg;
        m_loss_shift <= loss_shift;
        m_n_valid    <= n_valid;
        m_rnd_tag    <= rnd_tag;
        m_map0       <= map0;
        m_n_base     <= n_base;
        m_factor     <= wu || keep_out ? 2'd0 : factor;
        m_factor_shift <= factor_shift;
        m_factor_0   <= factor_0;
        m_factor_1   <= factor_1;
        m_keep_threshold <= keep_threshold;
        m_factor_tag <= factor_tag;
        m_keep_tag   <= keep_tag;
        m_grad_addr  <= (is_sum ? grad_bias_base : grad_base) + (is_sum ? index[0 +: 16] : grad_row)
                      + (is_sum ? 16'd0 : grad_chan);
        m_dst        <= dst;
        m_gate       <= gate;
        m_final      <= pop;
        m_valid      <= valid;
        sts_busy     <= queued;
        if (rst) begin
            m_valid  <= 1'b0;
            m_final  <= 1'b0;
            sts_busy <= 1'b0;
        end
    end

    wire _unused = &{1'b0, mode[1], index, common_unused, compute_unused, loops_unused,
                     advance[3], restart[3], dst_height, dst_width, height, width};
endmodule

`default_nettype wire
