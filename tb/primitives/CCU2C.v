// SPDX-License-Identifier: Apache-2.0
// The CCU2C of the ECP5, two bits of a carry chain, as the library uses it (FPGA-TN-02200): nothing is injected. With
// another setting the result is unknown.
`default_nettype none

module CCU2C #(
    parameter [15:0] INIT0 = 16'h0000,
    parameter [15:0] INIT1 = 16'h0000,
    parameter INJECT1_0 = "YES",
    parameter INJECT1_1 = "YES"
) (
    input  wire CIN,
    input  wire A0, input wire B0, input wire C0, input wire D0,
    input  wire A1, input wire B1, input wire C1, input wire D1,
    output wire S0,
    output wire S1,
    output wire COUT
);
    wire known   = INJECT1_0 == "NO" && INJECT1_1 == "NO";
    wire half_0  = look_up(INIT0, D0, C0, B0, A0);
    wire half_1  = look_up(INIT1, D1, C1, B1, A1);
    wire carry_0 = half_0 ? CIN : look_up(INIT0, 1'b0, 1'b0, B0, A0);
    wire carry_1 = half_1 ? carry_0 : look_up(INIT1, 1'b0, 1'b0, B1, A1);
    assign S0    = known ? half_0 ^ CIN : 1'bx;
    assign S1    = known ? half_1 ^ carry_0 : 1'bx;
    assign COUT  = known ? carry_1 : 1'bx;

    // An input that is unknown does not matter where the table is the same for both of its values.
    function look_up(input [15:0] init, input d, input c, input b, input a);
        reg [7:0] of_d;
        reg [3:0] of_c;
        reg [1:0] of_b;
        begin
            of_d    = d ? init[15:8] : init[7:0];
            of_c    = c ? of_d[7:4] : of_d[3:0];
            of_b    = b ? of_c[3:2] : of_c[1:0];
            look_up = a ? of_b[1] : of_b[0];
        end
    endfunction
endmodule

`default_nettype wire
