// SPDX-License-Identifier: Apache-2.0
// The rule of streams (doc/streams.md): once valid is high, it and the payload stay until the word is taken. With
// HIDES a reset ends that at once, else after its first cycle.
`default_nettype none

module gc_stream_rules #(
    parameter W      = 8,
    parameter ASSUME = 0,
    parameter HIDES  = 0
) (
    input wire         clk,
    input wire         rst,
    input wire         valid,
    input wire         ready,
    input wire [W-1:0] data
);
    reg         stalled_q = 1'b0;
    reg [W-1:0] data_q;

    always @(posedge clk) begin
        stalled_q <= valid && !ready && !rst;
        data_q    <= data;
    end

    gc_rule #(.ASSUME(ASSUME)) u_stays (.ok((rst && HIDES != 0) || !stalled_q || (valid && data == data_q)));
endmodule

`default_nettype wire
