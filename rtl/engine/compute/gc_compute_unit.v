// SPDX-License-Identifier: Apache-2.0
// Executes COMPUTE: issues the operand reads of one array step per cycle, brings the operands to the array, and hands
// the drained columns to gc_compute_results. Operands come from the two operand buffers and the weight buffer, each
// exactly READ cycles after they were asked for. m_read pulses when the last operand has been read, with the
// signal_read field; m_written when the last result can be read. No back-pressure anywhere: room for instructions in
// flight is reserved by start, which waits for m_room.
`default_nettype none

module gc_compute_unit #(
    parameter GRID     = 8,
    parameter COLS     = 16,
    parameter COLS_LOG = 4,
    parameter DW       = 16,
    parameter ACC_W    = 48,
    parameter DSP      = 0,    // of gc_mac_element
    parameter ACCESS_W = 1,    // bits of an access record: gc_engine says how many
    parameter READ     = 8,    // latency of operand, weight and gate reads
    parameter HAS_FACTOR = 1   // of gc_drain
) (
    input  wire                       clk,
    input  wire                       rst,
    input  wire                       start,
    output wire                       m_room,
    input  wire [1023:0]              s_instruction,
    input  wire [31:0]                cfg_seed,
    input  wire                       s_hold,      // no step in this cycle
    output wire                       m_done,
    output wire                       m_read,
    output wire [4:0]                 m_read_signal,
    output wire                       m_written,
    output wire [4:0]                 m_written_signal,
    // operand buffers
    output wire                       m_rd_valid,
    output wire                       m_rd_channel,
    output wire                       m_rd_split,   // also of the weight read
    output wire                       m_rd_row_buf,
    output wire [ACCESS_W-1:0]        m_rd_row,
    output wire [ACCESS_W-1:0]        m_rd_col,
    output wire [COLS_LOG-1:0]        m_rd_step,
    output wire [15:0]                m_rd_row_channels,
    output wire [15:0]                m_rd_col_channels,
    input  wire [GRID*GRID*DW-1:0]    s_rd_data0,
    input  wire [GRID*GRID*DW-1:0]    s_rd_data1,
    output wire [2:0]                 m_wr_valid,      // results: into operand buffers 0, 1, the gate buffer
    output wire [ACCESS_W-1:0]        m_dst_access,
    output wire [GRID*GRID-1:0]       m_dst_enable,
    output wire [GRID*GRID*DW-1:0]    m_dst_data,
    // weight buffer
    output wire                       m_wgt_valid,
    output wire [15:0]                m_wgt_addr,
    output wire [COLS_LOG-1:0]        m_wgt_rot,
    output wire                       m_wgt_ramp,
    input  wire [GRID*GRID*DW-1:0]    s_wgt_data,
    // gate buffer
    output wire                       m_gate_rd_valid,
    output wire [ACCESS_W-1:0]        m_gate_rd_access,
    input  wire [GRID*GRID-1:0]       s_gate_rd_data,
    output wire [ACCESS_W-1:0]        m_gate_wr_access,
    output wire [GRID*GRID-1:0]       m_gate_wr_data,
    // gradient buffer
    output wire                       m_grad_valid,
    output wire                       m_grad_first,
    output wire [15:0]                m_grad_addr,
    output wire [GRID*GRID*ACC_W-1:0] m_grad_acc,
    // status
    input  wire                       s_clear,     // a program begins: no loss, no kept sums
    output wire [63:0]                sts_loss,
    output wire [1:0]                 sts_saturated,
    output wire                       sts_step,
    output wire                       sts_pad,
    output wire                       sts_yield,
    output wire                       sts_draining
);
    localparam LANES  = GRID*GRID;
    localparam GROUPS = LANES/COLS;
    localparam RANDOM = 12;          // gc_fold_coordinates and position_random
    // mac_array: from s_last to the first column
    localparam ARRAY  = 3 + (COLS <= 4 ? 1 : COLS <= 16 ? 2 : 3) + (DSP == 2 ? 1 : 0);
    localparam JOIN   = $clog2(GROUPS);                             // gc_group_sum
    // The places must be known RANDOM cycles before the sums.
    localparam PASS   = READ + ARRAY + JOIN - RANDOM;

    wire                issue_valid;
    wire                first;
    wire                last;
    wire [COLS_LOG:0]   columns;
    wire                sum;
    wire                bias;
    wire [3:0]          bias_exp;
    wire                issue_pass;
    wire [COLS_LOG:0]   issue_columns;
    wire                issue_sum;

    gc_compute_issue #(.COLS(COLS), .COLS_LOG(COLS_LOG), .GROUPS(GROUPS), .ACCESS_W(ACCESS_W)) u_issue (
        .clk(clk), .rst(rst),
        .start(start), .s_clear(s_clear), .s_hold(s_hold), .s_instruction(s_instruction), .m_done(m_done),
        .m_valid(issue_valid), .m_channel(m_rd_channel), .m_split(m_rd_split), .m_step(m_rd_step),
        .m_row_buf(m_rd_row_buf), .m_row(m_rd_row), .m_row_channels(m_rd_row_channels),
        .m_col(m_rd_col), .m_col_channels(m_rd_col_channels),
        .m_wgt_addr(m_wgt_addr), .m_wgt_rot(m_wgt_rot), .m_wgt_ramp(m_wgt_ramp),
        .m_first(first), .m_last(last), .m_columns(columns), .m_sum(sum),
        .m_pass(issue_pass), .m_pass_columns(issue_columns), .m_pass_sum(issue_sum),
        .m_bias(bias), .m_bias_exp(bias_exp),
        .sts_step(sts_step), .sts_pad(sts_pad), .sts_yield(sts_yield)
    );
    assign m_rd_valid  = issue_valid;
    assign m_wgt_valid = issue_valid && !m_rd_channel;

    // Operands may be overwritten once the last read has gone through the buffer's pipeline.
    wire [4:0]  signal_read;
    wire [25:0] common_unused;
    gc_decode_common u_common (
        .s_instruction(s_instruction), .m_signal_read(signal_read),
        .m_opcode(common_unused[3:0]), .m_wait(common_unused[9:4]),
        .m_signal(common_unused[14:10]), .m_tag(common_unused[25:15])
    );
    gc_delay_line #(.W(1), .CYCLES(READ)) u_read (
        .clk(clk), .clear(rst), .s_data(m_done), .m_data(m_read)
    );
    gc_delay_line #(.W(5), .CYCLES(READ), .CLEAR(0)) u_read_signal (
        .clk(clk), .clear(1'b0), .s_data(signal_read), .m_data(m_read_signal)
    );

    // The step's marks travel beside its operands.
    localparam MARK_W = 1 + 1 + 1 + 1 + COLS_LOG + 1 + 1 + 1 + 1 + 4;
    wire              op_valid;
    wire              op_first;
    wire              op_last;
    wire [COLS_LOG:0] op_columns;
    wire              op_sum;
    wire              op_channel;
    wire              op_split;
    wire              op_row_buf;
    wire              op_bias;
    wire [3:0]        op_bias_exp;
    gc_delay_line #(.W(1), .CYCLES(READ)) u_op_valid (
        .clk(clk), .clear(rst), .s_data(issue_valid), .m_data(op_valid)
    );
    gc_delay_line #(.W(MARK_W), .CYCLES(READ), .CLEAR(0)) u_marks (
        .clk(clk), .clear(1'b0),
        .s_data({first, last, columns, sum, m_rd_channel, m_rd_split, m_rd_row_buf, bias, bias_exp}),
        .m_data({op_first, op_last, op_columns, op_sum, op_channel, op_split, op_row_buf, op_bias, op_bias_exp})
    );

    reg                valid_q;
    reg                first_q;
    reg                last_q;
    reg [COLS_LOG:0]   columns_q;
    reg                sum_q;
    reg [LANES*DW-1:0] row_q;
    reg [LANES*DW-1:0] col_q;
    wire [DW-1:0]      one = {{(DW-1){1'b0}}, 1'b1} << op_bias_exp;
    wire [LANES*DW-1:0] ones = {LANES{one}};
    localparam [LANES*DW-1:0] FIRST = {LANES*DW{1'b1}} >> (LANES-COLS)*DW;     // lanes of the first group

    always @(posedge clk) begin
        if (op_valid) begin
            row_q <= op_bias ? ones & (FIRST | {LANES*DW{!op_split}}) : op_row_buf ? s_rd_data1 : s_rd_data0;
            col_q <= !op_channel ? s_wgt_data : op_row_buf ? s_rd_data0 : s_rd_data1;
        end
        first_q   <= op_first;
        last_q    <= op_last;
        columns_q <= op_columns;
        sum_q     <= op_sum;
        valid_q   <= op_valid;
        if (rst) valid_q <= 1'b0;
    end

    wire array_m_valid_unused;
    wire [COLS_LOG:0] array_m_index_unused;
    wire array_m_last_unused;
    gc_mac_array #(.GRID(GRID), .COLS(COLS), .DW(DW), .ACC_W(ACC_W), .SUM_COLUMN(1), .DSP(DSP)) u_array (
        .clk(clk), .rst(rst),
        .s_valid(valid_q), .s_first(first_q), .s_last(last_q), .s_columns(columns_q), .s_sum(sum_q),
        .s_row(row_q), .s_col(col_q), .m_acc(m_grad_acc),
        .m_valid(array_m_valid_unused), .m_index(array_m_index_unused), .m_last(array_m_last_unused)
    );

    // The places of the columns are formed while the sums are still on their way.
    wire                pass;
    wire [COLS_LOG:0]   pass_columns;
    wire                pass_sum;
    wire                place_valid;
    wire                place_final;
    wire                place_wu;
    wire [15:0]         place_grad;
    wire [ACCESS_W-1:0] place_dst;
    wire [ACCESS_W-1:0] place_gate;
    wire [4:0]          place_signal;
    wire                place_backward, place_dst_buf, place_relu, place_pool;
    wire                place_gate_write, place_scale, place_grad_first, place_split;
    wire [1:0]          place_loss, place_rounding, place_fold;
    wire [5:0]          place_shift;
    wire [4:0]          place_loss_shift;
    wire [1:0]          place_factor;
    wire [4:0]          place_factor_shift;
    wire [15:0]         place_factor_0, place_factor_1, place_keep_threshold, place_factor_tag, place_keep_tag;
    wire [15:0]         place_t_pos, place_t_neg, place_n_valid, place_rnd_tag, place_map0, place_n_base;
    gc_delay_line #(.W(1), .CYCLES(PASS)) u_pass (
        .clk(clk), .clear(rst), .s_data(issue_pass), .m_data(pass)
    );
    gc_delay_line #(.W(COLS_LOG+2), .CYCLES(PASS), .CLEAR(0)) u_pass_columns (
        .clk(clk), .clear(1'b0), .s_data({issue_columns, issue_sum}), .m_data({pass_columns, pass_sum})
    );

    gc_compute_places #(.COLS(COLS), .COLS_LOG(COLS_LOG), .ACCESS_W(ACCESS_W)) u_places (
        .clk(clk), .rst(rst),
        .s_push(start), .s_room(m_room), .s_instruction(s_instruction),
        .s_pass(pass), .s_columns(pass_columns), .s_sum(pass_sum),
        .m_valid(place_valid), .m_final(place_final), .m_wu(place_wu),
        .m_grad_addr(place_grad), .m_dst(place_dst), .m_gate(place_gate),
        .m_signal(place_signal), .m_backward(place_backward), .m_dst_buf(place_dst_buf), .m_relu(place_relu),
        .m_pool(place_pool), .m_gate_write(place_gate_write), .m_scale(place_scale), .m_loss(place_loss),
        .m_grad_first(place_grad_first), .m_rounding(place_rounding), .m_split(place_split),
        .m_fold(place_fold), .m_shift(place_shift),
        .m_t_pos(place_t_pos), .m_t_neg(place_t_neg), .m_loss_shift(place_loss_shift),
        .m_n_valid(place_n_valid), .m_rnd_tag(place_rnd_tag), .m_map0(place_map0), .m_n_base(place_n_base),
        .m_factor(place_factor), .m_factor_shift(place_factor_shift),
        .m_factor_0(place_factor_0), .m_factor_1(place_factor_1), .m_keep_threshold(place_keep_threshold),
        .m_factor_tag(place_factor_tag), .m_keep_tag(place_keep_tag),
        .sts_busy(sts_draining)
    );

    gc_compute_results #(
        .GRID(GRID), .DW(DW), .ACC_W(ACC_W), .ACCESS_W(ACCESS_W), .COLS(COLS),
        .JOIN(JOIN), .RANDOM(RANDOM), .GATE_READ(READ), .HAS_FACTOR(HAS_FACTOR)
    ) u_results (
        .clk(clk), .rst(rst), .cfg_seed(cfg_seed), .s_acc(m_grad_acc),
        .s_valid(place_valid), .s_final(place_final), .s_wu(place_wu),
        .s_grad_addr(place_grad), .s_dst(place_dst), .s_gate(place_gate),
        .s_signal(place_signal), .s_backward(place_backward), .s_dst_buf(place_dst_buf), .s_relu(place_relu),
        .s_pool(place_pool), .s_gate_write(place_gate_write), .s_scale(place_scale), .s_loss(place_loss),
        .s_grad_first(place_grad_first), .s_rounding(place_rounding), .s_split(place_split),
        .s_fold(place_fold), .s_shift(place_shift),
        .s_t_pos(place_t_pos), .s_t_neg(place_t_neg), .s_loss_shift(place_loss_shift),
        .s_n_valid(place_n_valid), .s_rnd_tag(place_rnd_tag), .s_map0(place_map0), .s_n_base(place_n_base),
        .s_factor(place_factor), .s_factor_shift(place_factor_shift),
        .s_factor_0(place_factor_0), .s_factor_1(place_factor_1), .s_keep_threshold(place_keep_threshold),
        .s_factor_tag(place_factor_tag), .s_keep_tag(place_keep_tag),
        .m_gate_rd_valid(m_gate_rd_valid), .m_gate_rd_access(m_gate_rd_access), .s_gate_rd_data(s_gate_rd_data),
        .m_gate_wr_access(m_gate_wr_access), .m_gate_wr_data(m_gate_wr_data),
        .m_wr_valid(m_wr_valid), .m_dst_access(m_dst_access),
        .m_dst_enable(m_dst_enable), .m_dst_data(m_dst_data),
        .m_grad_valid(m_grad_valid), .m_grad_first(m_grad_first), .m_grad_addr(m_grad_addr),
        .m_written(m_written), .m_written_signal(m_written_signal),
        .clear_loss(s_clear), .sts_loss(sts_loss), .sts_saturated(sts_saturated)
    );

    wire _unused = &{1'b0, common_unused, array_m_valid_unused, array_m_index_unused, array_m_last_unused};
endmodule

`default_nettype wire
