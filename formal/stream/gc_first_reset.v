// SPDX-License-Identifier: Apache-2.0
// A proof begins with a reset; before it, the registers hold anything. Later resets come at any time.
`default_nettype none

module gc_first_reset (
    input  wire clk,
    input  wire rst,
    output reg  started
);
    initial started = 1'b0;
    always @(posedge clk) if (rst) started <= 1'b1;
    always @* if (!started) assume (rst);
endmodule

`default_nettype wire
