// SPDX-License-Identifier: Apache-2.0
// The write side of the native memory port (doc/streams.md), and of AXI4: gc_request_rules; beats stay until taken,
// come only after the request of their burst, in the order of the requests, `last` on the last of each; one response
// for each burst whose beats have all been taken. REQUESTER, MEMORY: 1 if the rules of that end are assumed.
`default_nettype none

module gc_write_rules #(
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
    input  wire                  wreq_valid,
    input  wire                  wreq_ready,
    input  wire [ADDR_W-1:0]     wreq_addr,
    input  wire [7:0]            wreq_len,
    input  wire                  wdat_valid,
    input  wire                  wdat_ready,
    input  wire [BEAT*9-1:0]     wdat_word,      // strobes and data
    input  wire                  wdat_last,
    input  wire                  wrsp_valid,
    output wire [$clog2(MOST):0] bursts,         // with beats to move
    output wire [7:0]            left,
    output wire                  full,
    output reg  [15:0]           unanswered
);
    wire done;

    gc_request_rules #(.ADDR_W(ADDR_W), .BEAT(BEAT), .ASSUME(REQUESTER), .HIDES(HIDES)) u_request (
        .clk(clk), .rst(rst),
        .started(started),
        .valid(wreq_valid),
        .ready(wreq_ready),
        .addr(wreq_addr),
        .len(wreq_len)
    );
    gc_stream_rules #(.W(BEAT*9+1), .ASSUME(REQUESTER), .HIDES(HIDES)) u_stays (
        .clk(clk), .rst(rst), .valid(wdat_valid && started), .ready(wdat_ready), .data({wdat_word, wdat_last})
    );
    gc_burst_queue #(.MOST(MOST)) u_queue (
        .clk(clk), .rst(rst),
        .request(wreq_valid && wreq_ready),
        .len(wreq_len),
        .beat(wdat_valid && wdat_ready),
        .bursts(bursts),
        .left(left),
        .full(full),
        .done(done)
    );
    always @(posedge clk) unanswered <= rst ? 16'd0 : unanswered + done - wrsp_valid;

    gc_rule #(.ASSUME(REQUESTER)) u_data (
        .ok(!(started && wdat_valid) || (bursts != 0 && wdat_last == (left == 8'd0)))
    );
    gc_rule #(.ASSUME(MEMORY))    u_response (.ok(!(started && wrsp_valid) || unanswered != 16'd0));
endmodule

`default_nettype wire
