// SPDX-License-Identifier: Apache-2.0
// gc_mac_element in one DSP48E2 of UltraScale and UltraScale+: operand, product and sum registers are the block's own.
// DW is at most 16 and ACC_W at most 48, so operands and sum fit. For synthesis the vendor's tools know the block;
// a simulation needs its model.
`default_nettype none

module gc_mac_dsp48e2 #(
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
    // W is zero, X and Y are the product, Z is the sum or zero.
    wire [8:0]  opmode = {2'b00, 1'b0, !ahead, 1'b0, 4'b0101};
    wire [47:0] sum;

    wire [29:0] acout_unused;
    wire [17:0] bcout_unused;
    wire [47:0] pcout_unused;
    wire [7:0]  xorout_unused;
    wire [3:0]  carryout_unused;
    wire [5:0]  flags_unused;
    DSP48E2 #(
        .AREG(1), .ACASCREG(1), .BREG(1), .BCASCREG(1), .MREG(1), .PREG(1), .CREG(0), .DREG(0), .ADREG(0),
        .OPMODEREG(1), .ALUMODEREG(0), .INMODEREG(0), .CARRYINREG(0), .CARRYINSELREG(0)
    ) u_block (
        .CLK(clk),
        .A({{(30-DW){s_row[DW-1]}}, s_row}), .B({{(18-DW){s_col[DW-1]}}, s_col}), .C(48'd0), .D(27'd0),
        .OPMODE(opmode), .ALUMODE(4'd0), .INMODE(5'd0), .CARRYIN(1'b0), .CARRYINSEL(3'd0),
        .CEA1(1'b0), .CEA2(take), .CEB1(1'b0), .CEB2(take), .CEM(1'b1), .CEP(add), .CEC(1'b0), .CED(1'b0),
        .CEAD(1'b0), .CEALUMODE(1'b0), .CECTRL(1'b1), .CEINMODE(1'b0), .CECARRYIN(1'b0),
        .RSTA(1'b0), .RSTB(1'b0), .RSTC(1'b0), .RSTD(1'b0), .RSTM(1'b0), .RSTP(1'b0), .RSTALUMODE(1'b0),
        .RSTCTRL(1'b0), .RSTINMODE(1'b0), .RSTALLCARRYIN(1'b0),
        .ACIN(30'd0), .BCIN(18'd0), .PCIN(48'd0), .CARRYCASCIN(1'b0), .MULTSIGNIN(1'b0),
        .P(sum), .ACOUT(acout_unused), .BCOUT(bcout_unused), .PCOUT(pcout_unused), .XOROUT(xorout_unused),
        .CARRYOUT(carryout_unused), .CARRYCASCOUT(flags_unused[0]), .MULTSIGNOUT(flags_unused[1]),
        .OVERFLOW(flags_unused[2]), .UNDERFLOW(flags_unused[3]), .PATTERNDETECT(flags_unused[4]),
        .PATTERNBDETECT(flags_unused[5])
    );
    assign m_acc = sum[ACC_W-1:0];

    wire _unused = &{1'b0, sum, acout_unused, bcout_unused, pcout_unused, xorout_unused, carryout_unused,
                     flags_unused};
endmodule

`default_nettype wire
