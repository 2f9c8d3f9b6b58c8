// SPDX-License-Identifier: Apache-2.0
// Remembers, in order, which client each burst in flight belongs to (one-hot). m_owner is the oldest entry, readable in the cycle after
// its push; m_room says that a push is allowed. No output register, because an answer may come in the very next cycle.
`default_nettype none

module owner_queue #(
    parameter N     = 4,
    parameter DEPTH = 32    // power of two
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         s_push,
    input  wire [N-1:0] s_owner,
    output wire         m_room,
    input  wire         s_pop,
    output wire [N-1:0] m_owner
);
    localparam AW = $clog2(DEPTH);
    localparam [AW:0] ONE = 1;

    reg [N-1:0] owner_q [0:DEPTH-1];
    reg [AW:0]  wr_q;
    reg [AW:0]  rd_q;
    wire [AW:0] level = wr_q - rd_q;

    assign m_room  = !level[AW];
    assign m_owner = owner_q[rd_q[AW-1:0]];

    always @(posedge clk) begin
        if (s_push) owner_q[wr_q[AW-1:0]] <= s_owner;
        if (s_push) wr_q <= wr_q + ONE;
        if (s_pop)  rd_q <= rd_q + ONE;
        if (rst) begin
            wr_q <= {(AW+1){1'b0}};
            rd_q <= {(AW+1){1'b0}};
        end
    end
endmodule

`default_nettype wire
