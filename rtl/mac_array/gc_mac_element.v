// SPDX-License-Identifier: Apache-2.0
// One multiply-accumulator: acc = (first ? 0 : acc) + row * col, signed, exact modulo 2^ACC_W.
// One step per cycle, free running: `take` enters a step, `add` and `first` belong to the step entered two cycles
// before, m_acc holds the sum 3 cycles after its step, with DSP 2 after 4. Without `take` and `add` nothing changes.
// `ahead` is `first` a cycle before, for blocks with a register of their own for it.
// DSP says how it is made; all ways are equal in every bit. 0: written so that synthesis finds a DSP block with its
// operand, product and sum registers: one DSP48E1 and nothing else. 1: a DSP48E2 by its name, because not every tool
// puts registers and sum into that one. 2: a MULT18X18D by its name, with its registers, and the carry chain.
`default_nettype none

module gc_mac_element #(
    parameter DW       = 16,  // bits of an operand
    parameter ACC_W    = 48,  // bits of the sum, more than 2*DW
    parameter MULTIPLY = 1,   // 0: the sum column's element, s_col is one; without MULT18X18D
    parameter DSP      = 0    // 0: inferred; 1: DSP48E2 (UltraScale, UltraScale+); 2: MULT18X18D (ECP5)
) (
    input  wire             clk,
    input  wire             take,
    input  wire             add,
    input  wire             first,
    input  wire             ahead,
    input  wire [DW-1:0]    s_row,  // signed
    input  wire [DW-1:0]    s_col,  // signed
    output wire [ACC_W-1:0] m_acc   // signed
);
    generate
        if (DSP == 1) begin : g_dsp48e2
            gc_mac_dsp48e2 #(.DW(DW), .ACC_W(ACC_W)) u_block (
                .clk(clk), .take(take), .add(add), .ahead(ahead), .s_row(s_row), .s_col(s_col), .m_acc(m_acc)
            );
            wire _unused = &{1'b0, first};
        end
        if (DSP == 2 && MULTIPLY != 0) begin : g_mult18x18d
            gc_mac_mult18x18d #(.DW(DW), .ACC_W(ACC_W)) u_block (
                .clk(clk), .take(take), .add(add), .ahead(ahead), .s_row(s_row), .s_col(s_col), .m_acc(m_acc)
            );
            wire _unused = &{1'b0, first};
        end
        if (DSP == 2 && MULTIPLY == 0) begin : g_ccu2c
            reg [DW-1:0] row_q, product_q;
            always @(posedge clk) begin
                if (take) row_q <= s_row;
                product_q <= row_q;
            end
            gc_sum_ccu2c #(.ACC_W(ACC_W)) u_sum (
                .clk(clk), .add(add), .ahead(ahead), .m_acc(m_acc),
                .s_addend({{(ACC_W-DW){product_q[DW-1]}}, product_q})
            );
            wire _unused = &{1'b0, first, s_col};
        end
        if (DSP == 0) begin : g_inferred
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

            assign m_acc = acc_q;
            wire _unused = &{1'b0, ahead};
        end
    endgenerate
endmodule

`default_nettype wire
