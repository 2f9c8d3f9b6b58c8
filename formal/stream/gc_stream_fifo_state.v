// SPDX-License-Identifier: Apache-2.0
// Invariants of gc_stream_fifo: the words inside are those in memory, from rd on, and the one at the output.
`default_nettype none

module gc_stream_fifo_state #(
    parameter AW = 2
) (
    input wire        started,
    input wire [AW:0] wr,
    input wire [AW:0] rd,
    input wire [AW:0] seen,
    input wire        s_ready,
    input wire        m_valid,
    input wire [AW:0] level
);
    localparam [AW:0] DEPTH = 1 << AW;
    wire [AW:0] stored = wr - rd;
    wire [AW:0] unseen = wr - seen;

    always @* if (started) begin
        assert (stored + m_valid == level && stored <= DEPTH && level <= DEPTH);
        assert (s_ready == (level < DEPTH));
        assert (unseen <= 1 && unseen <= stored);
    end
endmodule

`default_nettype wire
