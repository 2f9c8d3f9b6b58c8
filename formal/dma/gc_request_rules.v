// SPDX-License-Identifier: Apache-2.0
// Burst requests of the native memory port, and of AXI4: they stay until taken, start on a beat and never cross 4 KiB.
`default_nettype none

module gc_request_rules #(
    parameter ADDR_W = 33,
    parameter BEAT   = 8,    // bytes
    parameter ASSUME = 0,
    parameter HIDES  = 0     // 1: a reset may end one at once
) (
    input wire              clk,
    input wire              rst,
    input wire              started,
    input wire              valid,
    input wire              ready,
    input wire [ADDR_W-1:0] addr,
    input wire [7:0]        len
);
    wire [14:0] page_end = {3'd0, addr[11:0]} + ({7'd0, len} + 15'd1) * BEAT;

    gc_stream_rules #(.W(ADDR_W+8), .ASSUME(ASSUME), .HIDES(HIDES)) u_stays (
        .clk(clk), .rst(rst),
        .valid(valid && started),
        .ready(ready),
        .data({addr, len})
    );
    gc_rule #(.ASSUME(ASSUME)) u_page (.ok(!(started && valid) || (page_end <= 15'd4096 && addr % BEAT == 0)));
endmodule

`default_nettype wire
