// SPDX-License-Identifier: Apache-2.0
// Picks the lowest waiting request. Once it has been shown, with s_show, the choice is kept until it has been taken, so
// that it does not change under a stall. A request stays until it has been taken. Combinational from the requests while
// nothing is held; one-hot or zero.
`default_nettype none

module gc_request_pick #(
    parameter N = 4
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [N-1:0] s_request,
    input  wire         s_show,      // the pick goes out
    input  wire         s_taken,     // and is taken
    output wire [N-1:0] m_turn,      // who asks would be picked and go out
    output wire [N-1:0] m_pick
);
    reg  [N-1:0] held_q;
    reg          holds_q;    // it counts

    wire [N-1:0] turn;

    assign m_turn = turn & {N{s_show}};
    assign m_pick = s_request & turn;

    genvar i;
    generate
        for (i = 0; i < N; i = i + 1) begin : g_client
            wire [N-1:0] below = s_request & ~({N{1'b1}} << i);
            assign turn[i] = holds_q ? held_q[i] : ~(|below);
        end
    endgenerate

    always @(posedge clk) begin
        held_q  <= m_pick;
        holds_q <= s_show && !s_taken && (holds_q || |s_request);
        if (rst) holds_q <= 1'b0;
    end
endmodule

`default_nettype wire
