// SPDX-License-Identifier: Apache-2.0
// Turns a COMPUTE instruction into one array step per cycle: the accesses of the row and column operands, the weight row and
// the pass marks (doc/instructions.md, "COMPUTE"). `start` begins an instruction that stays on s_instruction until m_done, the cycle of
// its last step. The last step of a pass waits (sts_pad) until the columns of the pass before are out, also across
// instructions. Sums that the instruction before has kept are not cleared by one that takes them; s_clear, between two programs,
// forgets them. Outputs are registered; there is no back-pressure.
`default_nettype none

module gc_compute_issue #(
    parameter COLS     = 16,
    parameter COLS_LOG = 4,    // log2 COLS
    parameter GROUPS   = 4,    // LANES/COLS
    parameter ACCESS_W = 142
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
    output reg                 m_bias,       // the row operand of this step is 2^m_bias_exp in every lane, with m_split in the first COLS
    output reg  [3:0]          m_bias_exp,
    output wire                sts_step,
    output wire                sts_pad,
    output wire                sts_yield
);
    localparam [COLS_LOG:0] ALL_COLUMNS = COLS[COLS_LOG:0];
    localparam [COLS_LOG:0] ONE         = 1;
    localparam [15:0]       ALL_STEPS   = COLS[15:0];

    // Fields of the instruction.
    wire [15:0] h [0:63];
    genvar i;
    generate
        for (i = 0; i < 64; i = i + 1) begin : g_half_word
            assign h[i] = s_instruction[16*i +: 16];
        end
    endgenerate
    wire       wu        = h[2][1:0] == 2'd2;
    wire       backward  = h[2][1:0] == 2'd1;
    wire       split     = h[2][14];
    wire       keep_in   = h[4][12];
    wire       keep_out  = h[4][13];
    wire       bias_step = h[2][4] && !wu && !backward;
    wire [1:0] fold_a    = h[3][1:0];
    wire [1:0] row_fold  = h[3][3:2];
    wire [1:0] col_fold  = h[3][5:4];
    wire [COLS_LOG:0] last_columns = h[31][COLS_LOG:0];

    // The loop nest: FP and BP g by bx ky kx - c, WU rg ky kx g by bx p.
    wire [6:0]      advance;
    wire [6:0]      restart;
    wire [6:0]      at_first;
    wire [6:0]      at_last;
    wire            nest_last;
    wire [7*16-1:0] index;
    wire [7*16-1:0] count = wu ? {ALL_STEPS, h[27], h[26], h[24], h[29], h[28], h[25]}
                               : {h[30], 16'd1, h[29], h[28], h[27], h[26], h[24]};

    reg run_q;
    reg bias_q;
    reg kept_q;                 // the instruction before has left its sums in the array
    reg [COLS_LOG:0] owed_q;    // cycles until the columns of the pass before are out, less one
    reg              owes_q;    // it is not zero

    wire inner_last = (&at_last[6:4]) && (wu || at_last[3]);
    wire pass_first = (&at_first[6:4]) && (wu || at_first[3]) && !bias_q;
    wire pass_last  = inner_last && (!bias_step || bias_q);
    wire pad        = run_q && pass_last && owes_q;    // the pass before may be of another instruction
    wire emit       = run_q && !pad && !s_hold;
    wire step       = emit && (!inner_last || pass_last);

    assign m_done   = emit && pass_last && nest_last;
    assign sts_step = emit;
    assign sts_pad  = pad;
    assign sts_yield = run_q && !pad && s_hold;

    gc_loop_nest #(.LEVELS(7), .W(16)) u_loops (
        .clk(clk), .cfg_count(count), .start(start), .step(step), .advance(advance), .restart(restart),
        .at_first(at_first), .at_last(at_last), .last(nest_last), .index(index)
    );

    // The same loop sits at different levels in the two orders.
    wire [2:0] g_mv  = wu ? {at_last[3], restart[3], advance[3]} : {at_last[0], restart[0], advance[0]};
    wire [1:0] by_mv = wu ? {restart[4], advance[4]} : {restart[1], advance[1]};
    wire [1:0] bx_mv = wu ? {restart[5], advance[5]} : {restart[2], advance[2]};
    wire [1:0] ky_mv = wu ? {restart[1], advance[1]} : {restart[3], advance[3]};
    wire [1:0] kx_mv = wu ? {restart[2], advance[2]} : {restart[4], advance[4]};
    wire [11:0] y0   = (h[57][11:0] + (wu ? index[4*16 +: 12] : index[1*16 +: 12])) << fold_a;
    wire [11:0] x0   = (h[58][11:0] + (wu ? index[5*16 +: 12] : index[2*16 +: 12])) << fold_a;
    wire [15:0] g    = wu ? index[3*16 +: 16] : index[0 +: 16];
    wire [15:0] c    = index[6*16 +: 16];

    // Passes. One that keeps its sums counts as a column that nobody writes.
    wire              g_last    = g_mv[2];
    wire [COLS_LOG:0] columns   = keep_out ? ONE : g_last ? last_columns : ALL_COLUMNS;
    wire              sum       = wu && h[2][4] && (&at_first[3:1]);
    wire [COLS_LOG:0] owed      = sum ? ALL_COLUMNS : columns - ONE;
    assign m_pass         = emit && pass_last;
    assign m_pass_columns = columns;
    assign m_pass_sum     = sum;

    always @(posedge clk) begin
        if (start)       run_q <= 1'b1;
        else if (m_done) run_q <= 1'b0;
        if (s_clear)     kept_q <= 1'b0;
        else if (m_done) kept_q <= keep_out;
        if (start)     bias_q <= 1'b0;
        else if (emit) bias_q <= inner_last && bias_step && !bias_q;
        if (m_pass) begin
            owed_q <= owed;
            owes_q <= |owed;
        end else if (owes_q) begin
            owed_q <= owed_q - ONE;
            owes_q <= owed_q != ONE;
        end
        if (rst) begin
            run_q  <= 1'b0;
            bias_q <= 1'b0;
            kept_q <= 1'b0;
            owes_q <= 1'b0;
        end
    end

    // Operand addresses.
    wire [15:0] row_by;
    wire [15:0] row_bx;
    wire [15:0] col_by;
    wire [15:0] col_bx;
    gc_loop_term u_row_by (.clk(clk), .start(start), .step(step), .advance(by_mv[0]), .restart(by_mv[1]), .stride(h[7]  << (fold_a - row_fold)), .m_term(row_by));
    gc_loop_term u_row_bx (.clk(clk), .start(start), .step(step), .advance(bx_mv[0]), .restart(bx_mv[1]), .stride(h[8]  << (fold_a - row_fold)), .m_term(row_bx));
    gc_loop_term u_col_by (.clk(clk), .start(start), .step(step), .advance(by_mv[0]), .restart(by_mv[1]), .stride(h[12] << (fold_a - col_fold)), .m_term(col_by));
    gc_loop_term u_col_bx (.clk(clk), .start(start), .step(step), .advance(bx_mv[0]), .restart(bx_mv[1]), .stride(h[13] << (fold_a - col_fold)), .m_term(col_bx));

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
        if (start || (step && ky_mv[1])) dy_q <= h[32][7:0];
        else if (step && ky_mv[0])       dy_q <= dy_q + tap_step;
        if (start || (step && kx_mv[1])) dx_q <= h[32][15:8];
        else if (step && kx_mv[0])       dx_q <= dx_q + tap_step;
    end

    // Weight rows.
    wire [15:0] wgt_g;
    wire [15:0] wgt_ky;
    wire [15:0] wgt_kx;
    wire [15:0] wgt_cg;
    wire        group_end = &c[COLS_LOG-1:0];
    gc_loop_term u_wgt_g  (.clk(clk), .start(start), .step(step), .advance(g_mv[0]),  .restart(g_mv[1]),  .stride(h[34]), .m_term(wgt_g));
    gc_loop_term u_wgt_ky (.clk(clk), .start(start), .step(step), .advance(ky_mv[0]), .restart(ky_mv[1]), .stride(h[35]), .m_term(wgt_ky));
    gc_loop_term u_wgt_kx (.clk(clk), .start(start), .step(step), .advance(kx_mv[0]), .restart(kx_mv[1]), .stride(h[36]), .m_term(wgt_kx));
    gc_loop_term u_wgt_cg (.clk(clk), .start(start), .step(step), .advance(advance[6] && group_end), .restart(restart[6]), .stride(h[37]), .m_term(wgt_cg));

    wire [15:0] wgt_addr = h[33] + wgt_g + wgt_ky + wgt_kx + wgt_cg + (backward ? 16'd0 : c_low);

    always @(posedge clk) begin
        m_row <= {h[10][11:0], h[9][11:0], h[4][2:0], h[4][5:3], row_fold, fold_a, h[8], h[7],
                  row_c, wu ? 16'd0 : {dx_q, dy_q}, x0, y0, 4'd0, h[6] + row_by + row_bx + row_c};
        m_col <= {h[15][11:0], h[14][11:0], h[4][8:6], h[4][11:9], col_fold, fold_a, h[13], h[12],
                  col_c, dx_q, dy_q, x0, y0, 4'd0, h[11] + col_by + col_bx + col_c};
        m_channel      <= wu;
        m_split        <= split;
        m_row_buf      <= h[2][2];
        m_step         <= c[COLS_LOG-1:0];
        m_row_channels <= h[45];
        m_col_channels <= h[46];
        m_wgt_addr     <= bias_q ? h[38] + g : wgt_addr;
        m_wgt_rot      <= bias_q ? {COLS_LOG{1'b0}} : c[COLS_LOG-1:0];
        m_wgt_ramp     <= backward;
        m_first        <= pass_first && !(keep_in && kept_q);
        m_last         <= pass_last && !keep_out;
        m_columns      <= columns;
        m_sum          <= sum;
        m_bias         <= bias_q;
        m_bias_exp     <= h[39][3:0];
        m_valid        <= emit;
        if (rst) m_valid <= 1'b0;
    end

    wire _unused = &{1'b0, at_first[0], at_last[2:1], index};
endmodule

`default_nettype wire
