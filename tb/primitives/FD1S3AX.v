// SPDX-License-Identifier: Apache-2.0
// The FD1S3AX of the ECP5, a flip-flop, as the library uses it: without the global reset.
`default_nettype none

module FD1S3AX #(
    parameter GSR = "ENABLED"
) (
    input  wire D,
    input  wire CK,
    output reg  Q
);
    always @(posedge CK) Q <= GSR == "DISABLED" ? D : 1'bx;
endmodule

`default_nettype wire
