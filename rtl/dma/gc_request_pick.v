// SPDX-License-Identifier: Apache-2.0
// Picks the lowest waiting request and keeps the choice until it has been taken, so that a request once shown does not
// change under a stall. Combinational from the requests while nothing is held; one-hot or zero.
`default_nettype none

module gc_request_pick #(
    parameter N = 4
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [N-1:0] s_request,
    input  wire         s_taken,
    output wire [N-1:0] m_pick
);
    reg  [N-1:0] held_q;
    wire [N-1:0] lowest = s_request & (~s_request + {{(N-1){1'b0}}, 1'b1});

    assign m_pick = (|held_q) ? held_q : lowest;

    always @(posedge clk) begin
        held_q <= s_taken ? {N{1'b0}} : m_pick;
        if (rst) held_q <= {N{1'b0}};
    end
endmodule

`default_nettype wire
