// SPDX-License-Identifier: Apache-2.0
// Event counters of 48 bits: counter n adds one in every cycle with s_event[n] and two in every cycle with s_twice[n],
// which may be the same. All are cleared by `clear` and rst.
// Read through a 64-bit window: reading the low word of a counter returns it and keeps the high word for the next
// read, so that a pair of reads is consistent while the counter runs. Data come in the cycle after s_read.
`default_nettype none

module gc_counters #(
    parameter N = 52
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         clear,
    input  wire [N-1:0] s_event,
    input  wire [N-1:0] s_twice,
    input  wire         s_read,
    input  wire         s_high,     // the high word of the counter read last
    input  wire [5:0]   s_index,
    output reg  [31:0]  m_data
);
    wire [47:0] value [0:63];
    reg  [15:0] high_q;

    genvar n;
    generate
        for (n = 0; n < 64; n = n + 1) begin : g_counter
            if (n < N) begin : g_used
                reg [47:0] count_q;
                always @(posedge clk)
                    if (rst || clear) count_q <= 48'd0;
                    else              count_q <= count_q + {46'd0, s_twice[n], s_event[n]};
                assign value[n] = count_q;
            end else begin : g_unused
                assign value[n] = 48'd0;
            end
        end
    endgenerate

    always @(posedge clk) begin
        if (s_read) m_data <= s_high ? {16'd0, high_q} : value[s_index][31:0];
        if (s_read && !s_high) high_q <= value[s_index][47:32];
        if (rst) high_q <= 16'd0;
    end
endmodule

`default_nettype wire
