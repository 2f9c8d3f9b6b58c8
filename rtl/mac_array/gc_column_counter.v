// SPDX-License-Identifier: Apache-2.0
// Numbers the columns of a pass: `due` is the column that holds its sums now, j in the cycle 3 + j after s_last, the
// sum column as if it were column COLS. m_valid, m_index and m_last follow LEVELS cycles later, when the word
// has passed gc_column_select. Free running; where the sum column follows a pass with fewer columns, m_valid is low in
// between. A new s_last starts the count anew and must not come before the earlier pass has had its columns.
`default_nettype none

module gc_column_counter #(
    parameter INDEX_W = 5,  // log2(COLS) + 1
    parameter LEVELS  = 2   // cycles from `due` to the word: ceil(log4(COLS)), with DSP 2 of gc_mac_array one more
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               s_last,     // the last step of a pass
    input  wire [INDEX_W-1:0] s_columns,  // 1..COLS
    input  wire               s_sum,
    output wire [INDEX_W-1:0] due,
    output wire               m_valid,
    output wire [INDEX_W-1:0] m_index,
    output wire               m_last
);
    localparam [INDEX_W-1:0] ONE = 1;
    localparam [INDEX_W-1:0] SUM = {1'b1, {(INDEX_W-1){1'b0}}};

    // The step's way through operand and product registers.
    reg               step_q;
    reg [INDEX_W-1:0] step_columns_q;
    reg [INDEX_W-1:0] step_end_q;
    reg               product_q;
    reg [INDEX_W-1:0] product_columns_q;
    reg [INDEX_W-1:0] product_end_q;

    reg               busy_q;
    reg [INDEX_W-1:0] index_q;
    reg [INDEX_W-1:0] columns_q;
    reg [INDEX_W-1:0] end_q;      // last index of the pass

    wire at_end = index_q == end_q;

    always @(posedge clk) begin
        step_q            <= s_last;
        step_columns_q    <= s_columns;
        step_end_q        <= s_sum ? SUM : s_columns - ONE;
        product_q         <= step_q;
        product_columns_q <= step_columns_q;
        product_end_q     <= step_end_q;
        if (rst) begin
            step_q    <= 1'b0;
            product_q <= 1'b0;
        end
    end

    always @(posedge clk) begin
        index_q <= index_q + ONE;
        if (at_end)
            busy_q <= 1'b0;
        if (product_q) begin
            busy_q    <= 1'b1;
            index_q   <= {INDEX_W{1'b0}};
            columns_q <= product_columns_q;
            end_q     <= product_end_q;
        end
        if (rst)
            busy_q <= 1'b0;
    end

    // Entry l of the chains belongs to level l of gc_column_select.
    reg  [LEVELS-1:0]                 valid_q;
    reg  [LEVELS*(INDEX_W+1)-1:0]     mark_q;
    wire [LEVELS:0]                   valid = {valid_q, busy_q && (index_q < columns_q || at_end)};
    wire [(LEVELS+1)*(INDEX_W+1)-1:0] mark  = {mark_q, at_end, index_q};

    always @(posedge clk) begin
        valid_q <= valid[LEVELS-1:0];
        mark_q  <= mark[LEVELS*(INDEX_W+1)-1:0];
        if (rst)
            valid_q <= {LEVELS{1'b0}};
    end

    assign due     = index_q;
    assign m_valid = valid[LEVELS];
    assign {m_last, m_index} = mark[LEVELS*(INDEX_W+1) +: INDEX_W+1];
endmodule

`default_nettype wire
