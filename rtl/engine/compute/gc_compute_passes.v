// SPDX-License-Identifier: Apache-2.0
// Says in each cycle whether the loop nest of COMPUTE moves (m_step) and whether an array step leaves (m_emit). The
// last step of a pass waits (sts_pad) until the columns of the pass before are out, also across instructions, and LATE
// cycles more behind one whose results take a factor. A pass with bias has one step more, during which the nest stands
// still. Also what a pass is: its columns and sum. cfg_ are stable from `start` to m_done.
`default_nettype none

module gc_compute_passes #(
    parameter COLS     = 16,
    parameter COLS_LOG = 4    // log2 COLS
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              start,
    input  wire              s_clear,      // a program begins: no sums are kept
    input  wire              s_hold,       // no step in this cycle
    input  wire              cfg_wu,
    input  wire              cfg_bias,     // a step for the bias ends each pass
    input  wire              cfg_late,     // results take a factor
    input  wire              cfg_keep_out,
    input  wire [COLS_LOG:0] cfg_last,     // columns of the last g
    input  wire [1:0]        s_inner_last, // the pass ends with this step of the nest, if it is of WU [1] or not [0]
    input  wire [1:0]        s_g_last,     // likewise: the last g
    input  wire              s_sum,        // the pass sums the rows of the operand
    input  wire              s_nest_last,
    output wire              m_done,
    output wire              m_step,
    output wire              m_emit,
    output wire              m_pass,       // with the step that ends a pass
    output wire              m_last,       // the step ends the pass if it leaves
    output wire [COLS_LOG:0] m_columns,    // one that keeps its sums counts as a column that nobody writes
    output wire              m_bias,       // it is the step of the bias
    output wire              m_kept,       // the instruction before has left its sums in the array
    output wire              sts_pad,
    output wire              sts_yield
);
    localparam [COLS_LOG:0]   ALL  = COLS[COLS_LOG:0];
    localparam [COLS_LOG:0]   ONE  = 1;
    localparam [COLS_LOG+1:0] LATE = 7;   // latency of gc_factor

    reg                run_q;
    reg                bias_q;
    reg                kept_q;
    reg                late_q;        // an instruction with late results has ended: the next ones must not meet them
    reg [COLS_LOG+1:0] owed_q;        // cycles until the columns of the pass before are out, less one
    reg                owes_q;        // it is not zero
    reg                bias_step_q;
    reg                lone_q;        // the last g has one column

    // inner_last is the late one: everything else is ready before it.
    wire inner_last = cfg_wu ? s_inner_last[1] : s_inner_last[0];
    wire taps_last  = !bias_step_q || bias_q;
    wire go         = run_q && !s_hold;
    wire end_may    = taps_last && !owes_q;            // the pass before may be of another instruction
    wire g_last     = cfg_wu ? s_g_last[1] : s_g_last[0];

    assign m_done    = go && end_may && s_nest_last;
    assign m_step    = go && (!inner_last || end_may);
    assign m_emit    = go && !(inner_last && taps_last && owes_q);
    assign m_pass    = go && end_may && inner_last;
    assign m_last    = inner_last && taps_last;
    assign m_columns = cfg_keep_out ? ONE : g_last ? cfg_last : ALL;
    assign m_bias    = bias_q;
    assign m_kept    = kept_q;
    assign sts_pad   = run_q && m_last && owes_q;
    assign sts_yield = run_q && !sts_pad && s_hold;

    always @(posedge clk) begin
        bias_step_q <= cfg_bias;    // these run from the cycle after start on
        lone_q      <= cfg_last == ONE;
        if (start)       run_q <= 1'b1;
        else if (m_done) run_q <= 1'b0;
        if (s_clear)     kept_q <= 1'b0;
        else if (m_done) kept_q <= cfg_keep_out;
        if (start)       bias_q <= 1'b0;
        else if (m_emit) bias_q <= inner_last && bias_step_q && !bias_q;
        late_q <= m_done && cfg_late;
        if (m_pass) begin
            owed_q <= {1'b0, s_sum ? ALL : m_columns - ONE};
            owes_q <= s_sum || !(cfg_keep_out || (g_last && lone_q));
        end else if (late_q) begin
            owed_q <= owed_q + LATE - {1'b0, ONE};
            owes_q <= 1'b1;
        end else if (owes_q) begin
            owed_q <= owed_q - {1'b0, ONE};
            owes_q <= owed_q != {1'b0, ONE};
        end
        if (rst) begin
            run_q  <= 1'b0;
            bias_q <= 1'b0;
            kept_q <= 1'b0;
            owes_q <= 1'b0;
            late_q <= 1'b0;
        end
    end
endmodule

`default_nettype wire
