// SPDX-License-Identifier: Apache-2.0
// Lets a program begin when the buffers hold nothing of others (doc/registers.md, "Scrub"). A scrub is due after a
// reset and after a change of the windows; m_scrub starts it with the next start, or at once when the host asks.
// s_scrubbing is high from the cycle after m_scrub until all buffers are clear. m_begin comes with start, or when the
// scrub before it has ended; never for a program that fails before it begins.
`default_nettype none

module gc_scrub_first (
    input  wire clk,
    input  wire rst,
    input  wire start,
    input  wire s_misaligned,    // known the cycle before start: it does not begin
    input  wire s_abort,         // it fails
    input  wire s_scrub,         // asked for by the host
    input  wire s_changed,       // a window has
    input  wire s_scrubbing,
    output wire m_scrub,
    output wire m_begin,
    output wire sts_waiting      // started, not begun
);
    reg due_q;
    reg waiting_q;
    reg misaligned_q;

    wire able  = start && !misaligned_q;
    assign m_scrub     = s_scrub || (able && due_q);
    assign m_begin     = (able && !m_scrub) || (waiting_q && !s_scrubbing && !s_abort);
    assign sts_waiting = waiting_q;

    always @(posedge clk) begin
        misaligned_q <= s_misaligned;
        due_q     <= s_changed || (due_q && !m_scrub);
        waiting_q <= (able && m_scrub) || (waiting_q && s_scrubbing);
        if (rst) begin
            due_q     <= 1'b1;
            waiting_q <= 1'b0;
        end
    end
endmodule

`default_nettype wire
