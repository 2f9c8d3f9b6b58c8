// SPDX-License-Identifier: Apache-2.0
// Says where each drained column of a COMPUTE instruction goes: destination and gate accesses (FP, BP) or gradient row (WU).
// An instruction is pushed when it is issued; each of its passes then arrives as one pulse of s_pass with the number of its
// columns, and gives one registered word per column, column j in the j+1st cycle after the pulse (the sum column as j = COLS). Passes
// come in order and no closer than their columns. The pass of an instruction that keeps its sums counts as one column and gives no word, only
// m_final. No back-pressure.
`default_nettype none

module gc_compute_places #(
    parameter COLS     = 16,
    parameter COLS_LOG = 4,
    parameter ACCESS_W = 142
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
    output reg                 m_wu,
    output reg  [15:0]         m_grad_addr,
    output reg  [ACCESS_W-1:0] m_dst,
    output reg  [ACCESS_W-1:0] m_gate,         // also the coordinates of the computed map
    output reg  [9*16-1:0]     m_config,       // half-words h0 h2 h3 h47 h48 h49 h50 h51 h52 of the instruction, h0 lowest
    output reg                 sts_busy
);
    localparam [COLS_LOG:0] SUM_INDEX = COLS[COLS_LOG:0];
    localparam [COLS_LOG:0] ONE       = 1;

    // Instructions in flight: issued, not yet drained.
    wire queued;
    wire pop;
    wire [1023:0] instruction;
    gc_register_queue #(.WIDTH(1024), .DEPTH(4)) u_queue (
        .clk(clk), .rst(rst), .s_push(s_push), .s_data(s_instruction), .m_room(s_room),
        .m_valid(queued), .s_pop(pop), .m_data(instruction)
    );

    wire [15:0] h [0:63];
    genvar i;
    generate
        for (i = 0; i < 64; i = i + 1) begin : g_half_word
            assign h[i] = instruction[16*i +: 16];
        end
    endgenerate
    wire       wu        = h[2][1:0] == 2'd2;
    wire       pool      = h[2][6];
    wire       keep_out  = h[4][13];
    wire [1:0] fold_a    = h[3][1:0];
    wire [1:0] dst_fold  = h[3][7:6];
    wire [1:0] gate_fold = h[3][9:8];
    wire [1:0] dst_a     = fold_a - {1'b0, pool};
    // Storage fold of the pooled map is the compute fold: two pooled blocks share a storage block.
    wire       half      = pool && (dst_fold == fold_a);
    wire [1:0] dst_up    = half ? 2'd0 : dst_a - dst_fold;
    wire [1:0] gate_up   = fold_a - gate_fold;

    // Columns of the current pass.
    reg              run_q;
    reg [COLS_LOG:0] j_q;
    reg [COLS_LOG:0] columns_q;
    reg              sum_q;
    wire             is_sum   = j_q == SUM_INDEX;
    wire             valid    = run_q && !keep_out && (is_sum || j_q < columns_q);
    wire             pass_end = run_q && (sum_q ? is_sum : j_q + ONE == columns_q);

    always @(posedge clk) begin
        if (s_pass)        run_q <= 1'b1;
        else if (pass_end) run_q <= 1'b0;
        if (s_pass) begin
            j_q       <= {(COLS_LOG+1){1'b0}};
            columns_q <= s_columns;
            sum_q     <= s_sum;
        end else if (run_q) j_q <= j_q + ONE;
        if (rst) run_q <= 1'b0;
    end

    // Passes of the instruction: FP and BP g by bx -, WU rg ky kx g. The nest returns to zero by itself.
    wire [3:0]      advance;
    wire [3:0]      restart;
    wire            nest_last;
    wire [4*16-1:0] index;
    wire [3:0] loops_at_first_unused;
    wire [3:0] loops_at_last_unused;
    gc_loop_nest #(.LEVELS(4), .W(16), .COUNT_LATE(1)) u_loops (
        .clk(clk), .cfg_count(wu ? {h[24], h[29], h[28], h[25]} : {16'd1, h[27], h[26], h[24]}),
        .start(rst), .step(pass_end), .advance(advance), .restart(restart),
        .at_first(loops_at_first_unused), .at_last(loops_at_last_unused), .last(nest_last), .index(index)
    );
    assign pop = pass_end && nest_last;

    wire [15:0] by   = h[57] + index[1*16 +: 16];
    wire [15:0] bx   = h[58] + index[2*16 +: 16];
    wire [15:0] chan = ((wu ? index[3*16 +: 16] : index[0 +: 16]) << COLS_LOG) + {{(15-COLS_LOG){1'b0}}, j_q};

    wire [15:0] dst_by;
    wire [15:0] dst_bx;
    wire [19:0] gate_by;
    wire [19:0] gate_bx;
    wire [15:0] grad_rg;
    wire [15:0] grad_ky;
    wire [15:0] grad_kx;
    gc_loop_term u_dst_by  (.clk(clk), .start(rst), .step(pass_end), .advance(advance[1] && (!half || by[0])), .restart(restart[1]), .stride(h[17] << dst_up), .m_term(dst_by));
    gc_loop_term u_dst_bx  (.clk(clk), .start(rst), .step(pass_end), .advance(advance[2] && (!half || bx[0])), .restart(restart[2]), .stride(h[18] << dst_up), .m_term(dst_bx));
    gc_loop_term #(.W(20)) u_gate_by (.clk(clk), .start(rst), .step(pass_end), .advance(advance[1]), .restart(restart[1]), .stride({4'd0, h[22]} << gate_up), .m_term(gate_by));
    gc_loop_term #(.W(20)) u_gate_bx (.clk(clk), .start(rst), .step(pass_end), .advance(advance[2]), .restart(restart[2]), .stride({4'd0, h[23]} << gate_up), .m_term(gate_bx));
    gc_loop_term u_grad_rg (.clk(clk), .start(rst), .step(pass_end), .advance(advance[0]), .restart(restart[0]), .stride(h[41]), .m_term(grad_rg));
    gc_loop_term u_grad_ky (.clk(clk), .start(rst), .step(pass_end), .advance(advance[1]), .restart(restart[1]), .stride(h[42]), .m_term(grad_ky));
    gc_loop_term u_grad_kx (.clk(clk), .start(rst), .step(pass_end), .advance(advance[2]), .restart(restart[2]), .stride(h[43]), .m_term(grad_kx));

    wire [11:0] y0 = by[11:0] << fold_a;
    wire [11:0] x0 = bx[11:0] << fold_a;
    wire [11:0] dst_y0 = half ? {1'b0, by[11:1]} << fold_a : by[11:0] << dst_a;
    wire [11:0] dst_x0 = half ? {1'b0, bx[11:1]} << fold_a : bx[11:0] << dst_a;
    wire [7:0]  dst_dy = half ? {7'd0, by[0]} << dst_a : 8'd0;
    wire [7:0]  dst_dx = half ? {7'd0, bx[0]} << dst_a : 8'd0;

    always @(posedge clk) begin
        m_wu        <= wu;
        m_final     <= pop;
        m_config    <= {h[52], h[51], h[50], h[49], h[48], h[47], h[3], h[2], h[0]};
        m_grad_addr <= is_sum ? h[44] + index[0 +: 16] : h[40] + grad_rg + grad_ky + grad_kx + chan;
        m_dst  <= {h[20][11:0], h[19][11:0], h[5][2:0], h[5][5:3], dst_fold, dst_a, h[18], h[17],
                   chan, dst_dx, dst_dy, dst_x0, dst_y0, 4'd0, h[16] + dst_by + dst_bx + chan};
        m_gate <= {h[54][11:0], h[53][11:0], h[5][8:6], h[5][11:9], gate_fold, fold_a, h[23], h[22],
                   chan, 16'd0, x0, y0, {h[56][3:0], h[55]} + gate_by + gate_bx + {4'd0, chan}};
        m_valid  <= valid;
        sts_busy <= queued;
        if (rst) begin
            m_valid  <= 1'b0;
            m_final  <= 1'b0;
            sts_busy <= 1'b0;
        end
    end

    wire _unused = &{1'b0, index[3*16 +: 16], loops_at_first_unused, loops_at_last_unused, advance[3], restart[3], by[15:12], bx[15:12]};
endmodule

`default_nettype wire
