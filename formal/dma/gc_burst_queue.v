// SPDX-License-Identifier: Apache-2.0
// Bursts that were requested and whose beats have not all moved yet, MOST at most: does a beat belong to one, is it
// its last one?
`default_nettype none

module gc_burst_queue #(
    parameter MOST = 4
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  request,
    input  wire [7:0]            len,
    input  wire                  beat,
    output reg  [$clog2(MOST):0] bursts,
    output wire [7:0]            left,       // beats of the oldest one after the next
    output wire                  full,
    output wire                  done        // its last beat moves
);
    localparam CW = $clog2(MOST) + 1;
    reg [8*MOST-1:0] lens_q;     // the oldest one lowest
    wire [CW-1:0]    place = bursts - done;
    wire [8*MOST-1:0] moved = done ? lens_q >> 8 : lens_q - {{(8*MOST-1){1'b0}}, beat};

    assign left = lens_q[7:0];
    assign full = bursts == MOST;
    assign done = beat && left == 8'd0;

    integer i;
    always @(posedge clk) begin
        bursts <= bursts + request - done;
        lens_q <= moved;
        for (i = 0; i < MOST; i = i + 1)
            if (request && i == place) lens_q[8*i +: 8] <= len;
        if (rst) begin
            bursts <= 0;
            lens_q <= 0;
        end
    end
endmodule

`default_nettype wire
