// SPDX-License-Identifier: Apache-2.0
// One column of the array: LANES elements, a row operand each, one column operand per group of LANES/GROUPS lanes.
// One step per cycle, free running; m_acc holds the sums 3 cycles after their last step, until a step with s_first
// passes. Step and row operands leave one cycle later for the next column.
`default_nettype none

module gc_mac_column #(
    parameter LANES    = 64,
    parameter GROUPS   = 4,   // divides LANES
    parameter DW       = 16,
    parameter ACC_W    = 48,
    parameter MULTIPLY = 1,   // 0: sums the row operands
    parameter DSP      = 0    // as in gc_mac_element
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire                   s_valid,
    input  wire                   s_first,
    input  wire [LANES*DW-1:0]    s_row,
    input  wire [GROUPS*DW-1:0]   s_col,
    output wire                   m_valid,
    output wire                   m_first,
    output wire [LANES*DW-1:0]    m_row,
    output wire [LANES*ACC_W-1:0] m_acc
);
    localparam GROUP_LANES = LANES / GROUPS;

    reg                valid_q;
    reg                first_q;
    reg                add_q;
    reg                add_first_q;
    reg [LANES*DW-1:0] row_q;

    // The row registers have no enable, unlike the elements' own: equal registers would be merged and leave the DSP
    // blocks.
    always @(posedge clk) begin
        valid_q     <= s_valid;
        first_q     <= s_first;
        add_q       <= valid_q;
        add_first_q <= first_q;
        row_q       <= s_row;
        if (rst) begin
            valid_q <= 1'b0;
            add_q   <= 1'b0;
        end
    end

    genvar i;
    generate
        for (i = 0; i < LANES; i = i + 1) begin : g_lane
            gc_mac_element #(
                .DW      (DW),
                .ACC_W   (ACC_W),
                .MULTIPLY(MULTIPLY),
                .DSP     (DSP)
            ) u_element (
                .clk  (clk),
                .take (s_valid),
                .add  (add_q),
                .first(add_first_q),
                .ahead(first_q),
                .s_row(s_row[i*DW +: DW]),
                .s_col(s_col[(i/GROUP_LANES)*DW +: DW]),
                .m_acc(m_acc[i*ACC_W +: ACC_W])
            );
        end
    endgenerate

    assign m_valid = valid_q;
    assign m_first = first_q;
    assign m_row   = row_q;
endmodule

`default_nettype wire
