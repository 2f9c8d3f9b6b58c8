// SPDX-License-Identifier: Apache-2.0
// One multiply-accumulator: acc = (first ? 0 : acc) + row * col, signed, exact modulo 2^ACC_W.
// One step per cycle, free running: `take` enters a step, `add` and `first` belong to the step entered two cycles
// before, m_acc holds the sum 3 cycles after its step. Without `take` and `add` nothing changes.
// Operand, product and sum registers are those of a DSP block: an element is one DSP48E1 and nothing else.
`default_nettype none

module gc_mac_element #(
    parameter DW       = 16,  // bits of an operand
    parameter ACC_W    = 48,  // bits of the sum, more than 2*DW
    parameter MULTIPLY = 1    // 0: the sum column's element, s_col counts as one
) (
    input  wire             clk,
    input  wire             take,
    input  wire             add,
    input  wire             first,
    input  wire [DW-1:0]    s_row,  // signed
    input  wire [DW-1:0]    s_col,  // signed
    output wire [ACC_W-1:0] m_acc   // signed
);
    reg signed [DW-1:0]   row_q;
    reg signed [2*DW-1:0] product_q;
    reg [ACC_W-1:0]       acc_q;

    // Clearing the addend keeps one adder; selecting between sum and product would not fit into the DSP block.
    wire [ACC_W-1:0] addend  = first ? {ACC_W{1'b0}} : acc_q;
    wire [ACC_W-1:0] product = {{(ACC_W-2*DW){product_q[2*DW-1]}}, product_q};

    always @(posedge clk) begin
        if (take)
            row_q <= $signed(s_row);
        if (add)
            acc_q <= addend + product;
    end

    generate
        if (MULTIPLY != 0) begin : g_multiply
            reg signed [DW-1:0] col_q;
            always @(posedge clk) begin
                if (take)
                    col_q <= $signed(s_col);
                product_q <= row_q * col_q;
            end
        end else begin : g_sum
            always @(posedge clk)
                product_q <= $signed({{DW{row_q[DW-1]}}, row_q});
            wire _unused = &{1'b0, s_col};
        end
    endgenerate

    assign m_acc = acc_q;
endmodule

`default_nettype wire
