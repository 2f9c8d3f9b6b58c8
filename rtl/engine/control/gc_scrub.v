// SPDX-License-Identifier: Apache-2.0
// Makes every on-chip memory zero, so that the next user finds nothing of the last one: counts m_addr through the
// addresses of the deepest memory, one per cycle, and each memory writes zero at it modulo its own depth while m_valid
// is high. m_busy is high from the cycle after s_start until the last word is zero, DEPTH + 8 cycles; a start in
// between begins anew. Nothing else may be written meanwhile.
`default_nettype none

module gc_scrub #(
    parameter ADDR_W = 14    // log2 of the deepest memory, at least 4
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              s_start,
    output wire              m_busy,
    output wire              m_valid,
    output wire [ADDR_W-1:0] m_addr
);
    localparam TAIL_LOG = 3;    // 2^TAIL_LOG cycles: more than any memory's way from m_valid to its words

    generate
        if (ADDR_W < 4) begin : g_illegal_addr_w
            gradcore_illegal_parameter_ADDR_W_below_4 u_stop ();
        end
    endgenerate

    reg            busy_q;
    reg [ADDR_W:0] count_q;     // from DEPTH on the words are under way

    always @(posedge clk) begin
        if (s_start) begin
            busy_q  <= 1'b1;
            count_q <= {(ADDR_W+1){1'b0}};
        end else if (busy_q) begin
            busy_q  <= !(count_q[ADDR_W] && &count_q[TAIL_LOG-1:0]);
            count_q <= count_q + {{ADDR_W{1'b0}}, 1'b1};
        end
        if (rst) busy_q <= 1'b0;
    end

    assign m_busy  = busy_q;
    assign m_valid = busy_q && !count_q[ADDR_W];
    assign m_addr  = count_q[ADDR_W-1:0];
endmodule

`default_nettype wire
