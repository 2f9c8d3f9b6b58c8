// SPDX-License-Identifier: Apache-2.0
// Receives bytes from a serial line: one start bit (0), eight bits with the lowest first, one stop bit (1). A bit takes
// DIVISOR cycles. m_valid is high for one cycle with each byte; who listens takes it in that cycle. A byte without its
// stop bit, and a start bit shorter than half a bit, are dropped. The line may come from another clock.
`default_nettype none

module gc_uart_rx #(
    parameter DIVISOR = 16    // cycles of a bit, 4..65536
) (
    input  wire       clk,
    input  wire       rst,
    input  wire       rx,
    output reg        m_valid,
    output wire [7:0] m_data
);
    localparam TW = $clog2(DIVISOR);
    localparam BIT_CYCLES = DIVISOR - 1, HALF_CYCLES = DIVISOR / 2 - 1;
    localparam [TW-1:0] BIT = BIT_CYCLES[TW-1:0], HALF = HALF_CYCLES[TW-1:0];
    localparam [3:0] STOP = 4'd9;

    generate
        if (DIVISOR < 4 || DIVISOR > 65536) begin : g_illegal_divisor
            gradcore_illegal_parameter_DIVISOR_must_be_4_to_65536 u_stop ();
        end
    endgenerate

    reg [2:0]    line_q;     // the newest bit is the first; two registers against metastability, one more for an edge
    reg          busy_q;
    reg [3:0]    bit_q;      // 0 the start bit, 1..8 the byte's, 9 the stop bit
    reg [TW-1:0] time_q;     // cycles until the middle of bit_q
    reg [7:0]    data_q;

    wire line   = line_q[1];
    wire falls  = line_q[2] && !line;
    wire sample = busy_q && time_q == {TW{1'b0}};

    assign m_data = data_q;

    always @(posedge clk) begin
        line_q  <= {line_q[1:0], rx};
        m_valid <= sample && bit_q == STOP && line;
        if (!busy_q) begin
            busy_q <= falls;
            bit_q  <= 4'd0;
            time_q <= HALF;
        end else if (!sample) time_q <= time_q - 1'b1;
        else begin
            time_q <= BIT;
            bit_q  <= bit_q + 4'd1;
            if (bit_q == STOP || (bit_q == 4'd0 && line)) busy_q <= 1'b0;
            if (bit_q != 4'd0 && bit_q != STOP) data_q <= {line, data_q[7:1]};
        end
        if (rst) begin
            line_q  <= 3'b000;
            busy_q  <= 1'b0;
            m_valid <= 1'b0;
        end
    end
endmodule

`default_nettype wire
