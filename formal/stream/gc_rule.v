// SPDX-License-Identifier: Apache-2.0
// A property that one proof asserts of its design and another assumes of the surroundings.
`default_nettype none

module gc_rule #(
    parameter ASSUME = 0
) (
    input wire ok
);
    generate
        if (ASSUME != 0) begin : g_assume
            always @* assume (ok);
        end else begin : g_assert
            always @* assert (ok);
        end
    endgenerate
endmodule

`default_nettype wire
