// SPDX-License-Identifier: Apache-2.0
// The MULT18X18D of the ECP5 as the library uses it (FPGA-TN-02205): signed operands with registers on CLK0 and CE0, a
// product register at the output on CLK0 and CE1, nothing else. With another setting the product is unknown.
`default_nettype none

module MULT18X18D #(
    parameter REG_INPUTA_CLK = "NONE",
    parameter REG_INPUTA_CE = "CE0",
    parameter REG_INPUTB_CLK = "NONE",
    parameter REG_INPUTB_CE = "CE0",
    parameter REG_PIPELINE_CLK = "NONE",
    parameter REG_OUTPUT_CLK = "NONE",
    parameter REG_OUTPUT_CE = "CE0"
) (
    input wire A17, input wire A16, input wire A15, input wire A14, input wire A13, input wire A12, input wire A11,
    input wire A10, input wire A9, input wire A8, input wire A7, input wire A6, input wire A5, input wire A4,
    input wire A3, input wire A2, input wire A1, input wire A0, input wire B17, input wire B16, input wire B15,
    input wire B14, input wire B13, input wire B12, input wire B11, input wire B10, input wire B9, input wire B8,
    input wire B7, input wire B6, input wire B5, input wire B4, input wire B3, input wire B2, input wire B1,
    input wire B0, input wire SIGNEDA, input wire SIGNEDB, input wire SOURCEA, input wire SOURCEB, input wire CLK0,
    input wire CLK1, input wire CLK2, input wire CLK3, input wire CE0, input wire CE1, input wire CE2,
    input wire CE3, input wire RST0, input wire RST1, input wire RST2, input wire RST3, output wire P35,
    output wire P34, output wire P33, output wire P32, output wire P31, output wire P30, output wire P29,
    output wire P28, output wire P27, output wire P26, output wire P25, output wire P24, output wire P23,
    output wire P22, output wire P21, output wire P20, output wire P19, output wire P18, output wire P17,
    output wire P16, output wire P15, output wire P14, output wire P13, output wire P12, output wire P11,
    output wire P10, output wire P9, output wire P8, output wire P7, output wire P6, output wire P5, output wire P4,
    output wire P3, output wire P2, output wire P1, output wire P0
);
    wire signed [17:0] a = $signed({A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0});
    wire signed [17:0] b = $signed({B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0});
    reg signed [17:0]  a_q;
    reg signed [17:0]  b_q;
    reg signed [35:0]  product_q;

    always @(posedge CLK0) begin
        if (CE0) a_q <= a;
        if (CE0) b_q <= b;
        if (CE1) product_q <= a_q * b_q;
    end
    wire signs = SIGNEDA && SIGNEDB && !SOURCEA && !SOURCEB && !RST0 && !RST1 && !RST2 && !RST3;
    wire known = signs && REG_INPUTA_CLK == "CLK0" && REG_INPUTB_CLK == "CLK0" && REG_PIPELINE_CLK == "NONE"
        && REG_INPUTA_CE == "CE0" && REG_INPUTB_CE == "CE0" && REG_OUTPUT_CE == "CE1" && REG_OUTPUT_CLK == "CLK0";
    assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
            P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0}
        = known ? $unsigned(product_q) : 36'bx;

    wire _unused = &{1'b0, CLK1, CLK2, CLK3, CE2, CE3};
endmodule

`default_nettype wire
