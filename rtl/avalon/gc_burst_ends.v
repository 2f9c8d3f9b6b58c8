// SPDX-License-Identifier: Apache-2.0
// Finds the last beat of each of the bursts that are under way. They end in the order in which they begin: s_begin
// with s_len, the beats but one. s_beat says that one of their beats is there, in a later cycle than the burst's
// s_begin; m_last, that it is the last one. m_any is high while a burst lacks a beat; s_beat without it does nothing.
// What is left of the oldest burst stands in registers, the lengths of those behind it in a queue.
`default_nettype none

module gc_burst_ends #(
    parameter BURSTS = 32    // under way at most, a power of two from 2; s_begin of one more is not allowed
) (
    input  wire       clk,
    input  wire       rst,
    input  wire       s_begin,
    input  wire [7:0] s_len,
    input  wire       s_beat,
    output wire       m_any,
    output wire       m_last
);
    localparam AW = $clog2(BURSTS);
    localparam [AW-1:0] ONE = 1;

    generate
        if (BURSTS < 2 || (BURSTS & (BURSTS-1)) != 0) begin : g_illegal_bursts
            gradcore_illegal_parameter_BURSTS_must_be_a_power_of_two_above_1 u_stop ();
        end
    endgenerate

    reg          any_q;     // there is an oldest burst
    reg [7:0]    left_q;    // its beats but one
    reg          last_q;    // none but one
    reg          more_q;    // the queue is not empty
    reg [8:0]    word_q [0:BURSTS-1];
    reg [AW-1:0] wr_q;
    reg [AW-1:0] rd_q;
    reg [AW-1:0] next_q;    // rd_q + 1

    wire       ends   = any_q && last_q && s_beat;
    wire       change = ends || !any_q;                   // another becomes the oldest, if there is one
    wire [8:0] begun  = {s_len == 8'd0, s_len};
    wire       queued = s_begin && !change;
    wire       leaves = ends && more_q && !s_begin;       // and none comes
    wire       single = next_q == wr_q;                   // one word is in the queue

    assign m_any  = any_q;
    assign m_last = last_q;

    always @(posedge clk) begin
        word_q[wr_q] <= begun;      // counts with s_begin
        if (s_begin) wr_q <= wr_q + ONE;
        if (change && (more_q || s_begin)) begin
            rd_q   <= next_q;
            next_q <= next_q + ONE;
        end
        more_q <= queued || (more_q && !(leaves && single));
        any_q  <= !change || more_q || s_begin;
        if (s_beat || !any_q)
            {last_q, left_q} <= any_q && !last_q ? {left_q == 8'd1, left_q - 8'd1} : more_q ? word_q[rd_q] : begun;
        if (rst) begin
            any_q  <= 1'b0;
            more_q <= 1'b0;
            wr_q   <= {AW{1'b0}};
            rd_q   <= {AW{1'b0}};
            next_q <= ONE;
        end
    end
endmodule

`default_nettype wire
