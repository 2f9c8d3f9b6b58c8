// SPDX-License-Identifier: Apache-2.0
// Part of gc_dma_writer: whether all beats of a burst are in the FIFO, found a cycle before. s_level still lacks what
// s_push and s_pop say of this cycle; m_stored tells, in the next one, of the burst whose length s_beats is now.
`default_nettype none

module gc_burst_stored #(
    parameter LW = 7    // bits of s_level, at most 16
) (
    input  wire          clk,
    input  wire [LW-1:0] s_level,
    input  wire [8:0]    s_beats,
    input  wire          s_push,
    input  wire          s_pop,
    output reg           m_stored
);
    wire [15:0] stored = {{(16-LW){1'b0}}, s_level};
    wire        equal  = stored == {7'd0, s_beats};
    wire        more   = stored > {7'd0, s_beats};
    wire        less   = stored + 16'd1 == {7'd0, s_beats};     // by one

    always @(posedge clk) m_stored <= s_pop ? more || (s_push && equal) : more || equal || (s_push && less);
endmodule

`default_nettype wire
