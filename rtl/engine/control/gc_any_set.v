// SPDX-License-Identifier: Apache-2.0
// Is one of many bits set? The answer comes one cycle later; before the register 36 bits are joined, in two LUT levels.
`default_nettype none

module gc_any_set #(
    parameter W = 36
) (
    input  wire         clk,
    input  wire [W-1:0] s_bits,
    output wire         m_any
);
    localparam PART  = 36;
    localparam PARTS = (W + PART - 1) / PART;

    generate
        if (W < 1) begin : g_illegal_w
            gradcore_illegal_parameter_W_below_1 u_stop ();
        end
    endgenerate

    wire [PARTS*PART-1:0] bits = {{(PARTS*PART-W){1'b0}}, s_bits};
    reg  [PARTS-1:0]      part_q;
    assign m_any = |part_q;

    genvar p;
    generate
        for (p = 0; p < PARTS; p = p + 1) begin : g_part
            always @(posedge clk) part_q[p] <= |bits[p*PART +: PART];
        end
    endgenerate
endmodule

`default_nettype wire
