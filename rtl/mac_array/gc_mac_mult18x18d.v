// SPDX-License-Identifier: Apache-2.0
// gc_mac_element with a MULT18X18D of the ECP5 (FPGA-TN-02205): operand and product registers are the block's own, the
// sum is a carry chain. For synthesis the tools know the block, a simulation needs its model. The inputs of the cascade
// and of C stay open: there is no way to them from elsewhere.
`default_nettype none

module gc_mac_mult18x18d #(
    parameter DW    = 16,
    parameter ACC_W = 48
) (
    input  wire             clk,
    input  wire             take,
    input  wire             add,
    input  wire             ahead,
    input  wire [DW-1:0]    s_row,  // signed
    input  wire [DW-1:0]    s_col,  // signed
    output wire [ACC_W-1:0] m_acc   // signed
);
    wire [17:0] a = {{(18-DW){s_row[DW-1]}}, s_row};
    wire [17:0] b = {{(18-DW){s_col[DW-1]}}, s_col};
    wire [35:0] product;

    MULT18X18D #(
        .REG_INPUTA_CLK("CLK0"), .REG_INPUTA_CE("CE0"), .REG_INPUTB_CLK("CLK0"), .REG_INPUTB_CE("CE0"),
        .REG_PIPELINE_CLK("NONE"), .REG_OUTPUT_CLK("CLK0"), .REG_OUTPUT_CE("CE1")
    ) u_block (
        .A0(a[0]), .A1(a[1]), .A2(a[2]), .A3(a[3]), .A4(a[4]), .A5(a[5]), .A6(a[6]), .A7(a[7]), .A8(a[8]), .A9(a[9]),
        .A10(a[10]), .A11(a[11]), .A12(a[12]), .A13(a[13]), .A14(a[14]), .A15(a[15]), .A16(a[16]), .A17(a[17]),
        .B0(b[0]), .B1(b[1]), .B2(b[2]), .B3(b[3]), .B4(b[4]), .B5(b[5]), .B6(b[6]), .B7(b[7]), .B8(b[8]), .B9(b[9]),
        .B10(b[10]), .B11(b[11]), .B12(b[12]), .B13(b[13]), .B14(b[14]), .B15(b[15]), .B16(b[16]), .B17(b[17]),
        .SIGNEDA(1'b1), .SIGNEDB(1'b1), .SOURCEA(1'b0), .SOURCEB(1'b0), .CLK0(clk), .CLK1(1'b0), .CLK2(1'b0),
        .CLK3(1'b0), .CE0(take), .CE1(1'b1), .CE2(1'b0), .CE3(1'b0), .RST0(1'b0), .RST1(1'b0), .RST2(1'b0),
        .RST3(1'b0), .P0(product[0]), .P1(product[1]), .P2(product[2]), .P3(product[3]), .P4(product[4]),
        .P5(product[5]), .P6(product[6]), .P7(product[7]), .P8(product[8]), .P9(product[9]), .P10(product[10]),
        .P11(product[11]), .P12(product[12]), .P13(product[13]), .P14(product[14]), .P15(product[15]),
        .P16(product[16]), .P17(product[17]), .P18(product[18]), .P19(product[19]), .P20(product[20]),
        .P21(product[21]), .P22(product[22]), .P23(product[23]), .P24(product[24]), .P25(product[25]),
        .P26(product[26]), .P27(product[27]), .P28(product[28]), .P29(product[29]), .P30(product[30]),
        .P31(product[31]), .P32(product[32]), .P33(product[33]), .P34(product[34]), .P35(product[35])
    );

    gc_sum_ccu2c #(.ACC_W(ACC_W)) u_sum (
        .clk(clk), .add(add), .ahead(ahead), .m_acc(m_acc),
        .s_addend({{(ACC_W-2*DW){product[2*DW-1]}}, product[2*DW-1:0]})
    );

    wire _unused = &{1'b0, product};
endmodule

`default_nettype wire
