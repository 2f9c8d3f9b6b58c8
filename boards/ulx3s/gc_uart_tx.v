// SPDX-License-Identifier: Apache-2.0
// Sends bytes over a serial line: one start bit (0), eight bits with the lowest first, one stop bit (1). A bit takes
// DIVISOR cycles. The line is high while nothing is sent. Obeys doc/streams.md.
`default_nettype none

module gc_uart_tx #(
    parameter DIVISOR = 16    // cycles of a bit, 4..65536
) (
    input  wire       clk,
    input  wire       rst,
    input  wire       s_valid,
    output wire       s_ready,
    input  wire [7:0] s_data,
    output wire       tx
);
    localparam TW = $clog2(DIVISOR);
    localparam BIT_CYCLES = DIVISOR - 1;
    localparam [TW-1:0] BIT = BIT_CYCLES[TW-1:0];

    generate
        if (DIVISOR < 4 || DIVISOR > 65536) begin : g_illegal_divisor
            gradcore_illegal_parameter_DIVISOR_must_be_4_to_65536 u_stop ();
        end
    endgenerate

    reg          busy_q;
    reg [3:0]    left_q;     // bits behind the one on the line
    reg [TW-1:0] time_q;     // cycles left of the bit on the line
    reg [9:0]    bits_q;     // the lowest is on the line

    assign s_ready = !busy_q;
    assign tx      = bits_q[0];

    always @(posedge clk) begin
        if (!busy_q) begin
            time_q <= BIT;
            left_q <= 4'd9;
            if (s_valid) begin
                busy_q <= 1'b1;
                bits_q <= {1'b1, s_data, 1'b0};
            end
        end else if (time_q != {TW{1'b0}}) time_q <= time_q - 1'b1;
        else begin
            time_q <= BIT;
            left_q <= left_q - 4'd1;
            bits_q <= {1'b1, bits_q[9:1]};
            if (left_q == 4'd0) busy_q <= 1'b0;
        end
        if (rst) begin
            busy_q <= 1'b0;
            bits_q <= {10{1'b1}};
        end
    end
endmodule

`default_nettype wire
