// SPDX-License-Identifier: Apache-2.0
// The DSP48E2 with the parameters that the library uses (UG579). With the macro DSP48E1_MODEL it works, by the model of
// the DSP48E1 that Yosys brings (UG479): what the two do not share, W, wide A and the pre-adder, must not be used. For
// linters its outputs are zero.
`default_nettype none

module DSP48E2 #(
    parameter AREG = 1,
    parameter ACASCREG = 1,
    parameter BREG = 1,
    parameter BCASCREG = 1,
    parameter MREG = 1,
    parameter PREG = 1,
    parameter CREG = 1,
    parameter DREG = 1,
    parameter ADREG = 1,
    parameter OPMODEREG = 1,
    parameter ALUMODEREG = 1,
    parameter INMODEREG = 1,
    parameter CARRYINREG = 1,
    parameter CARRYINSELREG = 1
) (
    input  wire        CLK,
    input  wire [29:0] A,
    input  wire [17:0] B,
    input  wire [47:0] C,
    input  wire [26:0] D,
    input  wire [8:0]  OPMODE,
    input  wire [3:0]  ALUMODE,
    input  wire [4:0]  INMODE,
    input  wire        CARRYIN,
    input  wire [2:0]  CARRYINSEL,
    input  wire        CEA1,
    input  wire        CEA2,
    input  wire        CEB1,
    input  wire        CEB2,
    input  wire        CEM,
    input  wire        CEP,
    input  wire        CEC,
    input  wire        CED,
    input  wire        CEAD,
    input  wire        CEALUMODE,
    input  wire        CECTRL,
    input  wire        CEINMODE,
    input  wire        CECARRYIN,
    input  wire        RSTA,
    input  wire        RSTB,
    input  wire        RSTC,
    input  wire        RSTD,
    input  wire        RSTM,
    input  wire        RSTP,
    input  wire        RSTALUMODE,
    input  wire        RSTCTRL,
    input  wire        RSTINMODE,
    input  wire        RSTALLCARRYIN,
    input  wire [29:0] ACIN,
    input  wire [17:0] BCIN,
    input  wire [47:0] PCIN,
    input  wire        CARRYCASCIN,
    input  wire        MULTSIGNIN,
    output wire [47:0] P,
    output wire [29:0] ACOUT,
    output wire [17:0] BCOUT,
    output wire [47:0] PCOUT,
    output wire [7:0]  XOROUT,
    output wire [3:0]  CARRYOUT,
    output wire        CARRYCASCOUT,
    output wire        MULTSIGNOUT,
    output wire        OVERFLOW,
    output wire        UNDERFLOW,
    output wire        PATTERNDETECT,
    output wire        PATTERNBDETECT
);
`ifdef DSP48E1_MODEL
    // W is no input of the DSP48E1, whose multiplier takes 25 bits of A.
    always @(posedge CLK) begin
        if (OPMODE[8:7] != 2'b00 || (CEA2 && A[29:24] != {6{A[29]}}) || INMODE != 5'd0 || CEAD || CED)
            $fatal(1, "DSP48E2: OPMODE %b, INMODE %b, A %h are beyond the model", OPMODE, INMODE, A);
    end

    assign XOROUT = 8'd0;
    DSP48E1 #(
        .AREG(AREG), .ACASCREG(ACASCREG), .BREG(BREG), .BCASCREG(BCASCREG), .MREG(MREG), .PREG(PREG), .CREG(CREG),
        .DREG(DREG), .ADREG(ADREG), .OPMODEREG(OPMODEREG), .ALUMODEREG(ALUMODEREG), .INMODEREG(INMODEREG),
        .CARRYINREG(CARRYINREG), .CARRYINSELREG(CARRYINSELREG)
    ) u_model (
        .CLK(CLK), .A(A), .B(B), .C(C), .D(D[24:0]), .OPMODE(OPMODE[6:0]), .ALUMODE(ALUMODE), .INMODE(INMODE),
        .CARRYIN(CARRYIN), .CARRYINSEL(CARRYINSEL), .CEA1(CEA1), .CEA2(CEA2), .CEB1(CEB1), .CEB2(CEB2), .CEM(CEM),
        .CEP(CEP), .CEC(CEC), .CED(CED), .CEAD(CEAD), .CEALUMODE(CEALUMODE), .CECTRL(CECTRL), .CEINMODE(CEINMODE),
        .CECARRYIN(CECARRYIN), .RSTA(RSTA), .RSTB(RSTB), .RSTC(RSTC), .RSTD(RSTD), .RSTM(RSTM), .RSTP(RSTP),
        .RSTALUMODE(RSTALUMODE), .RSTCTRL(RSTCTRL), .RSTINMODE(RSTINMODE), .RSTALLCARRYIN(RSTALLCARRYIN),
        .ACIN(ACIN), .BCIN(BCIN), .PCIN(PCIN), .CARRYCASCIN(CARRYCASCIN), .MULTSIGNIN(MULTSIGNIN),
        .P(P), .ACOUT(ACOUT), .BCOUT(BCOUT), .PCOUT(PCOUT), .CARRYOUT(CARRYOUT), .CARRYCASCOUT(CARRYCASCOUT),
        .MULTSIGNOUT(MULTSIGNOUT), .OVERFLOW(OVERFLOW), .UNDERFLOW(UNDERFLOW), .PATTERNDETECT(PATTERNDETECT),
        .PATTERNBDETECT(PATTERNBDETECT)
    );
`else
    assign {P, ACOUT, BCOUT, PCOUT, XOROUT, CARRYOUT, CARRYCASCOUT, MULTSIGNOUT, OVERFLOW, UNDERFLOW, PATTERNDETECT,
            PATTERNBDETECT} = 162'd0;
    localparam SETTINGS = AREG + ACASCREG + BREG + BCASCREG + MREG + PREG + CREG + DREG + ADREG + OPMODEREG + ALUMODEREG
                        + INMODEREG + CARRYINREG + CARRYINSELREG;
    wire _unused = &{1'b0, SETTINGS[0], CLK, A, B, C, D, OPMODE, ALUMODE, INMODE, CARRYIN, CARRYINSEL, CEA1, CEA2,
                     CEB1, CEB2, CEM, CEP, CEC, CED, CEAD, CEALUMODE, CECTRL, CEINMODE, CECARRYIN, RSTA, RSTB, RSTC,
                     RSTD, RSTM, RSTP, RSTALUMODE, RSTCTRL, RSTINMODE, RSTALLCARRYIN, ACIN, BCIN, PCIN,
                     CARRYCASCIN, MULTSIGNIN};
`endif
endmodule

`default_nettype wire
