// SPDX-License-Identifier: Apache-2.0
// Output-stationary array of LANES = GRID^2 by COLS multiply-accumulators. Over the steps of a pass, s_first to
// s_last, lane l of column j sums s_row[l] * s_col[(l / COLS)*COLS + j], signed, exact modulo 2^ACC_W; the sum column
// sums s_row[l]. One step per cycle, free running; cycles without s_valid may stand anywhere and change nothing. The
// first column of a pass leaves 3 + ceil(log4(COLS)) cycles after s_last, with DSP 2 one more; then one per cycle comes
// in order, the sum column last as if it were column COLS. s_columns and s_sum are sampled with s_last. From one s_last
// to the next pass at least max(s_columns of the earlier pass, COLS + 1 if it had s_sum) cycles: there is no second set
// of accumulators.
`default_nettype none

module gc_mac_array #(
    parameter GRID       = 8,   // 4 or 8
    parameter COLS       = 16,  // GRID..GRID^2, a power of two
    parameter DW         = 16,  // bits of an operand, 8..16
    parameter ACC_W      = 48,  // bits of a sum, 2*DW+4..48
    parameter SUM_COLUMN = 1,   // 0: s_sum is ignored
    parameter DSP        = 0    // how an element is made: gc_mac_element
) (
    input  wire                       clk,
    input  wire                       rst,
    input  wire                       s_valid,
    input  wire                       s_first,
    input  wire                       s_last,
    input  wire [$clog2(COLS+1)-1:0]  s_columns,  // columns to send, 1..COLS
    input  wire                       s_sum,      // send the sum column, too
    input  wire [GRID*GRID*DW-1:0]    s_row,
    input  wire [GRID*GRID*DW-1:0]    s_col,      // word g*COLS+j: column j, lanes g*COLS..g*COLS+COLS-1
    output wire                       m_valid,
    output wire [$clog2(COLS+1)-1:0]  m_index,    // 0..COLS-1, COLS: sum column
    output wire                       m_last,     // last column of the pass
    output wire [GRID*GRID*ACC_W-1:0] m_acc
);
    localparam LANES   = GRID * GRID;
    localparam GROUPS  = LANES / COLS;
    localparam INDEX_W = $clog2(COLS+1);
    localparam LEVELS  = (COLS <= 4) ? 1 : (COLS <= 16) ? 2 : 3;
    localparam SUMS_W  = LANES * ACC_W;
    localparam LATE    = DSP == 2 ? 1 : 0;   // cycles that an element takes beyond 3

    generate
        if (GRID != 4 && GRID != 8) begin : g_illegal_grid
            gradcore_illegal_parameter_GRID_not_4_or_8 u_stop ();
        end
        if (COLS < GRID || COLS > LANES || (COLS & (COLS-1)) != 0) begin : g_illegal_cols
            gradcore_illegal_parameter_COLS_not_a_power_of_two_from_GRID_to_LANES u_stop ();
        end
        if (DW < 8 || DW > 16) begin : g_illegal_dw
            gradcore_illegal_parameter_DW_not_8_to_16 u_stop ();
        end
        if (ACC_W < 2*DW+4 || ACC_W > 48) begin : g_illegal_acc_w
            gradcore_illegal_parameter_ACC_W_not_2_DW_plus_4_to_48 u_stop ();
        end
        if (DSP < 0 || DSP > 2) begin : g_illegal_dsp
            gradcore_illegal_parameter_DSP_not_0_to_2 u_stop ();
        end
    endgenerate

    // Column j works on a step j cycles after column 0.
    wire [COLS*SUMS_W-1:0] sums;
    wire [SUMS_W-1:0]      row_sums;

    genvar g;
    genvar j;
    generate
        for (j = 0; j < COLS; j = j + 1) begin : g_column
            wire [GROUPS*DW-1:0] operand;
            wire [GROUPS*DW-1:0] col;
            wire                 valid;
            wire                 first;
            wire [LANES*DW-1:0]  row;
            wire                 next_valid;
            wire                 next_first;
            wire [LANES*DW-1:0]  next_row;

            for (g = 0; g < GROUPS; g = g + 1) begin : g_group
                assign operand[g*DW +: DW] = s_col[(g*COLS+j)*DW +: DW];
            end

            if (j == 0) begin : g_head
                assign valid = s_valid;
                assign first = s_first;
                assign row   = s_row;
            end else begin : g_chain
                assign valid = g_column[j-1].next_valid;
                assign first = g_column[j-1].next_first;
                assign row   = g_column[j-1].next_row;
            end

            gc_delay_line #(.W(GROUPS*DW), .CYCLES(j), .CLEAR(0)) u_delay (
                .clk(clk), .clear(1'b0),
                .s_data(operand),
                .m_data(col)
            );

            gc_mac_column #(
                .LANES (LANES),
                .GROUPS(GROUPS),
                .DW    (DW),
                .ACC_W (ACC_W),
                .DSP   (DSP)
            ) u_column (
                .clk    (clk),
                .rst    (rst),
                .s_valid(valid),
                .s_first(first),
                .s_row  (row),
                .s_col  (col),
                .m_valid(next_valid),
                .m_first(next_first),
                .m_row  (next_row),
                .m_acc  (sums[j*SUMS_W +: SUMS_W])
            );
        end
    endgenerate

    wire                end_valid = g_column[COLS-1].next_valid;
    wire                end_first = g_column[COLS-1].next_first;
    wire [LANES*DW-1:0] end_row   = g_column[COLS-1].next_row;

    generate
        if (SUM_COLUMN != 0) begin : g_sum
            wire                valid;
            wire                first;
            wire [LANES*DW-1:0] row;
            wire                valid_unused;
            wire                first_unused;
            wire [LANES*DW-1:0] row_unused;

            // The sum column joins the last level of the tree, so its sums are due that many cycles later. A step that
            // outlives a reset here only changes a sum that the next s_first clears.
            gc_delay_line #(.W(LANES*DW + 2), .CYCLES(LEVELS - 1), .CLEAR(0)) u_delay (
                .clk(clk), .clear(1'b0),
                .s_data({end_valid, end_first, end_row}),
                .m_data({valid, first, row})
            );

            gc_mac_column #(
                .LANES   (LANES),
                .GROUPS  (1),
                .DW      (DW),
                .ACC_W   (ACC_W),
                .MULTIPLY(0),
                .DSP     (DSP)
            ) u_column (
                .clk    (clk),
                .rst    (rst),
                .s_valid(valid),
                .s_first(first),
                .s_row  (row),
                .s_col  ({{(DW-1){1'b0}}, 1'b1}),
                .m_valid(valid_unused),
                .m_first(first_unused),
                .m_row  (row_unused),
                .m_acc  (row_sums)
            );

            wire _unused = &{1'b0, valid_unused, first_unused, row_unused};
        end else begin : g_no_sum
            assign row_sums = {SUMS_W{1'b0}};
            wire _unused = &{1'b0, end_valid, end_first, end_row};
        end
    endgenerate

    wire [INDEX_W-1:0] due;

    gc_column_counter #(
        .INDEX_W(INDEX_W),
        .LEVELS (LEVELS + LATE)
    ) u_counter (
        .clk      (clk),
        .rst      (rst),
        .s_last   (s_valid && s_last),
        .s_columns(s_columns),
        .s_sum    (s_sum && SUM_COLUMN != 0),
        .due      (due),
        .m_valid  (m_valid),
        .m_index  (m_index),
        .m_last   (m_last)
    );

    genvar l;
    generate
        if (LATE == 0) begin : g_select
            gc_column_select #(.N(COLS), .W(SUMS_W)) u_select (
                .clk(clk), .s_index(due), .s_data(sums), .s_sum(row_sums), .m_data(m_acc)
            );
        end else begin : g_late
            // The index has a cycle to come to the lanes. Each has flip-flops of its own for it, by their name:
            // synthesis would make one set of all of them.
            for (l = 0; l < LANES; l = l + 1) begin : g_lane
                wire [INDEX_W-1:0]    index;
                wire [COLS*ACC_W-1:0] own;
                for (j = 0; j < INDEX_W; j = j + 1) begin : g_index
                    FD1S3AX #(.GSR("DISABLED")) u_bit (.D(due[j]), .CK(clk), .Q(index[j]));
                end
                for (j = 0; j < COLS; j = j + 1) begin : g_sums
                    assign own[j*ACC_W +: ACC_W] = sums[j*SUMS_W + l*ACC_W +: ACC_W];
                end
                gc_column_select #(.N(COLS), .W(ACC_W)) u_select (
                    .clk(clk), .s_index(index), .s_data(own), .s_sum(row_sums[l*ACC_W +: ACC_W]),
                    .m_data(m_acc[l*ACC_W +: ACC_W])
                );
            end
        end
    endgenerate
endmodule

`default_nettype wire
