// SPDX-License-Identifier: Apache-2.0
// Stand-in for the device's PLL in simulation and lint: the clock that comes in goes out, at once and locked.
`default_nettype none

module EHXPLLL #(
    parameter CLKI_DIV = 1, CLKFB_DIV = 1, CLKOP_DIV = 1, CLKOP_CPHASE = 0, CLKOP_ENABLE = "ENABLED",
    parameter FEEDBK_PATH = "CLKOP", PLLRST_ENA = "DISABLED", STDBY_ENABLE = "DISABLED", DPHASE_SOURCE = "DISABLED"
) (
    input  wire CLKI,
    input  wire CLKFB,
    output wire CLKOP,
    output wire LOCK,
    input  wire RST,
    input  wire STDBY,
    input  wire PHASESEL0,
    input  wire PHASESEL1,
    input  wire PHASEDIR,
    input  wire PHASESTEP,
    input  wire PHASELOADREG,
    input  wire PLLWAKESYNC,
    input  wire ENCLKOP
);
    generate
        if (CLKOP_ENABLE != "ENABLED" || FEEDBK_PATH != "CLKOP" || PLLRST_ENA != "DISABLED"
            || STDBY_ENABLE != "DISABLED" || DPHASE_SOURCE != "DISABLED") begin : g_unknown
            gradcore_stand_in_of_EHXPLLL_knows_no_such_parameters u_stop ();
        end
    endgenerate

    assign CLKOP = CLKI;
    assign LOCK  = 1'b1;
    wire _unused = &{1'b0, CLKFB, RST, STDBY, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG, PLLWAKESYNC,
                     ENCLKOP, CLKI_DIV[0], CLKFB_DIV[0], CLKOP_DIV[0], CLKOP_CPHASE[0]};
endmodule

`default_nettype wire
