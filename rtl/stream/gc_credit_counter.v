// SPDX-License-Identifier: Apache-2.0
// Counts the free places of a buffer behind a pipeline that cannot stall: s_take promises a place to a word that sets
// out, s_give returns one when a word has left the buffer. Both may come in one cycle. A word may set out while m_any
// is high. After a reset all CREDITS places are free. s_give may come late in a cycle: it goes to a register alone.
`default_nettype none

module gc_credit_counter #(
    parameter CREDITS = 16
) (
    input  wire                     clk,
    input  wire                     rst,
    input  wire                     s_take,
    input  wire                     s_give,
    output wire                     m_any,        // a place is free
    output wire [$clog2(CREDITS):0] sts_free      // how many are
);
    localparam W = $clog2(CREDITS) + 1;
    localparam [W-1:0] ALL = CREDITS[W-1:0];
    localparam [W-1:0] ONE = 1;

    generate
        if (CREDITS < 1) begin : g_illegal_credits
            gradcore_illegal_parameter_CREDITS_below_1 u_stop ();
        end
    endgenerate

    reg [W-1:0] free_q;      // without the place returned in the cycle before
    reg         some_q;      // free_q is not 0
    reg         give_q;

    assign m_any    = some_q || give_q;
    assign sts_free = free_q + {{(W-1){1'b0}}, give_q};

    always @(posedge clk) begin
        give_q <= s_give && !rst;
        if (s_take && !give_q) begin
            free_q <= free_q - ONE;
            some_q <= free_q != ONE;
        end else if (give_q && !s_take) begin
            free_q <= free_q + ONE;
            some_q <= 1'b1;
        end
        if (rst) begin
            free_q <= ALL;
            some_q <= 1'b1;
        end
    end
endmodule

`default_nettype wire
