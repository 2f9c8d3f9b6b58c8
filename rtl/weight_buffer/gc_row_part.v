// SPDX-License-Identifier: Apache-2.0
// Which of 2^PART_W memories a row lies in, and where: its part is the exclusive or of the PART_W-bit digits of row /
// COLS, so that two walks through the rows meet for no longer than COLS rows, and rows that differ in the lowest digit
// alone lie in all parts at one place. Combinational.
`default_nettype none

module gc_row_part #(
    parameter ROW_W  = 10,
    parameter ROT_W  = 4,    // log2 COLS
    parameter PART_W = 2,    // 0..3, no more than ROW_W - ROT_W
    parameter OUT_W  = 2     // PART_W, at least 1
) (
    input  wire [ROW_W-1:0] s_row,
    output wire [OUT_W-1:0] m_part,
    output wire [ROW_W-1:0] m_place    // the PART_W highest bits are zero
);
    localparam [31:0]      COLS = 1 << ROT_W;
    localparam [ROW_W-1:0] LOW  = COLS[ROW_W-1:0] - 1'b1;

    assign m_place = ((s_row >> PART_W) & ~LOW) | (s_row & LOW);

    genvar i;
    genvar k;
    generate
        if (PART_W == 0) begin : g_one
            assign m_part = 1'b0;
        end else begin : g_digits
            localparam DIGITS = (ROW_W - ROT_W) / PART_W + 1;
            wire [DIGITS*PART_W-1:0] digits = {{(DIGITS*PART_W - (ROW_W - ROT_W)){1'b0}}, s_row[ROW_W-1:ROT_W]};
            for (k = 0; k < PART_W; k = k + 1) begin : g_bit
                wire [DIGITS-1:0] column;     // bit k of every digit
                for (i = 0; i < DIGITS; i = i + 1) begin : g_digit
                    assign column[i] = digits[i*PART_W + k];
                end
                assign m_part[k] = ^column;
            end
        end
    endgenerate
endmodule

`default_nettype wire
