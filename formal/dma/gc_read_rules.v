// SPDX-License-Identifier: Apache-2.0
// The read side of the native memory port (doc/streams.md), and of AXI4: gc_request_rules; data only for taken
// requests, in their order, `last` on the last beat of each. REQUESTER, MEMORY: 1 if the rules of that end are
// assumed.
`default_nettype none

module gc_read_rules #(
    parameter ADDR_W    = 33,
    parameter BEAT      = 8,
    parameter MOST      = 4,
    parameter REQUESTER = 0,
    parameter MEMORY    = 0,
    parameter HIDES     = 0     // 1: a reset may end what is shown at once
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  started,
    input  wire                  rreq_valid,
    input  wire                  rreq_ready,
    input  wire [ADDR_W-1:0]     rreq_addr,
    input  wire [7:0]            rreq_len,
    input  wire                  rdat_valid,
    input  wire                  rdat_last,
    output wire [$clog2(MOST):0] bursts,
    output wire                  full
);
    wire [7:0] left;
    wire       done;

    gc_request_rules #(.ADDR_W(ADDR_W), .BEAT(BEAT), .ASSUME(REQUESTER), .HIDES(HIDES)) u_request (
        .clk(clk), .rst(rst),
        .started(started),
        .valid(rreq_valid),
        .ready(rreq_ready),
        .addr(rreq_addr),
        .len(rreq_len)
    );
    gc_burst_queue #(.MOST(MOST)) u_queue (
        .clk(clk), .rst(rst),
        .request(rreq_valid && rreq_ready),
        .len(rreq_len),
        .beat(rdat_valid),
        .bursts(bursts),
        .left(left),
        .full(full),
        .done(done)
    );
    gc_rule #(.ASSUME(MEMORY)) u_data (.ok(!(started && rdat_valid) || (bursts != 0 && rdat_last == (left == 8'd0))));
endmodule

`default_nettype wire
